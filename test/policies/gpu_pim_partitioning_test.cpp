// Decodes attended to by a memory that computes: which operators take their place, on which unit, and who
// waits for whom.
#include <catch2/catch.hpp>
#include <set>

#include "models/llm/parts/spread.h"
#include "policies/partitioning/partitioning.h"
#include "test/models/llm/models.h"
#include "test/models/llm/parts.h"
#include "test/policies/make_policy.h"
#include "test/policies/units.h"

using namespace weir;
using test::policy_of;

namespace {

const std::vector<Unit> beside_dimms = test::units({"gpu", "link", "ranksets", "host_link"});
const std::vector<Unit> beside_cpu = test::units({"gpu", "link", "host_cpu", "host_link"});
const std::vector<Unit> with_pim = test::units({"gpu", "link", "gpu's pim"});
enum Index { gpu, link, memory, host_link };

std::shared_ptr<const PartitioningPolicy> gpu_pim(bool concurrent = true, bool asynchronous = true) {
  const Json json = {
      {"kind", "gpu_pim"}, {"concurrent_transfers", concurrent}, {"asynchronous_store", asynchronous}};
  return policy_of(partitioning_policies(), json);
}

StageGraph stage(const char* model, int tensor) {
  return build_stage(catalog_model(model), {}, {.tensor = tensor}, 0);
}

std::size_t named(const OperatorGraph& graph, const std::string& name) {
  std::size_t found = boost::num_vertices(graph);
  for (const auto v : boost::make_iterator_range(boost::vertices(graph)))
    if (graph[v].name == name) {
      REQUIRE(found == boost::num_vertices(graph));  // one of each
      found = v;
    }
  REQUIRE(found < boost::num_vertices(graph));
  return found;
}

bool comes_before(const OperatorGraph& graph, const std::string& from, const std::string& to) {
  std::set<std::size_t> reached{named(graph, from)};
  for (const auto v : boost::make_iterator_range(boost::vertices(graph)))  // in a topological order
    for (const auto edge : boost::make_iterator_range(boost::in_edges(v, graph))) {
      REQUIRE(boost::source(edge, graph) < v);
      if (reached.contains(boost::source(edge, graph))) reached.insert(v);
    }
  return reached.contains(named(graph, to));
}

}  // namespace

TEST_CASE("gpu_pim: Q, K and V go to the memory and results come back before the projection",
          "[partitioning]") {
  for (const auto& units : {beside_dimms, beside_cpu})
    for (const auto& [model, tensor] :
         {std::pair{"gpt3-175b", 8}, {"llama3.1-70b", 4}, {"mixtral-8x7b", 2}}) {
      const StageGraph placed = gpu_pim()->place(stage(model, tensor), units);
      const OperatorGraph& block = part(placed, "block");
      INFO(model);
      for (const auto& [before, after] : {std::pair{"qkv_proj", "attention"},
                                          {"qkv_proj", "offload"},
                                          {"offload", "decode_attention"},
                                          {"decode_attention", "onload"},
                                          {"onload", "o_proj"},
                                          {"attention", "o_proj"},
                                          {"attention", "store"}})
        CHECK(comes_before(block, before, after));
      CHECK_FALSE(comes_before(block, "attention", "offload"));  // side by side
      CHECK_FALSE(comes_before(block, "onload", "attention"));
      const Operator attention = block[named(block, "attention")];
      CHECK(attention.rows == Rows::prompt_tokens);
      CHECK(attention.unit == gpu);
      const auto& heads = std::get<Attention>(attention.kernel);
      const Bytes query = bytes_per_query(heads), token = bytes_per_token(heads);
      Attention of_decodes = heads;
      of_decodes.part = Attention::Part::decodes;
      for (const auto& [name, kernel, rows, unit] :
           {std::tuple{"offload", Kernel(Copy{Copy::Way::out, query + token}), Rows::decodes, host_link},
            {"decode_attention", of_decodes, Rows::decodes, memory},
            {"onload", Copy{Copy::Way::back, query}, Rows::decodes, host_link},
            {"store", Copy{Copy::Way::out, token}, Rows::prompt_tokens, memory}}) {
        const Operator& op = block[named(block, name)];
        INFO(name);
        CHECK(op.kernel == kernel);
        CHECK(op.rows == rows);
        CHECK(op.channels == ChannelRange{0, units[memory].members});
        CHECK(op.unit == unit);
        CHECK(op.each_member == (unit == memory));
      }
      CHECK(block[named(block, "offload")].member == 0);  // there and back do not wait for each other
      CHECK(block[named(block, "onload")].member == 1);
    }
}

