#include "devices/decodes_elsewhere.h"

#include <fmt/format.h>

#include <algorithm>

#include "devices/kernel_shapes.h"

namespace weir {

DecodesElsewhere::DecodesElsewhere(std::shared_ptr<const Device> device, DeviceSpec spec,
                                   std::size_t more_units)
    : device_(std::move(device)), spec_(std::move(spec)) {
  // Prefetches would fill the cache with what a decode on the device reads next.
  std::erase_if(spec_.units, [](const Unit& unit) { return unit.runs(KernelKind::prefetch); });
  for (Memory& memory : spec_.memories)
    if (memory.kept_for == Memory::KeptFor::prefetches) memory.kept_for = Memory::KeptFor::anything;
  first_elsewhere_ = static_cast<int>(spec_.units.size() - more_units);
}

KernelCost DecodesElsewhere::cost(const KernelWork& work, int unit) const {
  return is_elsewhere(unit) ? elsewhere(work, unit - first_elsewhere_) : device_->cost(work, unit);
}

KernelCost DecodesElsewhere::cost_by_member(const KernelWork& work, int unit,
                                            std::span<Seconds> times) const {
  return is_elsewhere(unit) ? elsewhere(work, unit - first_elsewhere_, times)
                            : device_->cost_by_member(work, unit, times);
}

KernelCost DecodesElsewhere::elsewhere(const KernelWork& work, int unit, std::span<Seconds> times) const {
  const KernelCost cost = elsewhere(work, unit);
  std::ranges::fill(times, cost.time);
  return cost;
}

// The units at banks and ranks multiply 16-bit elements, and what the host's processor would do with others
// is not modelled.
std::string DecodesElsewhere::cannot_run(std::span<const KernelWork> all) const {
  const std::string& memory = attending_memory().name;
  if (const std::string why = attends_otherwise(memory, all); !why.empty()) return why;
  for (const KernelWork& work : all)
    if (const auto* heads = work.as<Attention>();
        heads && heads->part == Attention::Part::decodes && !sixteen_bits(heads->kv_cache))
      return fmt::format("{} attends to decodes' KV cache in bf16 and fp16 alone, not in {}", memory,
                         to_string(heads->kv_cache));
  return device_->cannot_run(all);
}

AffineKernelCost DecodesElsewhere::decode_attention(const KernelWork& work, int unit) const {
  return device_->decode_attention(work, unit);
}

}  // namespace weir
