#include "devices/decodes_elsewhere.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/range/iterator_range.hpp>

#include "devices/kernel_shapes.h"

namespace weir {
namespace {

bool is_elsewhere(const Operator& op) {
  return op.kind == OperatorKind::decode_attention || is_host_transfer(op.kind);
}

}  // namespace

DecodesElsewhere::DecodesElsewhere(std::shared_ptr<const Device> device, DeviceSpec spec)
    : device_(std::move(device)), spec_(std::move(spec)) {
  // What is cached would be what a decode on the device reads next.
  std::erase_if(spec_.units, [](const Unit& unit) { return unit.runs(OperatorKind::prefetch); });
  spec_.cache_memory = -1;
}

// Where decodes are attended to elsewhere the partitioning policy says so, and there are channels where some
// may be the device's; without one that does, all are on the device.
BatchShape DecodesElsewhere::own_part(const Operator& op, BatchShape batch) const {
  if (!op.prefill_only && batch.contexts.empty()) return batch;
  if (op.kind != OperatorKind::attention) return batch;
  batch.decodes = batch.decode_context_sum = batch.decode_context_max = 0;
  for (const DecodeContext& context : batch.contexts) {
    if (!has(context)) continue;
    ++batch.decodes;
    batch.decode_context_sum += context.tokens;
    batch.decode_context_max = std::max(batch.decode_context_max, context.tokens);
  }
  batch.contexts = {};
  return batch;
}

KernelCost DecodesElsewhere::cost(const Operator& op, const BatchShape& batch,
                                  const CollectiveModel& links) const {
  if (is_elsewhere(op)) return elsewhere(op, batch);
  return device_->cost(op, own_part(op, batch), links);
}

// All members do this together: transfers for which all ranksets stop.
KernelCost DecodesElsewhere::cost_by_member(const Operator& op, const BatchShape& batch,
                                            std::span<Seconds> times) const {
  if (!is_elsewhere(op)) return device_->cost_by_member(op, batch, times);
  const KernelCost cost = elsewhere(op, batch);
  std::ranges::fill(times, cost.time);
  return cost;
}

// The units at banks and ranks multiply 16-bit elements, and what the host's processor would do with others
// is not modelled.
std::string DecodesElsewhere::cannot_run(const StageGraph& stage) const {
  for (const Operator* op : operators_of(stage))
    if (op->kind == OperatorKind::decode_attention && !sixteen_bits(op->kv_cache))
      return fmt::format("{} attends to decodes' KV cache in bf16 and fp16 alone, not in {}",
                         attending_memory().name, to_string(op->kv_cache));
  return device_->cannot_run(stage);
}

AffineKernelCost DecodesElsewhere::decode_attention(const Operator& op, const BatchShape& batch) const {
  return device_->decode_attention(op, own_part(op, batch));
}

}  // namespace weir
