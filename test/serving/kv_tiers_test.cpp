// Memories behind the KV cache: what a load takes, who waits for it, and what keeps a scenario from having
// them.
#include <catch2/catch.hpp>

#include <algorithm>

#include "sim/serving/kv/tiers/kv_tier.h"
#include "test/serving/run_in_child.h"
#include "test/workloads/samples.h"

using namespace weir;
using test::Outcome;

namespace {

constexpr double kv_of_a_token = 131072;  // llama3.1-8b in bf16: 2 x 32 layers x 8 KV heads x 128 x 2 bytes

Json a_tier(const std::string& kind, double gb, double gb_per_s) {
  return {{"kind", kind}, {"capacity_gb", gb}, {"read_gb_per_s", gb_per_s}, {"write_gb_per_s", gb_per_s}};
}

// Two turns of one session, the second of which goes to another replica: it finds what a shared tier has.
Json two_turns(const TemporaryFile& file, const Json& tiers) {
  Json s = test::small_scenario();
  s["serving"] = {{"replicas", {{{"count", 2}, {"engine", {{"kind", "ideal"}}}}}},
                  {"routing", {{"kind", "round_robin"}}}};
  s["serving"]["replicas"][0]["kv_cache"]["tiers"] = tiers;
  s["workload"] = {{"requests", {{"kind", "sessions"}, {"file", file.name()}}},
                   {"arrivals", {{"kind", "trace"}}}};
  return s;
}

const char* const turns =
    "session_id,turn,start_s,gap_s,input_tokens,output_tokens\n"
    "a,0,0,0,4096,10\n"
    "a,1,,2,6000,10\n";

// Agents of many turns, on caches that hold a part of what they say.
Json agents(unsigned seed, const Json& tiers) {
  Json s = test::small_scenario();
  s["seed"] = seed;
  s["serving"]["replicas"][0] = {{"count", 2}, {"kv_cache", {{"blocks", 1200}, {"tiers", tiers}}}};
  s["workload"]["requests"] = {{"kind", "generated_sessions"},
                               {"count", 25},
                               {"system_tokens", 700},
                               {"turns", {{"kind", "uniform"}, {"min", 2}, {"max", 8}}},
                               {"first_input", {{"kind", "uniform"}, {"min", 50}, {"max", 900}}},
                               {"new_input", {{"kind", "uniform"}, {"min", 50}, {"max", 900}}},
                               {"output", {{"kind", "uniform"}, {"min", 5}, {"max", 200}}},
                               {"gap_ms", {{"kind", "uniform"}, {"min", 10}, {"max", 900}}}};
  s["workload"]["arrivals"] = {{"kind", "poisson"}, {"rate_per_s", 5}};
  return s;
}

double ttft_of(const RequestRecord& record) {
  return (record.first_token - record.request.arrival).value();
}

}  // namespace

TEST_CASE("KV tiers: a load takes its bytes over the bandwidth, behind the latency") {
  const TemporaryFile file(turns);
  const auto second = [&](double gb_per_s, double latency_us, const char* loads) {
    Json tier = a_tier("shared", 100, gb_per_s);
    tier["latency_us"] = latency_us;
    tier["loads"] = loads;
    const Outcome o = test::run(two_turns(file, Json::array({tier})));
    REQUIRE(o.error == "");
    CHECK(o.loaded == 4096);  // 16 chunks of the first prompt; answers are not stored
    return ttft_of(o.requests[1]);
  };
  for (const char* loads : {"stall", "overlapped"}) {
    const double bytes = 4096 * kv_of_a_token, fast = second(20, 0, loads);
    CHECK(second(10, 0, loads) - fast == Approx(bytes / 10e9 - bytes / 20e9).epsilon(1e-3));
    CHECK(second(20, 5000, loads) - fast == Approx(5e-3).epsilon(1e-3));
  }
  Json none = two_turns(file, Json::array());
  CHECK(test::run(none).loaded == 0);
}

TEST_CASE(
    "KV tiers: however a replica is laid out, a request's keys and values cross the links of its own ranks") {
  const TemporaryFile file(turns);
  const auto run = [&](const char* model, const Json& parallelism) {
    Json s = two_turns(file, Json::array({a_tier("shared", 100, 20)}));
    s["model"] = model;
    s["cluster"]["nodes"][0]["devices"][0]["kind"] = "h200_sxm";
    s["precision"] = {{"weights", "int4"}};
    s["serving"]["replicas"][0]["parallelism"] = parallelism;
    return test::run(s);
  };
  const Json layouts = {{{"tensor", 4}},
                        {{"pipeline", 2}, {"tensor", 2}},
                        {{"attention_data", 4}, {"expert", 4}},
                        {{"attention_data", 2}, {"tensor", 2}, {"expert", 4}},
                        {{"pipeline", 2}, {"attention_data", 2}, {"expert", 2}}};
  for (const Json& layout : layouts) {
    INFO(layout);
    const double token = 98304;  // qwen3-30b-a3b: 2 x 48 layers x 4 KV heads x 128 x 2 bytes
    const Outcome o = run("qwen3-30b-a3b", layout);
    REQUIRE(o.error == "");
    CHECK(o.loaded == 4096);
    CHECK(o.from_host == Approx(4096 * token));
    CHECK(o.to_host == Approx(5888 * token));  // whole chunks of 256 of both prompts' 6,000 tokens
  }
  // Every tensor rank of a stage has all latents: 61 layers of 576 elements in bf16.
  const Outcome latents = run("deepseek-r1", {{"attention_data", 2}, {"tensor", 2}, {"expert", 4}});
  REQUIRE(latents.error == "");
  CHECK(latents.from_host == Approx(4096 * 2 * 61 * 576 * 2.));
}

