#pragma once
// What a device is to the rest of Weir: its numbers (DeviceSpec, from catalog JSON) and the time of one
// operator on it (Device, a pure latency model: no clock, thread-safe, about 100 ns). The engine asks it for
// each operator of a stage, memoises by rows, and lets a serving actor sleep that long on the device's
// SimGrid host.
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/energy/power.h"
#include "models/latency/collectives.h"
#include "models/machine/kernel_cost.h"
#include "models/machine/batch_shape.h"
#include "models/llm/operator_graph.h"
#include "models/memory/pim/mha_estimate.h"
#include "sim/core/catalog.h"

namespace weir {

struct DeviceSpec {
  std::string kind;                     // catalog name, h100_sxm
  std::string title;                    // NVIDIA H100 SXM 80GB
  std::vector<Memory> memories = {{}};  // its own first
  int cache_memory = -1;                // that of them which a unit that runs prefetches fills, if any
  std::function<FlopsPerSecond(DataType)> peak;  // dense; 0: it cannot calculate in that type
  BytesPerSecond host_bandwidth;                 // PCIe, per direction
  PowerSpec power;
  double dollars_per_hour = 0;
  std::optional<double> die_mm2;              // where the catalog says what it is made of
  bool assumed = false;                       // its row has the scenario's named set of constants
  std::string kernels = {};                   // whose efficiencies a GPU's are, devices/kernels
  std::string foreign_kernels = {};           // how far they are another generation's; "" if they are not
  std::vector<Unit> units;                    // a partitioning policy places operators on them
  std::vector<Resource> more_resources = {};  // that they draw from, but for own_memory and interconnect
  bool without_lm_head = false;      // in the `paper` assumptions: what follows the layers takes no time
  std::optional<MhaParameters> mha;  // what placement policies estimate a channel's load with; heads unset

  Memory& own() { return memories[own_memory]; }
  const Memory& own() const { return memories[own_memory]; }
  const Memory* cache() const {
    return cache_memory < 0 ? nullptr : &memories[static_cast<std::size_t>(cache_memory)];
  }
  bool runs_models() const {
    return unit_running(units, OperatorKind::gemm) >= 0;
  }  // else it is a host's memory
  // As ports of its units number them.
  std::vector<Resource> resources(BytesPerSecond interconnect_bandwidth) const;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceSpec& spec() const = 0;
  // Collectives are timed by `links`, the interconnect of the operator's group as the engine preset uses it.
  virtual KernelCost cost(const Operator& op, const BatchShape& batch,
                          const CollectiveModel& links) const = 0;
  // The same of an operator on a unit of several members, with what each has to do, alone: `times`.
  virtual KernelCost cost_by_member(const Operator& op, const BatchShape&,
                                    std::span<Seconds> /*times*/) const {
    throw std::logic_error(op.name + " is not shared by members of a " + spec().kind);
  }
  // Only for op.kind == attention and a batch of decodes alone.
  virtual AffineKernelCost decode_attention(const Operator& op, const BatchShape& batch) const = 0;
  // For how many steps of these decodes, whose contexts grow by a token a step, the operator's time is a line
  // over the steps; 1: it is none.
  virtual std::int64_t line_steps(const Operator& op, const BatchShape& decodes) const {
    return op.kind == OperatorKind::attention ? decode_attention(op, decodes).steps
                                              : std::numeric_limits<std::int64_t>::max();
  }
  // True if its sampler was measured as the server ran it, so that the engine preset adds nothing for
  // sampling.
  virtual bool measures_sampler() const { return false; }
  // Why this device cannot run the stage (a type it cannot calculate in; a profile of another tensor-parallel
  // degree or without one of its layers), or "" if it can. Ask before anything runs: cost() assumes that it
  // can.
  virtual std::string cannot_run(const StageGraph& stage) const {
    (void)stage;
    return "";
  }
};

// The kinds a scenario may name, each an embedded catalog JSON, or the path of a file like those; reads
// overrides and "profile" from `params`, whose own keys (kind, count) the caller declares. Reports problems
// and returns null when it cannot.
std::vector<std::string> device_names();
std::string device_summary(const std::string& name);
Json device_kind_schema();
// `assumptions`: the scenario's named set of constants.
std::shared_ptr<const Device> make_device(const std::string& kind, Params& params,
                                          const std::string& assumptions = "physical");

}  // namespace weir
