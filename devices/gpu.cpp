#include "devices/gpu.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace weir {
namespace {

bool eight_bit(DataType type) {
  return type == DataType::fp8 || type == DataType::int8;
}

class Gpu final : public Device {
 public:
  Gpu(DeviceSpec spec, GpuShape shape, KernelEfficiencies kernels)
      : spec_(std::move(spec)), shape_(shape), kernels_(std::move(kernels)) {
    peak_16bit_ = std::max(spec_.peak(DataType::bf16), spec_.peak(DataType::fp16));
  }

  const DeviceSpec& spec() const override { return spec_; }

  KernelCost cost(const Operator& op, const BatchShape& batch, const CollectiveModel& links) const override {
    const auto rows = static_cast<double>(op.rows == Rows::sequences ? batch.sequences : batch.tokens());
    if (op.kind != OperatorKind::attention && rows == 0) return {};
    switch (op.kind) {
      case OperatorKind::gemm:
        return with_energy(gemm_cost(gemm(op), roof(op.activations), shape(op, rows)), op.activations);
      case OperatorKind::grouped_gemm:
        return with_energy(grouped_gemm_cost(gemm(op), roof(op.activations), shape(op, rows),
                                             {op.experts, op.active, op.total_experts}),
                           op.activations);
      case OperatorKind::attention:
        return with_energy(attention_cost(kernels_.attention, half_roof(), shape_.l2, heads(op), batch),
                           DataType::bf16);
      case OperatorKind::elementwise:
        return with_energy(elementwise_cost(layer(op.name), spec_.memory_bandwidth, rows * op.bytes_per_row),
                           DataType::bf16);
      case OperatorKind::logit:
      case OperatorKind::softmax:
      case OperatorKind::attend:
        throw std::logic_error("a GPU does attention in one kernel: " + op.name);
      case OperatorKind::all_reduce:
        return collective(Collective::all_reduce, op, rows, links);
      case OperatorKind::all_gather:
        return collective(Collective::all_gather, op, rows, links);
      case OperatorKind::all_to_all:
        return collective(Collective::all_to_all, op, rows, links);
    }
    return {};
  }

  AffineKernelCost decode_attention(const Operator& op, const BatchShape& batch) const override {
    AffineKernelCost affine = decode_attention_cost(kernels_.attention, half_roof(), heads(op), batch);
    affine.first = with_energy(affine.first, DataType::bf16);
    affine.slope = with_energy(affine.slope, DataType::bf16);
    return affine;
  }

  std::string cannot_run(const StageGraph& stage) const override {
    for (const OperatorGraph* graph : {&stage.prologue, &stage.block, &stage.epilogue})
      for (const auto v : boost::make_iterator_range(boost::vertices(*graph))) {
        const Operator& op = (*graph)[v];
        const bool matrix = op.kind == OperatorKind::gemm || op.kind == OperatorKind::grouped_gemm;
        if (matrix && spec_.peak(op.activations) <= FlopsPerSecond(0))
          return fmt::format("{} cannot calculate in {} ({}'s activations); it can in {}", spec_.kind,
                             to_string(op.activations), op.name, fmt::join(types(), ", "));
      }
    return "";
  }

 private:
  std::vector<std::string> types() const {
    std::vector<std::string> known;
    for (const DataType t : {DataType::fp32, DataType::bf16, DataType::fp16, DataType::fp8, DataType::int8})
      if (spec_.peak(t) > FlopsPerSecond(0)) known.push_back(to_string(t));
    return known;
  }

  Roof roof(DataType type) const {
    return {shape_.sustained_compute * spec_.peak(type), spec_.memory_bandwidth, shape_.multiprocessors};
  }
  Roof half_roof() const {
    return {shape_.sustained_compute * peak_16bit_, spec_.memory_bandwidth, shape_.multiprocessors};
  }
  const GemmEfficiency& gemm(const Operator& op) const {
    return eight_bit(op.activations) ? kernels_.gemm_8bit : kernels_.gemm_16bit;
  }

  // Accumulators leave an 8-bit GEMM as 16-bit numbers.
  static GemmShape shape(const Operator& op, double rows) {
    const double activation = bytes_per_element(op.activations);
    return {.rows = rows,
            .in = static_cast<double>(op.in_features),
            .out = static_cast<double>(op.out_features),
            .weight_bytes = bytes_per_element(op.weights),
            .activation_bytes = activation,
            .output_bytes = std::max(2.0, activation)};
  }

  static AttentionShape heads(const Operator& op) {
    return {.query_heads = static_cast<double>(op.query_heads),
            .kv_heads = static_cast<double>(op.kv_heads),
            .head_dim = static_cast<double>(op.head_dim),
            .kv_bytes = bytes_per_element(op.kv_cache)};
  }

  const ElementwiseEfficiency& layer(const std::string& name) const {
    const auto& all = kernels_.elementwise;
    const auto it = std::find_if(all.begin(), all.end() - 1, [&](const auto& l) { return l.name == name; });
    return it->efficiency;
  }

  KernelCost with_energy(KernelCost cost, DataType type) const {
    const FlopsPerSecond peak = spec_.peak(type);
    const double half = peak > FlopsPerSecond(0) ? peak_16bit_ / peak : 1;
    cost.energy = spec_.power.dynamic(half * cost.flops, cost.memory, cost.link);
    return cost;
  }

  // What comes in over a link is written to memory, and what goes out is read from it.
  KernelCost collective(Collective kind, const Operator& op, double rows,
                        const CollectiveModel& links) const {
    const Bytes payload = rows * op.bytes_per_row;
    KernelCost cost;
    cost.time = links.time(kind, payload, op.devices);
    cost.link = links.sent(kind, payload, op.devices);
    cost.memory = 2 * cost.link;
    cost.traffic = cost.time;
    return with_energy(cost, DataType::bf16);
  }

  DeviceSpec spec_;
  GpuShape shape_;
  KernelEfficiencies kernels_;
  FlopsPerSecond peak_16bit_;
};

}  // namespace

std::shared_ptr<const Device> make_gpu(DeviceSpec spec, GpuShape shape, KernelEfficiencies kernels) {
  return std::make_shared<Gpu>(std::move(spec), shape, std::move(kernels));
}

}  // namespace weir
