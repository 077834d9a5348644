#include "devices/gpu_pim/gpu_pim.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "devices/decodes_elsewhere.h"
#include "devices/kernel_shapes.h"

namespace weir {
namespace {

class GpuPim final : public DecodesElsewhere {
 public:
  GpuPim(std::shared_ptr<const Device> gpu, DeviceSpec spec, GpuPimShape pim)
      : DecodesElsewhere(gpu, std::move(spec), 1), gpu_(std::move(gpu)), pim_(std::move(pim)) {}

  std::shared_ptr<const Device> with_library(const std::string& library) const override {
    std::shared_ptr<const Device> gpu = gpu_->with_library(library);
    return gpu ? with_hbm_pim(std::move(gpu), pim_) : nullptr;
  }
  std::shared_ptr<const Device> in_bursts() const override {
    std::shared_ptr<const Device> gpu = gpu_->in_bursts();
    return gpu ? with_hbm_pim(std::move(gpu), pim_) : nullptr;
  }

 private:
  // As many heads as a page of queries holds are worked on together (models/memory/pim/gemv.h).
  static PimRequest request(const MemorySpec& memory, std::int64_t length, std::int64_t head_dim) {
    const std::int64_t page = memory.organisation.row_bytes / memory.pim->element_bytes;
    return {PimOp::both, length, std::max<std::int64_t>(1, page / head_dim), head_dim};
  }

  std::string cannot_run(std::span<const KernelWork> all) const override {
    for (const KernelWork& work : all) {
      const auto* heads = work.as<Attention>();
      if (!pim_.banks || !heads || heads->part != Attention::Part::decodes || !is_plain(*heads)) continue;
      const std::string why = pim_.banks->cannot_play(request(pim_.banks->memory(), 8192, heads->head_dim));
      if (!why.empty()) return spec().kind + ": " + why;
    }
    return DecodesElsewhere::cannot_run(all);
  }

  struct Head {  // a query head, of a token attended to, on all channels together
    Seconds time;
    Joules energy;
  };

  using DecodesElsewhere::elsewhere;
  KernelCost elsewhere(const KernelWork& work, int) const override {
    const auto& op = std::get<Attention>(work.kernel);
    KernelCost cost;
    if (work.batch.decodes == 0) return cost;
    const auto tokens = static_cast<double>(work.batch.decode_context_sum);
    const Head head = head_of(op.head_dim);
    const auto heads = static_cast<double>(op.query_heads);
    cost.time = cost.traffic = heads * tokens * head.time;
    cost.energy = heads * tokens * head.energy;
    cost.flops = Flops(attention_shape(op).flops_per_pair() * tokens);
    return cost;
  }

  // A query head reads K and V again, whoever shares them (models/memory/pim/gemv.h).
  Head head_of(std::int64_t head_dim) const {
    const Bytes token(static_cast<double>(2 * 2 * head_dim));
    if (!pim_.banks) return {token / pim_.peak, Joules(0)};
    const std::lock_guard lock(mutex_);
    const auto [at, first] = heads_.try_emplace(head_dim);
    if (first) at->second = played(head_dim);
    return at->second;
  }

  // A long context is played: times are in proportion to it down to 1,024 tokens (to 1 %), GWRITEs, tiles and
  // refreshes being many.
  Head played(std::int64_t head_dim) const {
    constexpr std::int64_t length = 8192;
    const MemorySpec& memory = pim_.banks->memory();
    const PimSpec& bank = *memory.pim;
    const PimRequest one = request(memory, length, head_dim);
    const auto tokens = static_cast<double>(one.heads * length);
    const double banks = bank.ranks * bank.bank_groups * bank.banks_per_group;
    const BytesPerSecond channel =
        Bytes(banks * static_cast<double>(bank.comp_bytes)) / (static_cast<double>(bank.comp) * memory.clock);
    const double channels = pim_.peak / channel;
    return {pim_.banks->sustained(one) / (tokens * channels) * memory.clock,
            pim_.banks->energy(one).total() / tokens};
  }

  std::shared_ptr<const Device> gpu_;
  GpuPimShape pim_;
  mutable std::mutex mutex_;
  mutable std::map<std::int64_t, Head> heads_;  // by head dimension
};

}  // namespace

std::shared_ptr<const Device> with_hbm_pim(std::shared_ptr<const Device> gpu, GpuPimShape pim) {
  DeviceSpec spec = gpu->spec();
  Port memory;
  if (pim.banks) {
    const auto& beside = pim.banks->beside_reads();
    memory = {own_memory, 1 - beside.reads_kept, beside.pim_slowdown - 1};
  }
  spec.units.push_back({"pim", {KernelKind::decode_attention}, {memory}});
  return std::make_shared<GpuPim>(std::move(gpu), std::move(spec), std::move(pim));
}

}  // namespace weir
