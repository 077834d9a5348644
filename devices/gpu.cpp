#include "devices/gpu.h"

#include <algorithm>
#include <stdexcept>

#include "devices/kernel_shapes.h"

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
    const double rows = rows_of(op, batch);
    if (op.kind != OperatorKind::attention && rows == 0) return {};
    switch (op.kind) {
      case OperatorKind::gemm:
        return with_energy(spec_, gemm_cost(gemm(op), roof(op.activations), gemm_shape(op, rows)),
                           op.activations);
      case OperatorKind::grouped_gemm:
        return with_energy(
            spec_, grouped_gemm_cost(gemm(op), roof(op.activations), gemm_shape(op, rows), expert_shape(op)),
            op.activations);
      case OperatorKind::attention:
        return with_energy(
            spec_, attention_cost(kernels_.attention, half_roof(), shape_.l2, attention_shape(op), batch),
            DataType::bf16);
      case OperatorKind::elementwise:
        return with_energy(spec_,
                           elementwise_cost(layer(op.name), spec_.own().bandwidth, rows * op.bytes_per_row),
                           DataType::bf16);
      default:
        return collective_cost(op, rows, links, spec_);
    }
  }

  AffineKernelCost decode_attention(const Operator& op, const BatchShape& batch) const override {
    AffineKernelCost affine =
        decode_attention_cost(kernels_.attention, half_roof(), attention_shape(op), batch);
    affine.first = with_energy(spec_, affine.first, DataType::bf16);
    affine.slope = with_energy(spec_, affine.slope, DataType::bf16);
    return affine;
  }

  std::string cannot_run(const StageGraph& stage) const override { return lacks_a_peak(spec_, stage); }

 private:
  Roof roof(DataType type) const {
    return {shape_.sustained_compute * spec_.peak(type), spec_.own().bandwidth, shape_.multiprocessors};
  }
  Roof half_roof() const {
    return {shape_.sustained_compute * peak_16bit_, spec_.own().bandwidth, shape_.multiprocessors};
  }
  const GemmEfficiency& gemm(const Operator& op) const {
    return eight_bit(op.activations) ? kernels_.gemm_8bit : kernels_.gemm_16bit;
  }

  const ElementwiseEfficiency& layer(const std::string& name) const {
    const auto& all = kernels_.elementwise;
    const auto it = std::find_if(all.begin(), all.end() - 1, [&](const auto& l) { return l.name == name; });
    return it->efficiency;
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