TEST_CASE("KV tiers: a request that comes before the prompt is stored finds nothing, and one after it all") {
  const double bytes = 4096 * kv_of_a_token, gb_per_s = 0.5, stores = bytes / (gb_per_s * 1e9);
  for (const auto& [gap, loaded] : {std::pair{stores - 0.1, 0}, std::pair{stores + 0.1, 4096}}) {
    std::string text = turns;
    const TemporaryFile file(text.replace(text.find(",,2,"), 4, fmt::format(",,{},", gap)));
    CHECK(test::run(two_turns(file, Json::array({a_tier("shared", 100, gb_per_s)}))).loaded == loaded);
  }
}

TEST_CASE("KV tiers: with a threshold a chunk is stored when as many prompts have begun with it") {
  // Others begin as `a` does; the whole cache is taken between them, so that they find it in the tier alone.
  const TemporaryFile file(
      "session_id,start_s,input_tokens,output_tokens,shares_with,shared_tokens\n"
      "a,0,2048,10,,\n"
      "b,2,3072,10,a:0,1024\n"
      "taker,4,4112,10,,\n"
      "c,6,3072,10,a:0,1024\n"
      "another,8,4112,10,,\n"
      "d,10,3072,10,a:0,2048\n");
  const auto loaded = [&](std::int64_t threshold) {
    Json tier = a_tier("host", 100, 20);
    tier["write_through_threshold"] = threshold;
    Json s = two_turns(file, Json::array({tier}));
    s["serving"]["replicas"][0]["count"] = 1;
    s["serving"]["replicas"][0]["kv_cache"]["blocks"] = 258;
    const Outcome o = test::run(s);
    REQUIRE(o.error == "");
    return o.loaded;
  };
  CHECK(loaded(1) == 1024 + 2048);  // by c and d
  CHECK(loaded(2) == 1024 + 1024);  // a's own rest was seen once
  CHECK(loaded(3) == 1024);         // by d, as c was the third
  CHECK(loaded(4) == 0);
}

TEST_CASE("KV tiers: others' steps go on beside a load that overlaps, and wait for one that stalls") {
  // The first turn's 6,720 tokens of KV cache go for a long prompt before the second one comes.
  const TemporaryFile file(std::string(turns) + "b,0,0.1,0,100,400\nc,0,1,0,6000,1\n");
  const auto run = [&](const char* loads) {
    Json tier = a_tier("host", 100, 0.2);
    tier["write_gb_per_s"] = 100;
    tier["loads"] = loads;
    Json s = two_turns(file, Json::array({tier}));
    s["serving"]["replicas"][0]["count"] = 1;
    s["serving"]["replicas"][0]["kv_cache"]["blocks"] = 420;
    const Outcome o = test::run(s);
    REQUIRE(o.error == "");
    CHECK(o.loaded > 3000);
    const auto beside =
        std::ranges::find(o.requests, 400, [](const auto& r) { return r.request.output_tokens; });
    return std::pair(beside->finished.value(), o.loaded * kv_of_a_token / 0.2e9);
  };
  const auto [stalled, load] = run("stall");
  const double overlapped = run("overlapped").first;
  CHECK(stalled - overlapped == Approx(load).epsilon(0.05));
}

TEST_CASE("KV tiers: a run in many steps is the run in one step after another") {
  for (unsigned seed = 1; seed < 7; ++seed) {
    INFO("seed " << seed);
    Json near = a_tier("host", seed % 2 ? 3 : 20, 25), far = a_tier(seed % 3 ? "disk" : "shared", 60, 4);
    near["loads"] = far["loads"] = seed % 2 ? "overlapped" : "stall";
    near["stores"] = seed % 3 ? "prompt" : "all";
    Json scenario = agents(seed, {near, far});
    const Outcome fast = test::run(scenario);
    scenario["fast_forward"] = false;
    const Outcome slow = test::run(scenario);
    REQUIRE(fast.error.empty());
    CHECK(fast.loaded > 0);
    CHECK(fast.loaded == slow.loaded);
    CHECK(fast.end == Approx(slow.end).epsilon(1e-9));
    for (std::size_t i = 0; i < fast.requests.size(); ++i) {
      REQUIRE(fast.requests[i].status == RequestStatus::completed);
      CHECK(fast.requests[i].finished.value() == Approx(slow.requests[i].finished.value()).epsilon(1e-9));
    }
  }
}

