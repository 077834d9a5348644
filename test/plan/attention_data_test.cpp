// Attention data parallelism in a scenario: where ranks stand, what they hold, what is refused and in which
// words.
#include <algorithm>
#include <catch2/catch.hpp>

#include "sim/core/errors.h"
#include "sim/plan/plan.h"
#include "test/serving/random_scenario.h"

using namespace weir;

namespace {

Json sharing_experts(const Json& parallelism, int nodes = 2, int devices = 4) {
  Json s = test::small_scenario();
  s["model"] = "qwen3-30b-a3b";
  s["cluster"]["nodes"] = {{{"count", nodes},
                            {"devices", {{{"kind", "h100_sxm"}, {"count", devices}}}},
                            {"interconnect", "nvlink4_switch"}}};
  s["serving"]["replicas"] = Json::array({{{"parallelism", parallelism}}});
  return s;
}

const Json eight_ranks = {{"attention_data", 8}, {"expert", 8}};

void check_beside_refused(const Json& scenario, const std::string& key, const std::string& words) {
  INFO(scenario["serving"].dump());
  const std::vector<Problem> problems = test::problems_of_scenario(scenario);
  const std::string pointer = (key.starts_with("/collectives") ? "" : "/serving/replicas/0") + key;
  CHECK(std::ranges::any_of(problems, [&](const Problem& problem) {
    return problem.pointer == pointer && problem.what.find(words) != std::string::npos;
  }));
}

Json with(Json scenario, const char* key, const Json& value) {
  scenario["serving"]["replicas"][0][key] = value;
  return scenario;
}

}  // namespace

TEST_CASE("attention data: tensor groups stay in a node, and the ranks of a stage span both") {
  const Plan plan =
      read_plan(sharing_experts({{"tensor", 4}, {"attention_data", 2}, {"expert", 8}}), "test.json");
  const Rank& rank = plan.replicas[0].rank;
  CHECK_FALSE(rank.levels);
  REQUIRE(rank.stage.levels);
  CHECK(rank.stage.levels->nodes == 2);
  CHECK(rank.stage.levels->per_node == 4);
}

TEST_CASE("attention data: all ranks together hold each expert once, and all else once a group") {
  const auto weights = [](const Json& cut, int ranks) {
    return ranks * read_plan(sharing_experts(cut), "test.json").replicas[0].stages[0].weights.all.value();
  };
  const double once = weights({{"tensor", 1}}, 1), shared = weights(eight_ranks, 8);
  const double cut_as_well = weights({{"attention_data", 8}, {"expert", 2}}, 8);
  // 128 experts of three matrices of 2048 x 768 in 48 layers, in 16 bits.
  const double experts = 48. * 128 * 3 * 2048 * 768 * 2;
  CHECK(shared == Approx(8 * (once - experts) + experts));
  CHECK(cut_as_well == Approx(shared));
}

TEST_CASE("attention data: redundant experts take the memory of as many") {
  const auto weights = [](int redundant) {
    return read_plan(with(sharing_experts(eight_ranks), "experts", {{"redundant", redundant}}), "test.json")
        .replicas[0]
        .stages[0]
        .weights.all.value();
  };
  CHECK(weights(64) - weights(0) == Approx(48. * 64 / 8 * 3 * 2048 * 768 * 2));
}

TEST_CASE("attention data: what cannot be beside it is refused where it stands") {
  const Json valid = sharing_experts(eight_ranks);
  check_beside_refused(sharing_experts({{"attention_data", 8}, {"expert", 3}}), "/parallelism",
                       "does not divide the 8 ranks");
  check_beside_refused(sharing_experts({{"attention_data", 256}, {"expert", 256}}), "/parallelism",
                       "cannot be divided evenly");
  check_beside_refused(sharing_experts({{"attention_data", 16}, {"expert", 16}}), "", "attention_data 16");
  check_beside_refused(with(valid, "experts", {{"redundant", 3}}), "/parallelism", "redundant copies (131)");
  check_beside_refused(with(valid, "batching", {{"kind", "sub_batch_interleaving"}}), "/batching",
                       "cannot split batches");
  check_beside_refused(
      with(valid, "speculative", {{"kind", "ngram"}, {"tokens", 2}, {"acceptance_length", 2}}),
      "/speculative", "cannot draft");
  check_beside_refused(with(valid, "communication", "nvlink_all_to_all"), "/communication",
                       "one NVLink domain");
  check_beside_refused(with(sharing_experts({{"tensor", 8}, {"expert", 8}}), "communication", "deepep"),
                       "/parallelism", "attention_data is above 1");
  check_beside_refused(
      with(sharing_experts({{"attention_data", 8}, {"expert", 4}}), "communication", "deepep"),
      "/parallelism", "whole experts");
  Json flows = with(valid, "communication", "deepep");
  flows["collectives"] = "flows";
  check_beside_refused(flows, "/collectives", "sent to experts");
  Json dense = valid;
  dense["model"] = "llama3.1-8b";
  check_beside_refused(dense, "/parallelism", "has no experts to share");
}

TEST_CASE("attention data: DeepEP over nodes with unlike numbers of devices is refused") {
  Json scenario =
      with(sharing_experts({{"attention_data", 4}, {"expert", 4}}, 2, 3), "communication", "deepep");
  check_beside_refused(scenario, "/communication", "unlike numbers");
}
