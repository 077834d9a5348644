// GPUs whose decodes are attended to in their host's memory, simulated whole: the laws, and that steps taken
// together take what they take one by one.
#include <catch2/catch.hpp>

#include "sim/step/step_model.h"
#include "test/serving/random_scenario.h"

using namespace weir;
using test::Outcome;

namespace {

using Random = std::mt19937;

template <class T>
T pick(Random& random, std::initializer_list<T> from) {
  return *(from.begin() + std::uniform_int_distribution<std::size_t>(0, from.size() - 1)(random));
}

Json random_batching(Random& random) {
  const std::string kind =
      pick<std::string>(random, {"adaptive_chunk_interleaving", "adaptive_chunk_interleaving",
                                 "sub_batch_interleaving", "prefill_first", "chunked_prefill"});
  Json batching = {{"kind", kind}, {"max_batch_requests", pick(random, {8, 24, 64})}};
  if (kind == "adaptive_chunk_interleaving") batching["min_prompt_tokens"] = pick(random, {1, 16, 512});
  if (kind == "sub_batch_interleaving") {
    batching["interleave"] = pick<std::string>(random, {"on", "off", "best"});
    batching["prompts"] = pick<std::string>(random, {"beside", "first"});
  }
  return batching;
}

// Prompts short, outputs long, as of reasoning models; scaled down. Blocks a rankset, few or many.
Json random_l3_scenario(unsigned seed) {
  Random random(seed);
  Json s = test::small_scenario();
  s["seed"] = seed;
  s["model"] = "gpt3-7b";  // 32 layers
  s["precision"] = {{"weights", "fp16"}, {"activations", "fp16"}, {"kv_cache", "fp16"}};
  s["assumptions"] = pick<std::string>(random, {"physical", "ideal"});
  const int ranksets = pick(random, {1, 2, 3, 4, 5});
  const std::string memory =
      pick<std::string>(random, {"dimm_pim", "dimm_pim", "dimm_pim_rank", "host_dimm"});
  Json dimm = {{"kind", memory}};
  if (memory != "host_dimm") dimm["ranks"] = ranksets * pick(random, {1, 2}), dimm["ranksets"] = ranksets;
  s["cluster"]["nodes"] = {
      {{"devices", {{{"kind", "a100_sxm_80gb"}, {"count", 2}}, dimm}}, {"interconnect", "nvlink3_switch"}}};
  const std::string placement =
      pick<std::string>(random, {"layer_wise", "layer_wise", "random", "round_robin"});
  const int blocks = pick(random, {150, 150, 2000}) * (memory == "host_dimm" ? 1 : ranksets);
  s["serving"]["replicas"] = {{{"parallelism", {{"tensor", pick(random, {1, 2})}}},
                               {"kv_cache",
                                {{"blocks", blocks},
                                 {"admission", pick<std::string>(random, {"chunk", "prompt", "sequence"})},
                                 {"prefix_caching", pick(random, {true, false})}}},
                               {"partitioning",
                                {{"kind", "gpu_pim"},
                                 {"concurrent_transfers", pick(random, {true, true, false})},
                                 {"asynchronous_store", pick(random, {true, true, false})}}},
                               {"placement", {{"kind", placement}}},
                               {"engine", {{"kind", "ideal"}}},
                               {"batching", random_batching(random)}}};
  if (placement == "layer_wise")
    s["serving"]["replicas"][0]["placement"]["start"] =
        pick<std::string>(random, {"in_turn", "least_loaded"});
  s["workload"] = {{"requests",
                    {{"kind", "lognormal"},
                     {"count", 40},
                     {"input", {{"mean", 90}, {"std", 75}, {"max", 600}}},
                     {"output", {{"mean", 300}, {"std", 250}, {"max", 1500}}}}},
                   {"arrivals", pick<Json>(random, {Json{{"kind", "all_at_once"}},
                                                    Json{{"kind", "poisson"}, {"rate_per_s", 20}}})}};
  return s;
}

}  // namespace

TEST_CASE("ranksets: requests, tokens and blocks are conserved, whatever the placement and batching",
          "[engine]") {
  double preemptions = 0;
  int completed = 0;
  for (unsigned seed = 0; seed < 30; ++seed) {
    const Json scenario = random_l3_scenario(seed);
    const Outcome outcome = test::run(scenario);
    test::check_laws(scenario, outcome);
    preemptions += outcome.preemptions;
    for (const RequestRecord& r : outcome.requests) completed += r.status == RequestStatus::completed;
  }
  CHECK(preemptions > 10);
  CHECK(completed > 900);
}

