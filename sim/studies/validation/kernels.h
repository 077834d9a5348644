#pragma once
// Measured kernels beside what the analytic devices say of them, one sample a measurement: from the reference
// folder (reference_kernels.cpp) or the project's own few (kernels.cpp). kernels.cpp makes of each group of
// samples one row of the validation study; tests use the operators and batches.
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "devices/device.h"
#include "models/latency/collectives.h"
#include "models/llm/operator_graph.h"
#include "sim/core/params.h"

namespace weir {

struct KernelSample {
  std::string group;           // gemm_h100_sxm_bf16
  double measured, simulated;  // seconds
  double weight = 1;           // in the group's means
};
std::vector<KernelSample> reference_kernels(const std::filesystem::path& reference);
std::vector<KernelSample> shipped_kernels();

struct KernelGroup {
  std::string name;
  std::string kernel, machine;  // as figures name them, a link by its GPU; "": two measurements, not drawn
  double calibrated;            // mean |error| in % over the reference, as docs/calibration states it
  std::optional<double> accept_max;  // the figure of systems/gpu_and_network.md, if it has one
  std::string note;
};
const std::vector<KernelGroup>& kernel_groups();

std::shared_ptr<const Device> catalog_device(const std::string& kind, const Json& overrides = Json::object());
// Kernels are measured in bursts, before the power limit slows them.
std::shared_ptr<const Device> burst_device(const std::string& kind);
Operator gemm_operator(std::int64_t in, std::int64_t out, DataType weights = DataType::bf16,
                       DataType activations = DataType::bf16);
Operator attention_operator(std::int64_t query_heads, std::int64_t kv_heads, std::int64_t head_dim = 128);
BatchShape decode_batch(std::int64_t requests, std::int64_t context);
BatchShape prefill_batch(std::span<const PrefillChunk> chunks);
const CollectiveModel& no_links();
double kernel_seconds(const Device& device, const Operator& op, const BatchShape& batch);

}  // namespace weir
