// Operators and batches that kernels are measured with, and the few measurements that ship with Weir.
#include "sim/studies/validation/kernels.h"
#include "sim/studies/validation/measured.h"

namespace weir {

std::shared_ptr<const Device> catalog_device(const std::string& kind, const Json& overrides) {
  Reading reading(kind);
  Params params(reading, overrides);
  auto device = make_device(kind, params);
  params.close();
  reading.finish();
  return device;
}

std::shared_ptr<const Device> burst_device(const std::string& kind) {
  return catalog_device(kind, {{"sustained_compute", 1}, {"sustained_compute_8bit", 1}});
}

Operator gemm_operator(std::int64_t in, std::int64_t out, DataType weights, DataType activations) {
  const DataType outputs = bytes_per_element(activations) < 2 ? DataType::bf16 : activations;
  return {.name = "qkv_proj", .kernel = Gemm{in, out, weights, activations, outputs}};
}

Operator attention_operator(std::int64_t query_heads, std::int64_t kv_heads, std::int64_t head_dim) {
  return {.name = "attention",
          .kernel = Attention{.query_heads = query_heads, .kv_heads = kv_heads, .head_dim = head_dim}};
}

BatchShape decode_batch(std::int64_t requests, std::int64_t context) {
  BatchShape batch;
  batch.decodes = batch.sequences = requests;
  batch.decode_context_sum = requests * context;
  batch.decode_context_max = context;
  return batch;
}

BatchShape prefill_batch(std::span<const PrefillChunk> chunks) {
  BatchShape batch;
  batch.prefill = chunks;
  for (const PrefillChunk& chunk : chunks) batch.prefill_tokens += chunk.tokens;
  return batch;
}

const CollectiveModel& no_links() {
  static const auto none = make_collectives(LinkSpec{}, "");
  return *none;
}

double kernel_seconds(const Device& device, const Operator& op, const BatchShape& batch) {
  return device.cost(lowered(op, batch), op.unit).time.value();
}

namespace {

constexpr Range<std::int64_t> count{1};

struct AttentionRow {
  std::string device;
  Operator op;
  std::int64_t requests, tokens;  // context of a decode, length of a prompt
  double seconds;
};

AttentionRow read_attention(Params& row, const Key& tokens) {
  AttentionRow r;
  r.device = row.text({"device", "Kind."});
  const std::int64_t query = row.integer({"query_heads", "Of one rank."}, count);
  r.op = attention_operator(query, row.integer({"kv_heads", "Of one rank."}, count));
  r.requests = row.integer({"requests", "In the batch."}, count);
  r.tokens = row.integer(tokens, count);
  r.seconds = 1e-6 * row.number({"us", "Measured."}, positive);
  row.close();
  return r;
}

KernelSample read_gemm(Params& row) {
  const std::string device = row.text({"device", "Kind."});
  const std::string type = row.choice({"type", "Of weights and activations."}, {"bf16", "fp8"});
  const DataType number = type == "fp8" ? DataType::fp8 : DataType::bf16;
  const std::int64_t tokens = row.integer({"tokens", "Rows."}, count);
  const std::int64_t in = row.integer({"in_features", "Columns of the input."}, count);
  const std::int64_t out = row.integer({"out_features", "Columns of the output."}, count);
  const double us = row.number({"us", "Measured."}, positive);
  row.close();
  return {
      "gemm_" + device + "_" + type, 1e-6 * us,
      kernel_seconds(*burst_device(device), gemm_operator(in, out, number, number), decode_batch(tokens, 1))};
}

}  // namespace

std::vector<KernelSample> shipped_kernels() {
  Reading reading("measured/kernels.json");
  const Json document = shipped_table("kernels");
  Params table(reading, document);
  table.text({"source", "Where the figures were published."});
  std::vector<KernelSample> samples;
  for (Params& row : table.list({"gemms", "Matrix products."}, 1)) samples.push_back(read_gemm(row));
  for (Params& row : table.list({"decodes", "Attention of one new token a request."}, 1)) {
    const AttentionRow r = read_attention(row, {"context", "Tokens each attends to."});
    samples.push_back({"decode_attention_" + r.device + "_beyond_l2", r.seconds,
                       kernel_seconds(*burst_device(r.device), r.op, decode_batch(r.requests, r.tokens))});
  }
  for (Params& row : table.list({"prefills", "Attention of whole prompts."}, 1)) {
    const AttentionRow r = read_attention(row, {"tokens", "Of each prompt."});
    const std::vector<PrefillChunk> chunks(static_cast<std::size_t>(r.requests), {r.tokens, 0});
    samples.push_back({"prefill_attention_" + r.device, r.seconds,
                       kernel_seconds(*burst_device(r.device), r.op, prefill_batch(chunks))});
  }
  table.close();
  reading.finish();
  return samples;
}

}  // namespace weir
