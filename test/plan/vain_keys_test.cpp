// Further notes on what a scenario asks for in vain, where a count or a degree decides; and tiers that go
// together.
#include <catch2/catch.hpp>

#include "sim/core/errors.h"
#include "sim/plan/plan.h"
#include "test/serving/run_in_child.h"

using namespace weir;

namespace {

Json vain_scenario(const Json& replica, const char* model = "qwen3-30b-a3b") {
  Json s = test::small_scenario();
  s["model"] = model;
  s["cluster"]["nodes"] = {
      {{"devices", {{{"kind", "h100_sxm"}, {"count", 4}}}}, {"interconnect", "nvlink4_switch"}}};
  s["serving"]["replicas"] = Json::array({replica});
  return s;
}

// How many of its notes have these words.
int vain_notes(const Json& scenario, const std::string& words) {
  const std::vector<std::string> notes = read_plan(scenario, "test.json").scenario.notes;
  return static_cast<int>(std::ranges::count_if(
      notes, [&](const std::string& note) { return note.find(words) != std::string::npos; }));
}

Json tier_of(const char* kind, const Json& more) {
  Json tier = {{"kind", kind}, {"capacity_gb", 100}, {"read_gb_per_s", 10}, {"write_gb_per_s", 5}};
  tier.update(more);
  return tier;
}

std::vector<std::string> tier_problems(const Json& tiers, int block_tokens = 16) {
  std::vector<std::string> pointers;
  for (const Problem& problem : test::problems_of_scenario(
           vain_scenario({{"kv_cache", {{"block_tokens", block_tokens}, {"tiers", tiers}}}}, "llama3.1-8b")))
    pointers.push_back(problem.pointer.substr(std::string("/serving/replicas/0/kv_cache/tiers/").size()));
  return pointers;
}

}  // namespace

TEST_CASE("notes: flows of an all-reduce and of an all-gather are told, each over its own ranks") {
  Json s = vain_scenario({{"parallelism", {{"tensor", 2}, {"attention_data", 2}, {"expert", 4}}},
                          {"engine", {{"kind", "vllm_v1"}}}});
  s["collectives"] = "flows";
  CHECK(vain_notes(s, "an all-reduce of 64 tokens over 2 ranks") == 1);
  CHECK(vain_notes(s, "an all-gather of 64 tokens over 4 ranks") == 1);
  s["serving"]["replicas"][0]["parallelism"] = {{"attention_data", 2}, {"expert", 2}};
  CHECK(vain_notes(s, "an all-reduce") == 0);
  CHECK(vain_notes(s, "an all-gather of 64 tokens over 2 ranks") == 1);
}

TEST_CASE("notes: how tokens fall on experts says nothing where no ranks hold different ones") {
  const auto told = [](const Json& parallelism, const char* model) {
    return vain_notes(
        vain_scenario({{"parallelism", parallelism}, {"experts", {{"distribution", "power_law"}}}}, model),
        "/experts/distribution: changes nothing");
  };
  CHECK(told({{"tensor", 2}}, "qwen3-30b-a3b") == 1);
  CHECK(told({{"tensor", 2}, {"expert", 2}}, "qwen3-30b-a3b") == 0);
  CHECK(told({{"tensor", 2}}, "llama3.1-8b") == 1);
}

TEST_CASE("notes: a way of handing over is of replicas that compute prompts alone") {
  const auto told = [](const char* role) {
    Json s = vain_scenario({{"role", role}, {"kv_cache", {{"handover", "layerwise"}}}}, "llama3.1-8b");
    if (role != std::string("both"))
      s["serving"]["replicas"].push_back({{"role", role == std::string("prefill") ? "decode" : "prefill"}});
    return vain_notes(s, "/serving/replicas/0/kv_cache/handover: is not used");
  };
  CHECK(told("both") == 1);
  CHECK(told("decode") == 1);
  CHECK(told("prefill") == 0);
}

// The model has 2,048 positions; the most generous replica rejects what is above 2,100 tokens.
TEST_CASE("notes: requests beyond the context are those above the model's and within some replica's limit") {
  Scenario s;
  s.model.positions = 2048;
  s.replicas.resize(2);
  s.replicas[0].max_model_len = 2100;
  s.replicas[1].max_model_len = 2060;
  for (const int input : {2000, 2001, 2052, 2053}) s.workload.requests.push_back({Seconds(0), input, 48});
  CHECK((beyond_context(s).requests == 2 && beyond_context(s).longest == 2100));
  s.replicas[0].max_model_len = 2049;
  CHECK((beyond_context(s).requests == 1 && beyond_context(s).longest == 2049));
  s.replicas[1].max_model_len.reset();
  CHECK((beyond_context(s).requests == 3 && beyond_context(s).longest == 2101));
  s.replicas[1].max_model_len = 2048;
  s.replicas[0].max_model_len = 2048;
  CHECK(beyond_context(s).requests == 0);
}

TEST_CASE("KV tiers: chunks and loads are the first one's, and what is away says how fast it is") {
  using Pointers = std::vector<std::string>;
  CHECK(tier_problems({tier_of("host", {{"chunk_tokens", 48}}), tier_of("disk", {{"chunk_tokens", 48}})})
            .empty());
  CHECK(tier_problems({tier_of("host", {{"chunk_tokens", 48}}), tier_of("disk", {{"chunk_tokens", 64}})}) ==
        Pointers{"1/chunk_tokens"});
  CHECK(tier_problems({tier_of("host", {{"loads", "stall"}}), tier_of("host", Json::object())}) ==
        Pointers{"1/loads"});
  CHECK(tier_problems(Json::array({tier_of("host", {{"chunk_tokens", 48}})}), 32) ==
        Pointers{"0/chunk_tokens"});
  CHECK(
      tier_problems(Json::array({tier_of("host", {{"read_gb_per_s", nullptr}, {"write_gb_per_s", nullptr}})}))
          .empty());
  for (const char* away : {"disk", "shared"}) {
    CHECK(tier_problems(Json::array({tier_of(away, {{"read_gb_per_s", nullptr}})})) ==
          Pointers{"0/read_gb_per_s"});
    CHECK(tier_problems(Json::array({tier_of(away, {{"write_gb_per_s", nullptr}})})) ==
          Pointers{"0/write_gb_per_s"});
  }
}

// phi3-medium has 14 billion parameters, 26 GiB, and ten KV heads, which four ranks cannot share: of four
// devices with 9 of 10 GiB each two ranks and two stages are left. Experts are 54 of the 57 GiB of
// qwen3-30b-a3b.
TEST_CASE("KV room: the smallest layout has few stages, and as many data-parallel ranks as were asked for") {
  const auto smallest = [](const char* model, const Json& parallelism, double gib) -> std::string {
    Json s = vain_scenario({{"parallelism", parallelism}}, model);
    Json& device = s["cluster"]["nodes"][0]["devices"][0];
    device["memory_capacity_gib"] = device["usable_memory_gib"] = gib;
    s["cluster"]["nodes"][0]["interconnect"] = "pcie5_x16";
    const std::vector<Problem> problems = test::problems_of_scenario(s);
    if (problems.size() != 1) return "";
    return problems[0].what.substr(problems[0].what.rfind("the smallest layout"));
  };
  CHECK(smallest("phi3-medium", {{"tensor", 1}}, 10) ==
        "the smallest layout that fits is tensor 2 x pipeline 2, 4 of them");
  CHECK(smallest("qwen3-30b-a3b", {{"attention_data", 2}, {"expert", 2}}, 20) ==
        "the smallest layout that fits is tensor 2 x attention_data 2, 4 of them");
}
