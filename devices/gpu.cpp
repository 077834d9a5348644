#include "devices/gpu.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

#include "devices/kernel_shapes.h"

namespace weir {
namespace {

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
    for (std::size_t i = 0; i < matrix_kinds; ++i) {
      gemms_[i] = matrix_choice(kernels_, static_cast<MatrixKind>(i), false).efficiency;
      experts_[i] = matrix_choice(kernels_, static_cast<MatrixKind>(i), true).efficiency;
    }
    spec_.multiprocessors = shape_.multiprocessors;
    spec_.expert_padding = kernels_.expert_padding;
    spec_.notes.kernels = kernels_.name;
    spec_.notes.kernel_library = kernels_.library;
    // ESTIMATE: a stream of prefetches reaches what a matrix's weights reach.
    for (Memory& memory : spec_.memories)
      if (memory.kept_for == Memory::KeptFor::prefetches)
        memory.sustained = gemms_[0]->memory * spec_.own().bandwidth;
  }

  const DeviceSpec& spec() const override { return spec_; }

  std::shared_ptr<const Device> with_library(const std::string& library) const override {
    for (std::size_t i = 0; i < libraries_->size(); ++i)
      if ((*libraries_)[i].library == library) return std::make_shared<Gpu>(spec_, shape_, libraries_, i);
    return nullptr;
  }

  std::shared_ptr<const Device> reaching(const KernelReach& reach) const override {
    auto kernels = std::make_shared<std::vector<KernelEfficiencies>>();
    for (const KernelEfficiencies& each : *libraries_) kernels->push_back(weir::reaching(each, reach));
    return std::make_shared<Gpu>(spec_, shape_, std::move(kernels), chosen());
  }

  std::shared_ptr<const Device> in_bursts() const override {
    if (shape_.sustained_compute == 1 && shape_.sustained_compute_8bit == 1) return nullptr;
    GpuShape burst = shape_;
    burst.sustained_compute = burst.sustained_compute_8bit = 1;
    return std::make_shared<Gpu>(spec_, burst, libraries_, chosen());
  }

  KernelCost cost(const KernelWork& work, int) const override {
    if (const auto* attention = whole_attention(work))
      return with_attention_energy(spec_, attention_cost(attention_of(*attention), half_roof(), shape_.l2,
                                                         attention_shape(*attention), work.batch));
    if (work.rows == 0 && !work.as<Attention>()) return {};
    if (const auto* kernel = work.as<CustomKernel>()) return custom(*kernel, work);
    if (const auto* bytes = work.as<Elementwise>())
      return with_energy(
          spec_, elementwise_cost(layer(work.name), spec_.own().bandwidth, work.rows * bytes->per_row),
          DataType::bf16);
    const Gemm* matrix = matrix_of(work);
    if (!matrix) no_kernel(work, spec_);
    const GemmShape shape = gemm_shape(*matrix, work.rows);
    const DataType type = matrix->activations;
    const auto* experts = work.as<GroupedGemm>();
    return with_energy(spec_,
                       experts ? grouped_gemm_cost(*experts_[kind_index(*matrix)], roof(type), shape,
                                                   rank_load(*experts, work.rows))
                               : gemm_cost(*gemms_[kind_index(*matrix)], roof(type), shape),
                       type);
  }

  AffineKernelCost decode_attention(const KernelWork& work, int) const override {
    const auto& attention = std::get<Attention>(work.kernel);
    AffineKernelCost affine =
        decode_attention_cost(attention_of(attention), half_roof(), attention_shape(attention), work.batch);
    for (KernelCost* cost : {&affine.first, &affine.slope}) *cost = with_attention_energy(spec_, *cost);
    return affine;
  }

  bool widens_decodes() const override { return true; }

  std::string cannot_run(std::span<const KernelWork> all) const override { return lacks_a_peak(spec_, all); }