TEST_CASE("gpu_pim: all that is no attention is where the device alone would have it", "[partitioning]") {
  for (const auto& units : {beside_dimms, beside_cpu, with_pim}) {
    const StageGraph whole = stage("mixtral-8x7b", 2);
    const StageGraph alone = test::make_policy(partitioning_policies(), "device_only")->place(whole, units),
                     placed = gpu_pim()->place(whole, units);
    const std::size_t more = units.size() == with_pim.size() ? 1 : 4;
    CHECK(boost::num_vertices(part(placed, "block")) == boost::num_vertices(part(alone, "block")) + more);
    const auto no_attention = [](const StageGraph& of) {
      std::vector<Operator> ops;
      for_each_operator(of, [&](const Operator& op, double) {
        if (!follows_contexts(op)) ops.push_back(op);
      });
      return ops;
    };
    CHECK(no_attention(placed) == no_attention(alone));
  }
}

TEST_CASE("gpu_pim: keys and values of prompts hold nobody up, unless they are stored at once",
          "[partitioning]") {
  const OperatorGraph beside = part(gpu_pim(true, true)->place(stage("gpt3-175b", 8), beside_dimms), "block"),
                      waits = part(gpu_pim(true, false)->place(stage("gpt3-175b", 8), beside_dimms), "block");
  CHECK(boost::out_degree(named(beside, "store"), beside) == 0);
  CHECK(comes_before(beside, "onload", "store"));
  CHECK_FALSE(comes_before(beside, "store", "o_proj"));
  CHECK(comes_before(waits, "store", "o_proj"));
  CHECK_FALSE(comes_before(waits, "onload", "store"));
}

TEST_CASE("gpu_pim: without concurrent transfers every rankset is part of each", "[partitioning]") {
  const std::vector<int> members = {1, 1, 4, 2};
  const ChannelRange every_rankset{0, beside_dimms[memory].members};
  for (const MemberChannels channels :
       {MemberChannels::own, MemberChannels::rotating, MemberChannels::even}) {
    const auto spread = [&](bool concurrent) {
      return part(spread_over_members(gpu_pim(concurrent)->place(stage("gpt3-175b", 8), beside_dimms),
                                      members, channels),
                  "block");
    };
    std::map<std::string, int> alone, together;
    for (const auto& [concurrent, count] : {std::pair{true, &alone}, {false, &together}}) {
      const OperatorGraph block = spread(concurrent);
      for (const auto v : boost::make_iterator_range(boost::vertices(block))) {
        const Operator& op = block[v];
        if (!op.as<Copy>() && op.kind() != KernelKind::decode_attention) continue;
        ++(*count)[op.name];
        if (!op.as<Copy>()) continue;
        const bool all = op.unit == memory && op.member == -1 && op.channels == every_rankset;
        CHECK(all == !concurrent);
      }
    }
    CHECK(alone ==
          std::map<std::string, int>{{"decode_attention", 4}, {"offload", 1}, {"onload", 1}, {"store", 4}});
    CHECK(together ==
          std::map<std::string, int>{{"decode_attention", 4}, {"offload", 1}, {"onload", 1}, {"store", 1}});
  }
}

TEST_CASE("gpu_pim: PIM in the device attends beside the prompts and sends nothing", "[partitioning]") {
  const OperatorGraph block = part(gpu_pim()->place(stage("gpt3-175b", 8), with_pim), "block");
  const std::size_t decodes = named(block, "decode_attention"), prompts = named(block, "attention");
  CHECK(block[decodes].unit == 2);
  CHECK_FALSE(block[decodes].each_member);
  CHECK(block[prompts].rows == Rows::prompt_tokens);
  CHECK(comes_before(block, "qkv_proj", "decode_attention"));
  CHECK(comes_before(block, "decode_attention", "o_proj"));
  CHECK_FALSE(comes_before(block, "attention", "decode_attention"));
  for (const auto v : boost::make_iterator_range(boost::vertices(block))) CHECK_FALSE(block[v].as<Copy>());
}

TEST_CASE("gpu_pim: a device without memory that computes is refused in words", "[partitioning]") {
  const std::vector<Unit> plain = test::units({"gpu", "link"});
  CHECK_THROWS_WITH(gpu_pim()->place(stage("gpt3-175b", 8), plain),
                    Catch::Contains("dimm_pim") && Catch::Contains("gpu, link"));
  CHECK_THROWS_AS(gpu_pim()->place(stage("gpt3-175b", 8), plain), std::invalid_argument);
}
