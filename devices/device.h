#pragma once
// What a device is to the rest of Weir: its numbers (DeviceSpec, from catalog JSON) and the time of one operator on
// it (Device, a pure latency model: no clock, thread-safe, about a microsecond). The engine asks it for each
// operator of a stage, memoises by rows, and an actor (actor.h) occupies the time in SimGrid.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "models/latency/collectives.h"
#include "models/llm/batch_shape.h"
#include "models/llm/operator_graph.h"
#include "sim/core/catalog.h"

namespace weir {

struct KernelCost {
  Seconds time;     // on its unit, alone
  Flops flops;      // done by this rank
  Bytes memory;     // moved to and from device memory
  Bytes link;       // sent over the interconnect
  Seconds compute;  // part of `time` when only arithmetic would count ...
  Seconds traffic;  // ... and only memory traffic: the larger says what bounds the kernel
};

// Decode attention while every request grows by one token a step: affine in the step number until `steps` are done
// (a wave, a table knot, the longest request overtaking the mean). steps >= 1; slope is per step.
struct AffineKernelCost {
  KernelCost first;
  KernelCost slope;
  std::int64_t steps = 1;
};

struct PowerSpec {
  Watts idle, tdp;
  JoulesPerFlop per_flop;      // above idle, at the 16-bit tensor-core rate
  JoulesPerByte per_byte;      // of device memory
  JoulesPerByte per_link_byte;
};

struct DeviceSpec {
  std::string kind;   // catalog name, h100_sxm
  std::string title;  // NVIDIA H100 SXM 80GB
  Bytes memory;       // usable capacity, as the driver reports it
  BytesPerSecond memory_bandwidth;
  std::function<FlopsPerSecond(DataType)> peak;  // dense
  BytesPerSecond host_bandwidth;                 // PCIe, per direction
  PowerSpec power;
  double dollars_per_hour = 0;
  std::vector<std::string> units;  // "gpu", "link"; a partitioning policy places operators on them
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceSpec& spec() const = 0;
  // Collectives are timed by `links`, the interconnect of the operator's group as the engine preset uses it.
  virtual KernelCost cost(const Operator& op, const BatchShape& batch, const CollectiveModel& links) const = 0;
  // Only for op.kind == attention and a batch of decodes alone.
  virtual AffineKernelCost decode_attention(const Operator& op, const BatchShape& batch) const = 0;
  // A profiled device measured at one tensor-parallel degree says here why it cannot stand in for another; "" if it can.
  virtual std::string cannot_run(const StageGraph& stage) const { (void)stage; return ""; }
};

// The kinds a scenario may name, each an embedded catalog JSON; reads overrides and "profile" from `params`, whose
// own keys (kind, count) the caller declares. Reports problems and returns null when it cannot.
std::vector<std::string> device_names();
std::string device_summary(const std::string& name);
std::shared_ptr<const Device> make_device(const std::string& kind, Params& params);

}  // namespace weir
