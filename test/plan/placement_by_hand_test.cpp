// Where a replica stands and what its ranks have there, by hand: every degree above 1 and none like another.
#include <catch2/catch.hpp>

#include "sim/core/errors.h"
#include "sim/plan/plan.h"
#include "test/serving/run_in_child.h"

using namespace weir;

namespace {

// qwen3-30b-a3b (48 layers, 4 KV heads, 128 experts) on as many nodes of as many H100.
Json experts_on(int nodes, int devices, const Json& interconnect, const Json& parallelism) {
  Json s = test::small_scenario();
  s["model"] = "qwen3-30b-a3b";
  s["cluster"]["nodes"] = {{{"count", nodes},
                            {"devices", {{{"kind", "h100_sxm"}, {"count", devices}}}},
                            {"interconnect", interconnect}}};
  s["serving"]["replicas"] = Json::array({{{"parallelism", parallelism}}});
  return s;
}

Rank placed_rank(const Json& scenario) {
  return read_plan(scenario, "test.json").replicas[0].rank;
}

std::vector<Problem> placing_problems(const Json& scenario) {
  return test::problems_of_scenario(scenario);
}

bool plan_notes(const Json& scenario, const std::string& words) {
  return std::ranges::any_of(read_plan(scenario, "test.json").scenario.notes,
                             [&](const std::string& note) { return note.find(words) != std::string::npos; });
}

const Json eight_mesh = {{"shape", "full_mesh"}, {"bandwidth_gb_per_s", 700}, {"latency_us", 1}};

}  // namespace

// Each data-parallel rank has an engine of its own, whose workers are its tensor and pipeline ranks: six of
// the twelve devices. They are five messages one by one, and three rounds of a tree.
TEST_CASE("placement: an engine tells the workers of its own tensor and pipeline ranks, in its own way") {
  for (const auto& [version, rounds] : {std::pair{"0.5.4", 5}, {"0.6.3", 3}}) {
    Json s = experts_on(1, 12, "nvlink4_switch",
                        {{"tensor", 2}, {"pipeline", 3}, {"attention_data", 2}, {"expert", 4}});
    s["serving"]["replicas"][0]["engine"] = {{"kind", "vllm"},
                                             {"version", version},
                                             {"step_overhead_us", 100},
                                             {"sequence_overhead_us", 20},
                                             {"worker_step_overhead_us", 1000},
                                             {"worker_sequence_overhead_us", 7}};
    CAPTURE(version);
    const EngineOverhead engine = placed_rank(s).engine;
    CHECK(engine.per_step.value() == Approx(1e-6 * (100 + rounds * 1000)));
    CHECK(engine.per_sequence.value() == Approx(27e-6));
  }
}

// On a mesh of eight a device has 700 GB/s to seven others: 100 to each.
TEST_CASE("placement: on a full mesh a group has of each device's links those between its own") {
  const Rank rank =
      placed_rank(experts_on(1, 8, eight_mesh, {{"tensor", 2}, {"attention_data", 2}, {"expert", 4}}));
  CHECK(rank.links.bandwidth.value() == Approx(100e9));
  CHECK(rank.stage.links.bandwidth.value() == Approx(300e9));
  CHECK(placed_rank(experts_on(1, 8, eight_mesh, {{"tensor", 8}})).links.bandwidth.value() == Approx(700e9));
  CHECK(placed_rank(experts_on(1, 8, eight_mesh, {{"tensor", 1}})).links.bandwidth.value() == Approx(700e9));
  Json switched = eight_mesh;
  switched["shape"] = "switch";
  CHECK(placed_rank(experts_on(1, 8, switched, {{"tensor", 2}})).links.bandwidth.value() == Approx(700e9));
}