TEST_CASE("KV tiers: prompts computed apart, found on both sides, run alike in one step after another") {
  for (unsigned seed = 1; seed < 7; ++seed) {
    INFO("seed " << seed);
    const Json host = Json::array({a_tier("host", 20, 25)});
    Json scenario = agents(seed, seed % 2 ? host : Json::array());
    Json prompts = scenario["serving"]["replicas"][0], decodes = prompts;
    prompts["role"] = "prefill";
    prompts["kv_cache"]["handover"] = seed % 2 ? "whole" : "layerwise";
    decodes["role"] = "decode";
    decodes["kv_cache"].erase("tiers");
    decodes["kv_cache"]["prefix_index"] = seed % 3 ? "blocks" : "radix_tree";
    decodes["kv_cache"]["blocks"] = seed < 4 ? 1200 : 600;
    scenario["serving"]["replicas"] = {prompts, decodes};
    const Outcome fast = test::run(scenario);
    scenario["fast_forward"] = false;
    const Outcome slow = test::run(scenario);
    REQUIRE(fast.error == "");
    CHECK(fast.sent == Approx(slow.sent).epsilon(1e-9));
    CHECK(fast.end == Approx(slow.end).epsilon(1e-9));
    double prompt_bytes = 0;
    for (const RequestRecord& r : fast.requests) {
      REQUIRE(r.status == RequestStatus::completed);
      if (r.request.output_tokens > 1)
        prompt_bytes += static_cast<double>(r.request.input_tokens) * kv_of_a_token;
    }
    CHECK(fast.sent < prompt_bytes);
    CHECK(fast.sent > 0);
  }
}

TEST_CASE("KV tiers: a static batch takes each prompt once, whoever of it is being loaded") {
  Json scenario = agents(3, Json::array({a_tier("host", 20, 2)}));
  scenario["serving"]["replicas"][0]["batching"] = {{"kind", "static"}, {"max_batch_requests", 8}};
  const Outcome o = test::run(scenario);
  CHECK(o.error == "");
  CHECK(o.loaded > 0);
  for (const RequestRecord& r : o.requests) CHECK(r.status == RequestStatus::completed);
}

TEST_CASE("KV tiers: a time limit ends a run whose stores and loads are under way") {
  Json scenario = agents(5, Json::array({a_tier("disk", 60, 0.05)}));
  scenario["simulated_time_limit_s"] = 2;
  for (const bool fast : {true, false}) {
    scenario["fast_forward"] = fast;
    const Outcome o = test::run(scenario);
    REQUIRE(o.error == "");
    for (const RequestRecord& r : o.requests) {
      CHECK(r.finished <= Seconds(2));
      CHECK(r.first_token <= Seconds(2));
    }
  }
}

TEST_CASE("KV tiers: more than there is room for leaves as many of the first chunks") {
  KvTier tier(5);
  const std::vector<TextBlocks> text{{7, 0, 9}};
  tier.use(text, 0, 9);
  CHECK(tier.used() == 5);
  CHECK(tier.find(text, 0) == 5);
  CHECK(tier.find(text, 5) == 0);
}

TEST_CASE("KV tiers: what cannot be is refused, all at once") {
  Json s = test::small_scenario();
  s["serving"]["replicas"][0]["kv_cache"] = {{"block_tokens", 32},
                                             {"prefix_caching", "own"},
                                             {"tiers",
                                              {{{"kind", "host"}, {"capacity_gb", 10}, {"chunk_tokens", 48}},
                                               {{"kind", "disk"}, {"capacity_gb", 10}, {"loads", "stall"}}}}};
  const std::vector<Problem> problems = test::problems_of_scenario(s);
  std::vector<std::string> at;
  for (const Problem& p : problems) at.push_back(p.pointer);
  const std::string tiers = "/serving/replicas/0/kv_cache/tiers";
  for (const std::string& expected : {tiers, tiers + "/0/chunk_tokens", tiers + "/1/read_gb_per_s",
                                      tiers + "/1/write_gb_per_s", tiers + "/1/loads"})
    CHECK(std::ranges::count(at, expected) == 1);

  s["serving"]["replicas"][0]["kv_cache"] = {{"handover", "layerwise"},
                                             {"tiers", Json::array({a_tier("host", 10, 10)})}};
  REQUIRE(test::problems_of_scenario(s).size() == 1);
  CHECK(test::problems_of_scenario(s)[0].pointer == "/serving/replicas/0/kv_cache/handover");

  s["serving"]["replicas"][0]["kv_cache"] = {{"tiers", {{{"kind", "host"}, {"capacity_gb", 0.03}}}}};
  const std::vector<Problem> small = test::problems_of_scenario(s);
  REQUIRE(small.size() == 1);  // a chunk is 256 x 131,072 bytes
  CHECK(small[0].pointer == tiers + "/0/capacity_gb");
  s["serving"]["replicas"][0]["kv_cache"]["tiers"][0]["capacity_gb"] = 0.034;
  CHECK(test::problems_of_scenario(s).empty());
}
