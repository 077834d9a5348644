#include "devices/gpu.h"

#include <algorithm>
#include <stdexcept>

#include "devices/kernel_shapes.h"

namespace weir {
namespace {

bool eight_bit(DataType type) {
  return type == DataType::fp8 || type == DataType::int8;
}

using Libraries = std::shared_ptr<const std::vector<KernelEfficiencies>>;

class Gpu final : public Device {
 public:
  // With that of `libraries`.
  Gpu(DeviceSpec spec, GpuShape shape, Libraries libraries, std::size_t chosen)
      : spec_(std::move(spec)),
        shape_(shape),
        libraries_(std::move(libraries)),
        kernels_((*libraries_)[chosen]) {
    peak_16bit_ = std::max(spec_.peak(DataType::bf16), spec_.peak(DataType::fp16));
    spec_.notes.kernels = kernels_.name;
    spec_.notes.kernel_library = kernels_.library;
    // ESTIMATE: a stream of prefetches reaches what a matrix's weights reach.
    for (Memory& memory : spec_.memories)
      if (memory.kept_for == Memory::KeptFor::prefetches)
        memory.sustained = kernels_.gemm_16bit.memory * spec_.own().bandwidth;
  }

  const DeviceSpec& spec() const override { return spec_; }

  std::shared_ptr<const Device> with_library(const std::string& library) const override {
    for (std::size_t i = 0; i < libraries_->size(); ++i)
      if ((*libraries_)[i].library == library) return std::make_shared<Gpu>(spec_, shape_, libraries_, i);
    return nullptr;
  }

  KernelCost cost(const KernelWork& work, int) const override {
    if (const auto* attention = whole_attention(work))
      return with_attention_energy(spec_, attention_cost(kernels_.attention, half_roof(), shape_.l2,
                                                         attention_shape(*attention), work.batch));
    if (work.rows == 0 && !work.as<Attention>()) return {};
    if (const auto* neurons = work.as<Neurons>())
      return work.neurons.empty() ? KernelCost{} : active(*neurons, work);
    if (const auto* bytes = work.as<Elementwise>())
      return with_energy(
          spec_, elementwise_cost(layer(work.name), spec_.own().bandwidth, work.rows * bytes->per_row),
          DataType::bf16);
    if (const auto* operation = work.as<TensorOperation>()) return whole(*operation, work.name);
    const Gemm* matrix = matrix_of(work);
    if (!matrix) no_kernel(work, spec_);
    const GemmShape shape = gemm_shape(*matrix, work.rows);
    const DataType type = matrix->activations;
    const auto* experts = work.as<GroupedGemm>();
    return with_energy(spec_,
                       experts ? grouped_gemm_cost(gemms_in(type), roof(type), shape, expert_shape(*experts))
                               : gemm_cost(gemms_in(type), roof(type), shape),
                       type);
  }

  AffineKernelCost decode_attention(const KernelWork& work, int) const override {
    const AttentionShape shape = attention_shape(std::get<Attention>(work.kernel));
    AffineKernelCost affine = decode_attention_cost(kernels_.attention, half_roof(), shape, work.batch);
    for (KernelCost* cost : {&affine.first, &affine.slope}) *cost = with_attention_energy(spec_, *cost);
    return affine;
  }

  std::string cannot_run(std::span<const KernelWork> all) const override { return lacks_a_peak(spec_, all); }

 private:
  // ESTIMATE: a convolution and its gradients as implicit GEMMs that reach what GEMMs of 16 bits do of their
  // peak, all else at the bandwidth of elementwise layers, or at the peak where its arithmetic takes longer:
  // no training step was measured.
  KernelCost whole(const TensorOperation& operation, std::string_view name) const {
    const Bytes moved = operation.read + operation.written;
    const auto& [rows, in, out] = operation.product;
    if (operation.is_product())
      return with_energy(spec_,
                         implicit_gemm_cost(gemms_in(operation.type), roof(operation.type),
                                            {.rows = rows, .in = in, .out = out}, moved),
                         operation.type);
    KernelCost cost = elementwise_cost(layer(name), spec_.own().bandwidth, moved);
    cost.flops = Flops(operation.work.total());
    cost.compute = cost.flops / spec_.peak(operation.type);
    cost.time = std::max(cost.time, cost.compute);
    return with_energy(spec_, cost, operation.type);
  }

  // Each row of a batch uses every neuron that one of them uses, as one GEMM gathers them all.
  KernelCost active(const Neurons& neurons, const KernelWork& work) const {
    KernelCost cost;
    for (const GemmShape& matrix : neuron_shapes(neurons, work))
      if (matrix.in * matrix.out > 0)
        cost += gemm_cost(gemms_in(neurons.activations), roof(neurons.activations), matrix);
    return with_energy(spec_, cost, neurons.activations);
  }

  Roof roof(DataType type) const {
    return {shape_.sustained_compute * spec_.peak(type), spec_.own().bandwidth, shape_.multiprocessors};
  }
  Roof half_roof() const {
    return {shape_.sustained_compute * peak_16bit_, spec_.own().bandwidth, shape_.multiprocessors};
  }
  const GemmEfficiency& gemms_in(DataType activations) const {
    return eight_bit(activations) ? kernels_.gemm_8bit : kernels_.gemm_16bit;
  }

  const ElementwiseEfficiency& layer(std::string_view name) const {
    const auto& all = kernels_.elementwise;
    const auto it = std::find_if(all.begin(), all.end() - 1, [&](const auto& l) { return l.name == name; });
    return it->efficiency;
  }

  DeviceSpec spec_;
  GpuShape shape_;
  Libraries libraries_;
  const KernelEfficiencies& kernels_;  // one of them
  FlopsPerSecond peak_16bit_;
};

}  // namespace

std::shared_ptr<const Device> make_gpu(DeviceSpec spec, GpuShape shape,
                                       std::vector<KernelEfficiencies> kernels) {
  auto libraries = std::make_shared<const std::vector<KernelEfficiencies>>(std::move(kernels));
  return std::make_shared<Gpu>(std::move(spec), shape, std::move(libraries), 0);
}

}  // namespace weir