TEST_CASE("placement: a ring over nodes is as slow as the slower of the node's links and the network's") {
  for (const auto& [inside, ring] : {std::pair{10., 10e9}, {24., 24e9}, {26., 25e9}}) {
    Json s = experts_on(2, 3, {{"shape", "ring"}, {"bandwidth_gb_per_s", inside}, {"latency_us", 1}},
                        {{"tensor", 4}});
    s["cluster"]["network"] = {{"link_bandwidth_gb_per_s", 25}, {"link_latency_us", 3}};
    CAPTURE(inside);
    CHECK(placed_rank(s).links.bandwidth.value() == Approx(ring));
  }
}

TEST_CASE(
    "placement: ranks that share a node need links there, those of a pipeline or of nodes apart do not") {
  const auto without_links = [](int nodes, int devices, const Json& parallelism) {
    return placing_problems(experts_on(nodes, devices, "none", parallelism));
  };
  const std::vector<Problem> shared = without_links(1, 2, {{"attention_data", 2}, {"expert", 2}});
  REQUIRE(shared.size() == 1);
  CHECK(shared[0].pointer == "/serving/replicas/0/parallelism/tensor");
  CHECK_THAT(shared[0].what, Catch::Contains("no interconnect"));
  CHECK(without_links(1, 2, {{"pipeline", 2}}).empty());
  CHECK(without_links(2, 1, {{"tensor", 2}}).empty());
}

// Three replicas of two take six of eleven devices.
TEST_CASE("placement: devices that serve no replica are counted, all of the cluster's") {
  Json s = experts_on(1, 11, "nvlink4_switch", {{"tensor", 2}});
  s["serving"]["replicas"][0]["count"] = 3;
  CHECK(plan_notes(s, "5 devices of the cluster serve no replica"));
  s["cluster"]["nodes"][0]["devices"][0]["count"] = 6;
  CHECK_FALSE(plan_notes(s, "serve no replica"));
}

TEST_CASE(
    "placement: a refusal counts the devices of a replica by all its degrees, and those that are left") {
  Json s = experts_on(1, 13, "nvlink4_switch",
                      {{"tensor", 2}, {"pipeline", 3}, {"attention_data", 2}, {"expert", 4}});
  s["serving"]["replicas"][0]["count"] = 2;
  const std::vector<Problem> problems = placing_problems(s);
  REQUIRE(problems.size() == 1);
  CHECK_THAT(problems[0].what,
             Catch::Contains("no room for replica 2 of 2: it needs 12 devices of one kind (tensor 2 x "
                             "attention_data 2 x pipeline 3), the cluster has 1 left"));
}

// A stage's ranks are 2 x 2, dealt out group by group: 0 and 1, 2 and 3, then 4 and 5 of the next stage.
TEST_CASE("placement: devices go to stages in order, and within them to tensor groups") {
  const Plan plan = read_plan(
      experts_on(1, 12, eight_mesh, {{"tensor", 2}, {"pipeline", 3}, {"attention_data", 2}, {"expert", 4}}),
      "test.json");
  const ReplicaPlace& place = plan.replicas[0].places.at(0);
  REQUIRE(place.size() == 3);
  int slot = 0;
  for (const std::vector<DevicePlace>& stage : place) {
    REQUIRE(stage.size() == 4);
    for (const DevicePlace& at : stage) CHECK((at.node == 0 && at.slot == slot++));
  }
}

TEST_CASE("placement: DeepEP's kernels take twenty of a GPU's multiprocessors, TensorRT-LLM's none") {
  const auto left = [](const char* communication) {
    Json s = experts_on(1, 4, "nvlink4_switch", {{"attention_data", 4}, {"expert", 4}});
    s["serving"]["replicas"][0]["communication"] = communication;
    return placed_rank(s).multiprocessors_left;
  };
  CHECK(left("deepep") == Approx(112. / 132));  // of an H100
  CHECK(left("nvlink_all_to_all") == 1);
  CHECK(left("all_gather") == 1);
}

