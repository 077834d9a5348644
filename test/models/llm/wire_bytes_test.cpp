// From a precision to bytes on the wire, worked by hand: what a rank sends of one token to the ranks that
// hold its experts, and what comes back, hidden size 7168.
#include <catch2/catch.hpp>
#include <set>

#include "models/llm/operator_graph.h"
#include "test/models/llm/models.h"

namespace weir::test::wire_bytes {
namespace {

using How = ExpertSharing::Communication;

double per_token(const Precision& precision, How how, const char* name) {
  Sharding sharding{.expert = 8, .attention_data = 8};
  sharding.experts.communication = how;
  const StageGraph stage = build_stage(catalog_model("deepseek-r1"), precision, sharding, 0);
  std::set<double> found;
  for (const Operator* op : operators_of(stage))
    if (op->name == name) found.insert(op->as<Communication>()->per_row.value());
  REQUIRE(found.size() == 1);  // kernels for prompts and for decodes send the same
  return *found.begin();
}

Precision experts_in(DataType type) {
  const DataType weights = type == DataType::fp32 ? DataType::bf16 : type;
  return {weights, DataType::bf16, DataType::bf16, {}, weights, type};
}

struct Row {
  DataType type;
  double dispatched;
};
// 8 bits: 7168 and 56 scales of 4 bytes; NVFP4: 3584 and 448 of one byte; MXFP4: 3584 and 224.
constexpr Row rows[] = {{DataType::bf16, 14336},     {DataType::fp16, 14336},
                        {DataType::fp32, 14336},     {DataType::fp8, 7392},
                        {DataType::int8, 7392},      {DataType::fp8_block, 7392},
                        {DataType::fp4, 3584 + 448}, {DataType::mxfp4, 3584 + 224}};

}  // namespace

TEST_CASE("wire: a token is sent to its experts in their type, scales included, and comes back in 16 bits") {
  for (const How how : {How::deepep, How::nvlink_all_to_all})
    for (const auto& [type, dispatched] : rows) {
      INFO(to_string(type));
      CHECK(per_token(experts_in(type), how, "moe_dispatch") == dispatched);
      CHECK(per_token(experts_in(type), how, "moe_combine") == 14336);
    }
}

TEST_CASE("wire: activations are the experts' where nothing else is said of these") {
  for (const auto& [type, dispatched] : rows) {
    if (type == DataType::fp32) continue;
    INFO(to_string(type));
    const Precision all{type, type, DataType::bf16};
    CHECK(per_token(all, How::deepep, "moe_dispatch") == dispatched);
    CHECK(per_token(all, How::deepep, "moe_combine") == 14336);
  }
}

TEST_CASE("wire: all-gather and reduce-scatter carry hidden states, whatever the experts' type is") {
  for (const auto& [type, dispatched] : rows)
    for (const char* name : {"moe_dispatch", "moe_combine"}) {
      INFO(to_string(type));
      CHECK(per_token(experts_in(type), How::all_gather, name) == 14336);
    }
  const Precision wide{DataType::fp32, DataType::fp32, DataType::fp32};
  for (const How how : {How::all_gather, How::deepep, How::nvlink_all_to_all})
    for (const char* name : {"moe_dispatch", "moe_combine"}) CHECK(per_token(wide, how, name) == 28672);
}

}  // namespace weir::test::wire_bytes
