#include <algorithm>

#include "models/llm/operator_graph.h"

namespace weir {
namespace {

// Without contexts all KV caches lie in one channel, the first.
BatchShape decodes_in(const ChannelRange& channels, BatchShape batch) {
  if (channels == ChannelRange() || (batch.contexts.empty() && channels.has(0))) return batch;
  batch.decodes = batch.decode_context_sum = batch.decode_context_max = 0;
  for (const DecodeContext& context : batch.contexts) {
    if (!channels.has(context.channel)) continue;
    ++batch.decodes;
    batch.decode_context_sum += context.tokens;
    batch.decode_context_max = std::max(batch.decode_context_max, context.tokens);
  }
  batch.contexts = {};
  return batch;
}

BatchShape without_decodes(BatchShape batch) {
  batch.decodes = batch.decode_context_sum = batch.decode_context_max = 0;
  batch.contexts = {};
  return batch;
}

BatchShape without_prompts(BatchShape batch) {
  batch.prefill = {};
  batch.prefill_tokens = 0;
  return batch;
}

BatchShape of_one_row(BatchShape batch) {
  batch.decode_rows = 1;
  return batch;
}

BatchShape attended(const Operator& op, const BatchShape& batch) {
  if (op.rows == Rows::prompt_tokens) return without_decodes(batch);
  if (op.rows == Rows::decodes) return without_prompts(decodes_in(op.channels, batch));
  if (op.rows == Rows::drafts) return of_one_row(without_prompts(decodes_in(op.channels, batch)));
  return decodes_in(op.channels, batch);
}

std::int64_t tokens_of_prompts(const ChannelRange& channels, const BatchShape& batch, bool in_cache) {
  std::int64_t tokens = 0;
  for (const PrefillChunk& chunk : batch.prefill)
    if (channels.has(chunk.channel)) tokens += chunk.tokens + (in_cache ? chunk.context : 0);
  return tokens;
}

}  // namespace

std::int64_t rows_of(Rows rows, const ChannelRange& channels, const BatchShape& batch) {
  switch (rows) {
    case Rows::step:
      return 1;
    case Rows::sequences:
      return batch.sampled();
    case Rows::drafts:
      return batch.sequences;
    case Rows::routed:
      return batch.routed_rows();
    case Rows::routed_prompts:
      return batch.prefill_tokens > 0 ? batch.routed_rows() : 0;
    case Rows::routed_decodes:
      return batch.prefill_tokens > 0 ? 0 : batch.routed_rows();
    case Rows::decodes:
      return decodes_in(channels, batch).decodes * batch.decode_rows;
    case Rows::prompt_tokens:
      return tokens_of_prompts(channels, batch, false);
    case Rows::prompt_contexts:
      return tokens_of_prompts(channels, batch, true);
    default:
      return batch.rows();
  }
}

KernelWork lowered(const Operator& op, const BatchShape& batch, std::int64_t layer) {
  KernelWork work{op.name, op.kernel, 0, {}, op.begin, op.end, op.share, {}};
  if (differs_by_layer(op) && batch.side)
    work.side = batch.side->at(op.slot, static_cast<std::size_t>(layer));
  if (op.as<Attention>()) {
    work.batch = attended(op, batch);
    work.rows = static_cast<double>(work.batch.tokens());
  } else {
    work.rows = static_cast<double>(rows_of(op.rows, op.channels, batch));
    // A copy's rows are then what is read, of all that cross the link.
    if (op.as<Copy>() && differs_by_layer(op)) work.rows = work.side.empty() ? 0 : work.side[0].read;
  }
  return work;
}

}  // namespace weir
