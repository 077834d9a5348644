// Number types of a stage's operators.
#include "test/models/llm/stage_operators.h"

namespace weir::test::stage_graph {

TEST_CASE("stage: under 8 bits GEMMs multiply 8-bit numbers, and everything between them keeps 16") {
  const Precision fp8{DataType::fp8, DataType::fp8, DataType::fp8};
  for (const Architecture& m : catalog_models()) {
    const StageGraph narrow = build_stage(m, fp8, {2, 1, 1}, 0), wide = build_stage(m, {}, {2, 1, 1}, 0);
    INFO(m.name);
    for (const auto& [a, b] : {std::pair(&part(narrow, "prologue"), &part(wide, "prologue")),
                               std::pair(&part(narrow, "block"), &part(wide, "block")),
                               std::pair(&part(narrow, "epilogue"), &part(wide, "epilogue"))})
      for (const auto v : operators(*a)) {
        const Operator& op = (*a)[v];
        CHECK(bytes_per_row(op) == bytes_per_row((*b)[v]));
        if (const Gemm* matrix = matrix_of(op)) {
          const bool quantised = !kept_wide(op);
          CHECK(matrix->weights == (quantised ? DataType::fp8 : DataType::bf16));
          CHECK(matrix->activations == (quantised ? DataType::fp8 : DataType::bf16));
          CHECK(matrix->outputs == DataType::bf16);
        }
        if (const auto* attention = op.as<Attention>()) {
          CHECK(attention->activations == DataType::bf16);
          const bool expanded = attention->keys == Attention::Keys::expanded;
          CHECK(attention->kv_cache == (expanded ? DataType::bf16 : DataType::fp8));
        }
      }
  }
}

TEST_CASE("stage: a precision that says what is between GEMMs halves it, but for logits and routers") {
  const Precision eight{DataType::int8, DataType::int8, DataType::int8, DataType::int8};
  for (const Architecture& m : catalog_models()) {
    const StageGraph narrow = build_stage(m, eight, {2, 1, 1}, 0), wide = build_stage(m, {}, {2, 1, 1}, 0);
    INFO(m.name);
    for (const auto v : operators(part(narrow, "block"))) {
      const Operator &op = part(narrow, "block")[v], &before = part(wide, "block")[v];
      const Names of_32_bits = {"linear_step", "dsa_top_k", "dsa_places"};  // 32 bits, as sums of squares are
      if (std::ranges::find(of_32_bits, op.name) == of_32_bits.end() && bytes_per_row(op) != Bytes(8))
        CHECK(2 * bytes_per_row(op) == bytes_per_row(before));  // all-reduces too
      const DataType expected = kept_wide(op) ? DataType::bf16 : DataType::int8;
      if (const Gemm* matrix = matrix_of(op))
        CHECK((matrix->activations == expected && matrix->outputs == expected));
      if (const auto* attention = op.as<Attention>()) CHECK(attention->activations == expected);
    }
    CHECK(gemm(part(narrow, "epilogue"), "lm_head").activations == DataType::bf16);
    CHECK(bytes_per_row(find(part(narrow, "epilogue"), "all_gather")) ==
          bytes_per_row(find(part(wide, "epilogue"), "all_gather")));
  }
}

}  // namespace weir::test::stage_graph
