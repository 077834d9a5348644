// GEMM and all-reduce in chunks: what is cut, how, and that nothing is lost.
#include <catch2/catch.hpp>
#include <set>

#include "policies/partitioning/partitioning.h"
#include "policies/prefetch/prefetch.h"
#include "policies/prefetch/windows.h"
#include "test/models/llm/models.h"
#include "test/models/llm/parts.h"
#include "test/policies/make_policy.h"
#include "test/policies/units.h"

using namespace weir;
using namespace weir::test;

namespace {

const std::vector<Unit> gpu = test::units({"gpu", "prefetch", "link"});
const std::vector<Unit> npu = test::units({"systolic", "vector", "pim", "link"});

std::shared_ptr<const PartitioningPolicy> chunked(const Json& chunks, const char* kind = "device_only") {
  const Json json = {{"kind", kind}, {"fused_all_reduce_chunks", chunks}};
  return policy_of(partitioning_policies(), json);
}

std::vector<Operator> operators(const OperatorGraph& graph) {
  std::vector<Operator> all;
  for (const auto v : boost::make_iterator_range(boost::vertices(graph))) all.push_back(graph[v]);
  return all;
}

std::vector<std::string> names(const OperatorGraph& graph) {
  std::vector<std::string> names;
  for (const Operator& op : operators(graph)) names.push_back(op.name);
  return names;
}

std::set<std::string> inputs(const OperatorGraph& graph, const std::string& name) {
  std::set<std::string> inputs;
  for (const auto v : boost::make_iterator_range(boost::vertices(graph)))
    if (graph[v].name == name)
      for (const auto edge : boost::make_iterator_range(boost::in_edges(v, graph)))
        inputs.insert(graph[boost::source(edge, graph)].name);
  return inputs;
}

// Chunks, which follow one another, put together again.
std::vector<Operator> joined(const OperatorGraph& graph) {
  std::vector<Operator> whole;
  double end = 1;
  for (const Operator& op : operators(graph)) {
    REQUIRE(op.begin == (end < 1 ? end : 0));  // the share after the one before
    REQUIRE(op.end > op.begin);
    if (op.begin > 0) {
      REQUIRE((whole.back().kind() == op.kind() && whole.back().unit == op.unit));
      if (const auto* gemm = op.as<Gemm>()) std::get<Gemm>(whole.back().kernel).out += gemm->out;
    } else {
      whole.push_back(op);
      whole.back().name = op.name.substr(0, op.name.find(' '));
    }
    end = whole.back().end = op.end;
  }
  REQUIRE(end == 1);
  return whole;
}

}  // namespace

TEST_CASE("fused all-reduce: of every model and cut, chunks are what they are cut from, in order",
          "[partitioning]") {
  for (const Architecture& model : catalog_and_random_models())
    for (const Sharding& cut : shardings(model)) {
      if (cut.pipeline > 2) continue;
      CAPTURE(model.name, to_string(cut));
      for (const int chunks : {2, 3, 8})
        for (int s = 0; s < cut.pipeline; ++s) {
          const StageGraph stage = build_stage(model, {}, cut, s);
          const StageGraph whole = make_policy(partitioning_policies(), "device_only")->place(stage, gpu);
          const StageGraph fused = chunked(chunks)->place(stage, gpu);
          REQUIRE(layers_of(fused) == layers_of(whole));
          REQUIRE(fused.parts.size() == whole.parts.size());
          for (std::size_t p = 0; p < fused.parts.size(); ++p) {
            const OperatorGraph& graph = fused.parts[p].operators;
            REQUIRE(joined(graph) == operators(whole.parts[p].operators));
            for (const auto edge : boost::make_iterator_range(boost::edges(graph))) {
              const Operator &from = graph[boost::source(edge, graph)],
                             &to = graph[boost::target(edge, graph)];
              REQUIRE(boost::source(edge, graph) < boost::target(edge, graph));
              if (from.end - from.begin < 1 && !is_collective(from))  // to its own part of the all-reduce
                REQUIRE((is_collective(to) && to.begin == from.begin && to.end == from.end));
            }
          }
        }
    }
}

TEST_CASE("fused all-reduce: one chunk is the graph as it was", "[partitioning]") {
  for (const char* model : {"llama3-8b", "falcon-40b", "mixtral-8x7b"}) {
    const StageGraph stage = build_stage(catalog_model(model), {}, {4, 1, 1}, 0);
    const StageGraph whole = make_policy(partitioning_policies(), "device_only")->place(stage, gpu),
                     one = chunked(1)->place(stage, gpu);
    REQUIRE(one.parts.size() == whole.parts.size());
    for (std::size_t p = 0; p < one.parts.size(); ++p) {
      CHECK(operators(one.parts[p].operators) == operators(whole.parts[p].operators));
      CHECK(boost::num_edges(one.parts[p].operators) == boost::num_edges(whole.parts[p].operators));
    }
  }
}

