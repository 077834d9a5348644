// Where the operators of an NPU run, and how the attention of decodes is split for its PIM.
#include <catch2/catch.hpp>
#include <set>

#include "policies/partitioning/partitioning.h"
#include "test/models/llm/parts.h"
#include "test/policies/make_policy.h"
#include "test/policies/units.h"

using namespace weir;
using test::make_policy;
using test::policy_of;

namespace {

const std::vector<Unit> plain = test::units({"systolic", "vector", "link"});
const std::vector<Unit> dual = test::units({"systolic", "vector", "pim", "link"});
const std::vector<Unit> single = test::units({"systolic", "vector", "pim_blocked", "link"});

StageGraph stage(const char* model, int tensor = 1) {
  Reading reading("test");
  return build_stage(find_architecture(model, reading, ""), {}, {.tensor = tensor}, 0);
}

const Attention& heads_of(const Operator& op) {
  return std::get<Attention>(op.kernel);
}

std::vector<Operator> of_kind(const OperatorGraph& graph, KernelKind kind) {
  std::vector<Operator> found;
  for (const auto v : boost::make_iterator_range(boost::vertices(graph)))
    if (graph[v].kind() == kind) found.push_back(graph[v]);
  return found;
}

std::shared_ptr<const PartitioningPolicy> npu_pim(const Json& keys) {
  Json json = {{"kind", "npu_pim"}};
  json.update(keys);
  return policy_of(partitioning_policies(), json);
}

}  // namespace

TEST_CASE(
    "npu_units: matrices and attention on the arrays, the rest on the vector units, collectives on the link",
    "[partitioning]") {
  const StageGraph placed =
      make_policy(partitioning_policies(), "npu_units")->place(stage("mixtral-8x7b", 2), plain);
  std::set<KernelKind> seen;
  for (const OperatorGraph* graph : graphs_of(placed))
    for (const auto v : boost::make_iterator_range(boost::vertices(*graph))) {
      const Operator& op = (*graph)[v];
      seen.insert(op.kind());
      INFO(op.name);
      CHECK(op.unit == (is_collective(op) ? 2 : op.kind() == KernelKind::elementwise ? 1 : 0));
    }
  CHECK(seen.size() >= 5);
  const std::vector<Unit> gpu = test::units({"gpu", "link"});
  CHECK_THROWS_WITH(make_policy(partitioning_policies(), "npu_pim")->place(stage("gpt3-7b"), gpu),
                    Catch::Contains("npu_pim needs a unit that runs logit") && Catch::Contains("gpu, link"));
  CHECK_THROWS_WITH(make_policy(partitioning_policies(), "npu_pim")->place(stage("gpt3-7b"), plain),
                    Catch::Contains("runs logit"));
  CHECK_THROWS_WITH(make_policy(partitioning_policies(), "device_only")->place(stage("gpt3-7b"), plain),
                    Catch::Contains("npu_units"));
}

TEST_CASE("npu_pim: heads go in groups of a page, every one once, each group on its own way",
          "[partitioning]") {
  for (const auto& [model, tensor, groups] :
       {std::tuple{"gpt3-7b", 4, 2}, std::tuple{"gpt3-30b", 4, 4}, std::tuple{"llama3.1-70b", 4, 4},
        std::tuple{"opt-13b", 1, 10}}) {
    const StageGraph whole = stage(model, tensor);
    const Operator attention = of_kind(part(whole, "block"), KernelKind::attention).at(0);
    const StageGraph placed = make_policy(partitioning_policies(), "npu_pim")->place(whole, dual);
    const OperatorGraph& block = part(placed, "block");
    INFO(model);
    const auto logits = of_kind(block, KernelKind::logit), attends = of_kind(block, KernelKind::attend);
    REQUIRE(static_cast<int>(logits.size()) == groups);
    REQUIRE(attends.size() == logits.size());
    std::int64_t heads = 0;
    for (const Operator& op : logits) {
      heads += heads_of(op).query_heads;
      CHECK(heads_of(op).query_heads * heads_of(op).head_dim <= 512);
      CHECK(heads_of(op).kv_heads >= 1);
      CHECK(heads_of(op).kv_heads <= heads_of(op).query_heads);
      CHECK(op.unit == 2);
    }
    CHECK(heads == heads_of(attention).query_heads);
    const auto prefill = of_kind(block, KernelKind::attention);
    REQUIRE(prefill.size() == 1);
    CHECK(prefill[0].rows == Rows::prompt_tokens);
    CHECK(prefill[0].unit == 0);
    CHECK(heads_of(prefill[0]).query_heads == heads_of(attention).query_heads);
    // qkv (or what follows it) leads to each logit and the prefill part; o_proj waits for all of them.
    for (const auto v : boost::make_iterator_range(boost::vertices(block))) {
      const Operator& op = block[v];
      if (op.name == "o_proj") CHECK(static_cast<int>(boost::in_degree(v, block)) == groups + 1);
      const bool part = op.kind() == KernelKind::logit || op.kind() == KernelKind::softmax ||
                        op.kind() == KernelKind::attend;
      if (part) CHECK((boost::in_degree(v, block) == 1 && boost::out_degree(v, block) == 1));
      if (op.kind() == KernelKind::softmax) CHECK(op.unit == 1);
    }
    // Still numbered in a topological order.
    for (const auto edge : boost::make_iterator_range(boost::edges(block)))
      CHECK(boost::source(edge, block) < boost::target(edge, block));
  }
}

TEST_CASE("npu_pim: single row buffers and head_overlap false leave one way for all heads",
          "[partitioning]") {
  const auto groups = [](const Json& keys, const std::vector<Unit>& units) {
    return of_kind(part(npu_pim(keys)->place(stage("gpt3-13b"), units), "block"), KernelKind::logit).size();
  };
  CHECK(groups(Json::object(), dual) == 10);
  CHECK(groups(Json::object(), single) == 1);
  CHECK(groups({{"head_overlap", nullptr}}, single) == 1);
  CHECK(groups({{"head_overlap", false}}, dual) == 1);
  CHECK(groups({{"head_overlap", true}}, single) == 10);
  CHECK(groups({{"page_elements", 1024}}, dual) == 5);
  CHECK(groups({{"page_elements", 64}}, dual) == 40);  // a head longer than a page goes alone
  CHECK_THROWS_WITH(npu_pim({{"head_overlap", 1}}), Catch::Contains("head_overlap"));
}

TEST_CASE("npu_pim: groups that cut through a KV head share it, wider ones have several", "[partitioning]") {
  Reading reading("test");
  // 64 query heads on 8 KV heads: 8 share one; on 4 devices 16 and 2, in groups of 4 of a page.
  const auto of = [](const Json& keys) {
    std::vector<std::int64_t> kv;
    for (const Operator& op :
         of_kind(part(npu_pim(keys)->place(stage("llama3.1-70b", 4), dual), "block"), KernelKind::logit))
      kv.push_back(heads_of(op).kv_heads);
    return kv;
  };
  CHECK(of(Json::object()) == std::vector<std::int64_t>{1, 1, 1, 1});
  CHECK(of({{"page_elements", 12 * 128}}) == std::vector<std::int64_t>{2, 1});
  CHECK(of({{"head_overlap", false}}) == std::vector<std::int64_t>{2});
}