TEST_CASE("ranksets: fast-forward gives every request the times of stepping one by one", "[engine]") {
  for (unsigned seed = 100; seed < 125; ++seed) {
    Json scenario = random_l3_scenario(seed);
    const Outcome fast = test::run(scenario);
    scenario["fast_forward"] = false;
    INFO(scenario.dump());
    test::check_same(fast, test::run(scenario));
  }
}

TEST_CASE("ranksets: the same scenario and seed give the same bits", "[engine]") {
  for (unsigned seed = 200; seed < 203; ++seed) test::check_same_bits(random_l3_scenario(seed));
}

TEST_CASE("ranksets: one request alone takes the closed form's time for every token", "[engine]") {
  Json json = random_l3_scenario(0);
  json["assumptions"] = "ideal";
  json["cluster"]["nodes"][0]["devices"] = {{{"kind", "a100_sxm_80gb"}, {"count", 2}},
                                            {{"kind", "dimm_pim"}}};
  Json& loads = json["cluster"]["nodes"][0]["devices"][1]["rankset_loads"];
  Json& replica = json["serving"]["replicas"][0];
  replica["parallelism"]["tensor"] = 1;
  replica["kv_cache"] = {{"free_memory_fraction", 1.0}};
  replica["partitioning"] = {{"kind", "gpu_pim"}};
  replica["batching"] = {{"kind", "prefill_first"}};
  json["workload"] = {
      {"requests", {{"kind", "fixed"}, {"count", 1}, {"input_tokens", 100}, {"output_tokens", 101}}},
      {"arrivals", {{"kind", "all_at_once"}}}};
  for (const auto& [placement, load, share] :
       {std::tuple{"layer_wise", "placed", 1.},
        {"random", "placed", 1.},
        {"round_robin", "even", 1.},
        {"layer_wise", "even", 1. / 4}}) {  // an assumption: every layer in all four ranksets
    replica["placement"] = {{"kind", placement}};
    loads = load;
    const Outcome outcome = test::run(json);
    REQUIRE(outcome.error == "");
    const RequestRecord& request = outcome.requests[0];
    // Of 32 layers of 4096: weights over HBM, K and V over one rankset's banks in 8 channels (4096 bytes of
    // 16 banks x 64 a 5 ns), Q, K and V there and results back over PCIe, and in and out of the channels.
    const double context = 100 * 101 + 100. * 99 / 2;  // 101 .. 200
    const double kv = 32 * 2. * 4096 * 2, banks = 8 * 16 * 64 / 5e-9;
    const double attention = kv * context / banks;
    const double moved = 100 * 32 * 4. * 4096 * 2;
    const double least = moved / 32e9 + share * (attention + moved / (8 * 25.6e9));
    const double weights = 100 * 2. * (32 * 12 * 4096. * 4096 + 50257. * 4096) / 2039e9;
    const double took = (request.finished - request.first_token).value();
    INFO(placement << " " << load);
    CHECK(took > least + weights);
    CHECK(took < 1.05 * (least + weights));
  }
}

TEST_CASE("ranksets: learned times give a run of the same laws or are refused in words", "[engine]") {
  Json json = random_l3_scenario(1);
  json["serving"]["replicas"][0]["batching"] = {{"kind", "adaptive_chunk_interleaving"},
                                                {"predictor", "learned"}};
  const Outcome outcome = test::run(json);
  test::check_laws(json, outcome);
}

TEST_CASE("ranksets: the same laws hold where requests may stay in the GPU's own memory", "[engine]") {
  for (unsigned seed = 300; seed < 312; ++seed) {
    Json scenario = random_l3_scenario(seed);
    Json& replica = scenario["serving"]["replicas"][0];
    replica["partitioning"]["spare_memory"] = true;
    if (seed >= 306) replica["batching"] = {{"kind", "asymmetric_pipelining"}, {"max_batch_requests", 24}};
    if (seed >= 306) replica["placement"] = {{"kind", "layer_wise"}};
    const Outcome fast = test::run(scenario);
    test::check_laws(scenario, fast);
    scenario["fast_forward"] = false;
    test::check_same(fast, test::run(scenario));
  }
}