TEST_CASE("placement: what two batches side by side cannot have is refused for them, at its key") {
  const auto refused = [](const Json& keys) {
    Json s = test::small_scenario();
    s["serving"]["replicas"][0].update(keys);
    s["serving"]["replicas"][0]["engine"]["two_batch_overlap"] = true;
    return placing_problems(s);
  };
  const char* where = "where engine.two_batch_overlap cuts batches in two";
  const std::vector<Problem> drafts =
      refused({{"speculative", {{"kind", "ngram"}, {"tokens", 2}, {"acceptance_length", 2}}}});
  REQUIRE(drafts.size() == 1);
  CHECK(drafts[0].pointer == "/serving/replicas/0/speculative");
  CHECK_THAT(drafts[0].what, Catch::Contains("cannot draft tokens") && Catch::Contains(where));
  const std::vector<Problem> halves = refused({{"batching", {{"kind", "sub_batch_interleaving"}}}});
  REQUIRE(halves.size() == 1);
  CHECK(halves[0].pointer == "/serving/replicas/0/batching");
  CHECK_THAT(halves[0].what, Catch::Contains("cannot split batches") && Catch::Contains(where));
}

TEST_CASE("placement: the front end's keys are read each into its own") {
  Json s = test::small_scenario();
  s["serving"]["replicas"][0]["engine"] = {{"front_end_ms", 4},
                                           {"front_end_us_per_token", 9},
                                           {"front_end_requests_per_s", 70},
                                           {"front_end_tokens_per_s", 3000},
                                           {"scheduled_ahead_steps", 2},
                                           {"scheduler_recv_interval", 5},
                                           {"prefill_schedule_interval", 6},
                                           {"small_kernels_us", 3}};
  const ReplicaSpec spec = read_plan(s, "test.json").replicas[0].spec;
  CHECK(spec.front_end.per_request.value() == Approx(4e-3));
  CHECK(spec.front_end.per_prompt_token.value() == Approx(9e-6));
  CHECK(spec.front_end.requests_per_s == 70.);
  CHECK(spec.front_end.tokens_per_s == 3000.);
  CHECK(spec.scheduled_ahead == 2);
  CHECK(spec.recv_interval == 5);
  CHECK(spec.prompt_interval == 6);
  CHECK(spec.engine.small_kernels.value() == Approx(3e-6));
}

TEST_CASE("scenario: what counts as good, and when a run ends and is sampled, each in its own unit") {
  Json s = test::small_scenario();
  s["slo"] = {{"ttft_ms", 400}, {"tpot_ms", 25}};
  s["simulated_time_limit_s"] = 70;
  s["timeseries_period_s"] = 3;
  s["actors"] = "groups";
  s["fast_forward"] = false;
  s["seed"] = 12;
  const Plan plan = read_plan(s, "test.json");
  CHECK(plan.scenario.slo.ttft->value() == Approx(0.4));
  CHECK(plan.scenario.slo.tpot->value() == Approx(0.025));
  CHECK(plan.scenario.time_limit->value() == 70);
  CHECK(plan.scenario.sample_period->value() == 3);
  CHECK_FALSE(plan.scenario.actor_a_device);
  CHECK_FALSE(plan.scenario.fast_forward);
  CHECK_FALSE(plan.scenario.collective_flows);
  CHECK(plan.replicas[0].seed == 12);
  CHECK(plan.replicas[0].spec.parallelism.experts.seed == 12);
}

TEST_CASE("scenario: roles come in both kinds or not at all") {
  const auto pointers = [](const std::vector<const char*>& roles) {
    Json s = experts_on(1, 8, "nvlink4_switch", Json::object());
    s["serving"]["replicas"] = Json::array();
    for (const char* role : roles) s["serving"]["replicas"].push_back({{"role", role}});
    std::vector<std::string> all;
    for (const Problem& problem : placing_problems(s)) all.push_back(problem.pointer);
    return all;
  };
  const std::string replicas = "/serving/replicas";
  CHECK(pointers({"prefill"}) == std::vector{replicas});
  CHECK(pointers({"decode", "decode"}) == std::vector{replicas});
  CHECK(pointers({"prefill", "decode"}).empty());
  CHECK(pointers({"prefill", "both", "decode"}) == std::vector{replicas + "/1/role"});
}