  std::string stand_ins(std::span<const KernelWork> all) const override {
    std::vector<std::string> told;
    const auto tell = [&](const std::string& one) {
      if (std::ranges::find(told, one) == told.end()) told.push_back(one);
    };
    const auto taken = [&](const std::string& key) {
      if (const auto from = kernels_.taken_from.find(key); from != kernels_.taken_from.end())
        tell(fmt::format("{} of {}", key, from->second));
    };
    for (const KernelWork& work : all) {
      if (const Gemm* matrix = matrix_of(work)) {
        const MatrixKind kind = matrix_kind(*matrix);
        const MatrixChoice choice = matrix_choice(kernels_, kind, work.as<GroupedGemm>() != nullptr);
        taken(choice.key);
        if (!choice.key.ends_with(name_of(kind))) tell(fmt::format("{} for {}", choice.key, name_of(kind)));
      }
      if (work.as<Elementwise>()) taken("elementwise");
      if (const auto* attention = whole_attention(work)) {
        const char* end = bytes_per_element(attention->kv_cache) < 2 ? "_8bit_cache" : "";
        for (const char* key : {"prefill_attention", "decode_attention"}) taken(std::string(key) + end);
      }
    }
    return fmt::format("{}", fmt::join(told, ", "));
  }

 private:
  KernelCost custom(const CustomKernel& kernel, const KernelWork& work) const {
    KernelCost cost;
    for (const PlainKernel& each : kernel.plain(work)) cost += plain(each, work.name);
    return with_energy(spec_, cost, kernel.type());
  }

  // ESTIMATE: implicit products (a convolution and its gradients) reach what GEMMs of 16 bits do of their
  // peak, all else the bandwidth of elementwise layers, or the peak where its arithmetic takes longer: no
  // training step was measured.
  KernelCost plain(const PlainKernel& kernel, std::string_view name) const {
    const auto& [rows, in, out, weights, activations, outputs, moved, operations] = kernel;
    if (kernel.is_product()) {
      const GemmEfficiency& gemms = gemms_in(weights, activations);
      const GemmShape shape{.rows = rows,
                            .in = in,
                            .out = out,
                            .weight_bytes = bytes_per_element(weights),
                            .activation_bytes = bytes_per_element(activations),
                            .output_bytes = bytes_per_element(outputs)};
      return moved ? implicit_gemm_cost(gemms, roof(activations), shape, *moved)
                   : gemm_cost(gemms, roof(activations), shape);
    }
    KernelCost cost = elementwise_cost(layer(name), spec_.own().bandwidth, moved.value_or(Bytes(0)));
    cost.flops = operations;
    cost.compute = cost.flops / spec_.peak(activations);
    cost.time = std::max(cost.time, cost.compute);
    return cost;
  }

  Roof roof(DataType type) const {
    const bool wide = bytes_per_element(type) >= 2;
    return {(wide ? shape_.sustained_compute : shape_.sustained_compute_8bit) * spec_.peak(type),
            spec_.own().bandwidth, shape_.multiprocessors};
  }
  Roof half_roof() const {
    return {shape_.sustained_compute * peak_16bit_, spec_.own().bandwidth, shape_.multiprocessors};
  }
  const AttentionEfficiency& attention_of(const Attention& attention) const {
    return bytes_per_element(attention.kv_cache) < 2 ? kernels_.attention_8bit_cache : kernels_.attention;
  }
  std::size_t chosen() const { return static_cast<std::size_t>(&kernels_ - libraries_->data()); }
  static std::size_t kind_index(const Gemm& matrix) { return static_cast<std::size_t>(matrix_kind(matrix)); }
  const GemmEfficiency& gemms_in(const StoredType& weights, DataType activations) const {
    return *gemms_[kind_index({.weights = weights, .activations = activations})];
  }

  const ElementwiseEfficiency& layer(std::string_view name) const {
    const auto& all = kernels_.elementwise;
    const auto it = std::find_if(all.begin(), all.end() - 1, [&](const auto& l) { return l.name == name; });
    return it->efficiency;
  }

  DeviceSpec spec_;
  GpuShape shape_;
  Libraries libraries_;
  const KernelEfficiencies& kernels_;                                // one of them
  std::array<const GemmEfficiency*, matrix_kinds> gemms_, experts_;  // in it
  FlopsPerSecond peak_16bit_;
};

}  // namespace

std::shared_ptr<const Device> make_gpu(DeviceSpec spec, GpuShape shape,
                                       std::vector<KernelEfficiencies> kernels) {
  auto libraries = std::make_shared<const std::vector<KernelEfficiencies>>(std::move(kernels));
  return std::make_shared<Gpu>(std::move(spec), shape, std::move(libraries), 0);
}

}  // namespace weir
