#include "models/llm/stored_bytes.h"

namespace weir {

Bytes stored_bytes(const Operator& op, const BatchShape& batch) {
  switch (op.kind) {
    case OperatorKind::gemm:
    case OperatorKind::grouped_gemm: {
      const std::int64_t matrices = op.kind == OperatorKind::gemm ? 1 : op.experts;
      return Bytes(static_cast<double>(matrices * op.in_features * op.out_features) *
                   bytes_per_element(op.weights));
    }
    case OperatorKind::attention: {
      std::int64_t tokens = op.prefill_only ? 0 : batch.decode_context_sum - batch.decodes;
      for (const PrefillChunk& chunk : batch.prefill) tokens += chunk.context;
      return Bytes(static_cast<double>(2 * op.kv_heads * op.head_dim * tokens) *
                   bytes_per_element(op.kv_cache));
    }
    default:
      return Bytes(0);
  }
}

}  // namespace weir