TEST_CASE("fused all-reduce: the projection that ends each half of a layer goes chunk by chunk",
          "[partitioning]") {
  using Names = std::vector<std::string>;
  using Set = std::set<std::string>;
  const auto block = [](const char* model, int tensor) {
    return part(chunked(2)->place(build_stage(catalog_model(model), {}, {tensor, 1, 1}, 0), gpu), "block");
  };
  const OperatorGraph llama = block("llama3-8b", 4);
  CHECK(names(llama) == Names{"layernorm", "qkv_proj", "rotary_emb", "attention", "o_proj 1/2", "o_proj 2/2",
                              "all_reduce 1/2", "all_reduce 2/2", "layernorm", "gate_up_proj", "act_fn",
                              "down_proj 1/2", "down_proj 2/2", "all_reduce 1/2", "all_reduce 2/2"});
  CHECK(inputs(llama, "all_reduce 1/2") == Set{"o_proj 1/2", "down_proj 1/2"});
  CHECK(inputs(llama, "all_reduce 2/2") == Set{"o_proj 2/2", "down_proj 2/2"});
  CHECK(inputs(llama, "o_proj 2/2") == Set{"attention"});
  CHECK(inputs(llama, "gate_up_proj") == Set{"layernorm"});
  CHECK(boost::in_degree(8, llama) == 3);  // the second norm: both chunks and the residual
  // A single rank adds nothing up.
  CHECK(names(block("llama3-8b", 1)).size() == 9);
  // Two branches, one sum: the later GEMM is cut, the earlier one's output is there when it starts.
  const OperatorGraph falcon = block("falcon-40b", 4);
  CHECK(inputs(falcon, "all_reduce 1/2") == Set{"o_proj", "down_proj 1/2"});
  CHECK(inputs(falcon, "all_reduce 2/2") == Set{"o_proj", "down_proj 2/2"});
  // Experts end in a sum of their own, which is no GEMM.
  const OperatorGraph mixtral = block("mixtral-8x7b", 4);
  CHECK(inputs(mixtral, "all_reduce") == Set{"moe_sum"});
  CHECK(inputs(mixtral, "all_reduce 2/2") == Set{"o_proj 2/2"});
}

TEST_CASE("fused all-reduce: every kind takes it, and the rest of its output columns goes to the last chunk",
          "[partitioning]") {
  const StageGraph stage = build_stage(catalog_model("gpt3-7b"), {}, {4, 1, 1}, 0);
  for (const auto& [kind, units] :
       {std::pair{"device_only", gpu}, std::pair{"npu_units", npu}, std::pair{"npu_pim", npu}}) {
    const StageGraph placed = chunked(3, kind)->place(stage, units);
    std::vector<std::int64_t> columns;
    std::vector<int> on;
    for (const Operator& op : operators(part(placed, "block"))) {
      if (op.name.starts_with("o_proj")) columns.push_back(op.as<Gemm>()->out);
      if (is_collective(op)) on.push_back(op.unit);
    }
    CHECK(columns == std::vector<std::int64_t>{1365, 1365, 1366});
    CHECK(on == std::vector<int>(6, static_cast<int>(units.size()) - 1));
  }
}

TEST_CASE("fused all-reduce: what cannot be is told at its key", "[partitioning]") {
  const auto refused = [](int chunks, std::int64_t hidden, const std::vector<Unit>& units) {
    Architecture model = catalog_model("llama3-8b");
    model.hidden = hidden;
    try {
      chunked(chunks)->place(build_stage(model, {}, {4, 1, 1}, 0), units);
    } catch (const UnfitKey& e) {
      return e.key + ": " + e.what();
    }
    return std::string();
  };
  CHECK(refused(32, 32, gpu) == "");
  CHECK_THAT(refused(33, 32, gpu), Catch::StartsWith("fused_all_reduce_chunks: o_proj has 32 columns"));
  CHECK_THAT(refused(2, 4096, test::units({"gpu"})),
             Catch::StartsWith("fused_all_reduce_chunks: a unit for collectives"));
  CHECK_THROWS_WITH(chunked(0), Catch::Contains("/fused_all_reduce_chunks"));
  CHECK_THROWS_WITH(chunked(65), Catch::Contains("/fused_all_reduce_chunks"));
  CHECK_THROWS_WITH(chunked(2.5), Catch::Contains("/fused_all_reduce_chunks"));
}

TEST_CASE("fused all-reduce: to PRESERVE the last chunk is the communication, whose window no GEMM shares",
          "[partitioning]") {
  for (const char* name : {"llama3-8b", "falcon-40b", "mixtral-8x7b"}) {
    const StageGraph stage = build_stage(catalog_model(name), {}, {8, 1, 1}, 0);
    const StageGraph whole = chunked(1)->place(stage, gpu), fused = chunked(4)->place(stage, gpu);
    const auto before = communication_windows(whole), after = communication_windows(fused);
    CAPTURE(name);
    REQUIRE(before.size() == after.size());
    for (std::size_t w = 0; w < after.size(); ++w) {
      const OperatorGraph& graph = fused.parts[after[w].communication.part].operators;
      CHECK(graph[after[w].communication.vertex].end == 1);
      // The same matrices and attention, those in chunks chunk by chunk.
      double shares = 0;
      for (const auto& place : after[w].reached) {
        const Operator& op = fused.parts[place.part].operators[place.vertex];
        shares += op.end - op.begin;
      }
      CHECK(shares == Approx(static_cast<double>(before[w].reached.size())));
    }
    // Each chunk is fetched for itself, once the GEMM before it has ended.
    const StageGraph placed = make_policy(prefetch_policies(), "preserve")->add_prefetches(fused, gpu);
    CHECK(placed.windows.size() == after.size());
    for (const Operator& window : placed.windows) CHECK(window.end == 1);
    for (const auto v : boost::make_iterator_range(boost::vertices(part(placed, "block"))))
      if (part(placed, "block")[v].as<Prefetch>())
        for (const auto edge : boost::make_iterator_range(boost::in_edges(v, part(placed, "block"))))
          CHECK(part(placed, "block")[boost::source(edge, part(placed, "block"))].end == 1);
  }
}
