#pragma once
// A device to the rest of Weir: its numbers (DeviceSpec, from catalog JSON) and what kernels cost on its
// units (Device, a pure latency model: no clock, thread-safe, about 100 ns). It knows kernels and no model,
// layer or serving engine; collectives are the links' (collective_cost, devices/kernel_shapes.h).
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/energy/power.h"
#include "models/machine/data_type.h"
#include "models/machine/kernel_cost.h"
#include "sim/core/catalog.h"

namespace weir {

// The engine, GPU and source that a folder of measured tables (devices/profile/profile_bundle.h) names.
struct ProfileSource {
  std::string engine, gpu;  // vllm, h100_sxm
  int tp = 1;
  std::string source;  // of the numbers, for people
};

// Results and notes say this of a device's row; no step depends on it.
struct DeviceNotes {
  std::string title;                          // NVIDIA H100 SXM 80GB
  bool assumed = false;                       // it has the scenario's named set of constants
  std::string kernels;                        // whose efficiencies its kernels have, "" where it has none
  std::string kernel_library;                 // "vllm": that they were measured with; "" of none
  std::string foreign_kernels;                // how far these are another machine's; "" if they are not
  std::optional<double> die_mm2;              // where the catalog says what it is made of
  std::optional<ProfileSource> profile = {};  // of measured tables that say so
};

struct DeviceSpec {
  std::string kind;                              // catalog name, h100_sxm
  std::vector<Memory> memories = {{}};           // its own first
  std::function<FlopsPerSecond(DataType)> peak;  // dense; 0: it cannot calculate in that type
  BytesPerSecond host_bandwidth;                 // PCIe, per direction
  PowerSpec power;
  double dollars_per_hour = 0;
  double multiprocessors = 0;  // 0: it is no GPU
  // Requests at once where an engine's defaults name this device; empty: they go by its memory.
  std::optional<std::int64_t> usual_batch_requests = {};
  std::vector<Unit> units;                    // a partitioning policy places operators on them
  std::vector<Resource> more_resources = {};  // that they draw from, but for own_memory and interconnect
  ExpertPadding expert_padding = {};
  std::vector<std::string> untimed_parts =
      {};  // parts of a stage that take no time (an assumption of its row)
  DeviceNotes notes;

  Memory& own() { return memories[own_memory]; }
  const Memory& own() const { return memories[own_memory]; }
  const Memory* cache() const;  // the memory that a unit which runs prefetches fills; null: there is none
  // Else it is a host's memory, or runs training operators alone.
  bool runs_models() const { return unit_running(units, KernelKind::gemm) >= 0; }
  // As ports of its units number them.
  std::vector<Resource> resources(BytesPerSecond interconnect_bandwidth) const;
};

// Kernels in a server reach so many times the share of the memory's bandwidth and of the peak that they
// reached where they were measured, all of it at most.
struct KernelReach {
  double memory = 1, compute = 1;
  bool as_measured() const { return memory == 1 && compute == 1; }
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceSpec& spec() const = 0;
  // The device under an engine whose kernels are of this library; null: as it is, having none of that
  // library.
  virtual std::shared_ptr<const Device> with_library(const std::string& /*library*/) const { return nullptr; }
  // The device whose kernels reach so much; null: its times do not come of what kernels reach.
  virtual std::shared_ptr<const Device> reaching(const KernelReach& /*reach*/) const { return nullptr; }
  // The device as benchmarks of short bursts see it, before a power limit slows it; null: that is no other.
  virtual std::shared_ptr<const Device> in_bursts() const { return nullptr; }
  // The device with what computes in it at so many times its clock; null: it has no such clock.
  virtual std::shared_ptr<const Device> at_clock(double /*multiple*/) const { return nullptr; }
  // Any kernel but communication costs this on `unit`, an index into spec().units. Throws std::logic_error
  // for what the device has no kernel for.
  virtual KernelCost cost(const KernelWork& work, int unit) const = 0;
  // The same on a unit of several members, with what each has to do, alone: `times`.
  virtual KernelCost cost_by_member(const KernelWork& work, int /*unit*/,
                                    std::span<Seconds> /*times*/) const {
    throw std::logic_error(std::string(work.name) + " is not shared by members of a " + spec().kind);
  }
  // A unit may be a pool of small machines (Unit::amount): the work starts with `least` of them and takes up
  // to `most`, with which its cost is.
  struct PoolShare {
    double least = 0, most = 0;
  };
  virtual PoolShare pool_share(const KernelWork& work, int /*unit*/) const {
    throw std::logic_error(std::string(work.name) + " is given no share of a " + spec().kind);
  }
  // Only for Attention::Part::whole of decodes alone.
  virtual AffineKernelCost decode_attention(const KernelWork& work, int /*unit*/) const {
    throw std::logic_error(spec().kind + " has no kernel for " + std::string(work.name));
  }
  // It attends for several rows of a decode at once (BatchShape::decode_rows), reading its keys once.
  virtual bool widens_decodes() const { return false; }
  // For how many steps of these decodes, whose contexts grow by a token a step, the kernel's time is a line
  // over the steps; 1: it is none.
  virtual std::int64_t line_steps(const KernelWork& work, int unit) const {
    return kind_of(work.kernel) == KernelKind::attention ? decode_attention(work, unit).steps
                                                         : std::numeric_limits<std::int64_t>::max();
  }
  // True if its sampler was measured as the server ran it, so that the engine preset adds nothing for
  // sampling.
  virtual bool measures_sampler() const { return false; }
  // Why this device cannot run all of these (a type it cannot calculate in; a profile of another
  // tensor-parallel degree or without one of its layers), or "" if it can. Ask before anything runs: cost()
  // assumes that it can. Communication is among them; rows and batches do not count.
  virtual std::string cannot_run(std::span<const KernelWork> /*all*/) const { return ""; }
  // Which of these were not measured under the device's library, and what stands in for them; "" if none.
  virtual std::string stand_ins(std::span<const KernelWork> /*all*/) const { return ""; }
  // Layers of these that measured tables lack and that cost as on the analytic device; none of a device that
  // has no such tables.
  virtual std::vector<std::string> analytic_layers(std::span<const KernelWork> /*all*/) const { return {}; }
};

// The kinds a scenario may name, each an embedded catalog JSON, or the path of a file like those; reads
// overrides and "profile" from `params`, whose own keys (kind, count) the caller declares. Reports problems
// and returns null when it cannot.
std::vector<std::string> device_names();
std::string device_summary(const std::string& name);
// Kinds that take the same keys, for a description: one of them, and the schema of all; "" stands for a path.
struct DeviceAlternative {
  std::string kind;
  Json schema;
};
std::vector<DeviceAlternative> device_alternatives();
// `assumptions`: the scenario's named set of constants.
std::shared_ptr<const Device> make_device(const std::string& kind, Params& params,
                                          const std::string& assumptions = "physical");

}  // namespace weir
