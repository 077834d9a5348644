// Limits of a replica's memory, exactly at them: by hand, of llama3.1-8b on H100 unless it is said otherwise.
#include <catch2/catch.hpp>
#include <cmath>

#include "sim/core/errors.h"
#include "sim/plan/plan.h"
#include "sim/plan/servable.h"
#include "test/serving/run_in_child.h"

using namespace weir;

namespace {

constexpr double bytes_a_token = 131072;         // 2 x 32 layers x 8 KV heads x 128 x 2 bytes
constexpr double model_parameters = 8030261248;  // of the model
constexpr double layer_weights = 4096. * (4096 + 2 * 1024 + 4096 + 3 * 14336) + 2 * 4096;  // of its weights
constexpr double table_weights = 128256. * 4096;  // embedding, or LM head

Json limits_scenario(const Json& replica, int devices = 1, const char* model = "llama3.1-8b") {
  Json s = test::small_scenario();
  s["model"] = model;
  s["cluster"]["nodes"] = {
      {{"devices", {{{"kind", "h100_sxm"}, {"count", devices}}}}, {"interconnect", "nvlink4_switch"}}};
  s["serving"]["replicas"] = Json::array({replica});
  return s;
}

ReplicaPlan limits_plan(const Json& replica, int devices = 1, const char* model = "llama3.1-8b") {
  return read_plan(limits_scenario(replica, devices, model), "test.json").replicas[0];
}

std::string limit_refused(const Json& scenario, const std::string& pointer) {
  const std::vector<Problem> problems = test::problems_of_scenario(scenario);
  if (problems.size() != 1 || problems[0].pointer != pointer) return "";
  return problems[0].what;
}

const std::string first_replica = "/serving/replicas/0";

}  // namespace

TEST_CASE(
    "KV limits: a number of blocks may take all that weights leave, whatever the fraction, and no more") {
  const auto with = [](std::int64_t blocks) {
    return limits_scenario({{"kv_cache", {{"blocks", blocks}, {"memory_fraction", 0.5}}}});
  };
  const double memory = limits_plan(Json::object()).rank.on->spec().own().capacity.value();
  const auto most =
      static_cast<std::int64_t>(std::floor((memory - 2 * model_parameters) / (16 * bytes_a_token)));
  CHECK(read_plan(with(most), "test.json").replicas[0].kv_blocks == most);
  CHECK_THAT(limit_refused(with(most + 1), first_replica + "/kv_cache/blocks"),
             Catch::Contains(std::to_string(most + 1) + " KV blocks of 2.00 MiB do not fit: stage 0") &&
                 Catch::EndsWith("leaves room for " + std::to_string(most)));
}

// Seven layers and no table leave less than six layers and one: stages of 6, 6, 7, 7 and 6.
TEST_CASE("KV limits: the memory that is told is that of the stage with the least room") {
  const RankMemory middle =
      limits_plan({{"parallelism", {{"pipeline", 5}}}, {"kv_cache", {{"free_memory_fraction", 0.9}}}}, 5)
          .memory;
  CHECK(middle.weights.value() == Approx(2 * 7 * layer_weights));
  CHECK(middle.kv_per_token.value() == Approx(bytes_a_token * 7 / 32));
  const RankMemory last =
      limits_plan({{"parallelism", {{"pipeline", 3}, {"tensor", 2}}}, {"kv_cache", {{"blocks", 50}}}}, 6)
          .memory;
  // Stages of 11, 11 and 10 layers, halved: the first has a table too. Both ranks have all of the norms.
  CHECK(last.weights.value() == Approx(11 * layer_weights + 11 * 2 * 4096 + table_weights));
  CHECK(last.kv_per_token.value() == Approx(bytes_a_token * 11 / 32 / 2));
}

TEST_CASE("KV limits: requests at once are those of the longest that is allowed, or that the model knows") {
  const RankMemory limited = limits_plan({{"kv_cache", {{"blocks", 100}}}, {"max_model_len", 400}}).memory;
  CHECK(limited.kv_tokens == 1600);
  CHECK(limited.longest == 400);
  CHECK(*limited.max_concurrency() == 4);
  CHECK(limited.kv_cache().value() == Approx(1600 * bytes_a_token));
  const RankMemory any = limits_plan({{"kv_cache", {{"blocks", 100}, {"block_tokens", 32}}}}).memory;
  CHECK(any.kv_tokens == 3200);
  CHECK(any.longest == 131072);
}

// The last token that is drawn is never written: 352 tokens in 22 blocks serve 353. Drafts of the last step
// are written as well.
TEST_CASE("KV limits: the longest request that is allowed must fit alone, to the token") {
  const auto with = [](int longest, const Json& more = Json::object()) {
    Json replica = {{"kv_cache", {{"blocks", 22}}}, {"max_model_len", longest}};
    replica.update(more);
    return limits_scenario(replica);
  };
  CHECK(test::problems_of_scenario(with(353)).empty());
  CHECK_THAT(limit_refused(with(354), first_replica + "/max_model_len"),
             Catch::StartsWith("a request of 354 tokens could not run even alone: the longest that 22 KV "
                               "blocks of 16 tokens and the batching serve is 353"));
  const Json drafts = {{"speculative", {{"kind", "ngram"}, {"tokens", 3}, {"acceptance_length", 2}}}};
  CHECK(test::problems_of_scenario(with(350, drafts)).empty());
  CHECK_THAT(limit_refused(with(351, drafts), first_replica + "/max_model_len"),
             Catch::EndsWith("serve is 350"));
}

TEST_CASE("KV limits: drafts' keys and values lie in the last stage, and are cut as the model's") {
  const auto bytes = [](int tensor, int pipeline, int stage) {
    const Json replica = {{"parallelism", {{"tensor", tensor}, {"pipeline", pipeline}}},
                          {"speculative", {{"kind", "eagle"}, {"tokens", 3}, {"acceptance_length", 2}}}};
    const Plan plan = read_plan(limits_scenario(replica, tensor * pipeline), "test.json");
    return kv_bytes_per_token(plan.scenario, plan.replicas[0].spec, stage).value();
  };
  // 4,096 bytes a layer; EAGLE has one more.
  CHECK(bytes(1, 2, 0) == 16 * 4096);
  CHECK(bytes(1, 2, 1) == 17 * 4096);
  CHECK(bytes(2, 2, 0) == 16 * 2048);
  CHECK(bytes(2, 2, 1) == 17 * 2048);
}

TEST_CASE("KV limits: a step has room for a token and all drafts of each request, exactly") {
  const auto with = [](int tokens) {
    return limits_scenario({{"speculative", {{"kind", "ngram"}, {"tokens", 3}, {"acceptance_length", 2}}},
                            {"batching", {{"max_batch_requests", 100}, {"max_batch_tokens", tokens}}}});
  };
  CHECK(test::problems_of_scenario(with(400)).empty());
  CHECK_THAT(limit_refused(with(399), first_replica + "/batching/max_batch_tokens"),
             Catch::Contains("at least 400, a token and 3 drafts") && Catch::EndsWith("(got 399)"));
}

TEST_CASE(
    "KV limits: requests at once by default go by a device of 70 GiB, and by the least that may be had") {
  const auto requests = [](const Json& devices, const Json& more = Json::object()) {
    Json replica = {{"batching", {{"kind", "chunked_prefill"}, {"max_batch_tokens", 8192}}}};
    replica.update(more);
    Json s = limits_scenario(replica);
    s["cluster"]["nodes"] = Json::array();
    for (const Json& device : devices) s["cluster"]["nodes"].push_back({{"devices", Json::array({device})}});
    return read_plan(s, "test.json").replicas[0].spec.batching->max_batch_requests();
  };
  const auto h100 = [](double gib) {
    return Json{{"kind", "h100_sxm"}, {"memory_capacity_gib", gib}, {"usable_memory_gib", gib}};
  };
  CHECK(requests(Json::array({h100(70)})) == 1024);
  CHECK(requests(Json::array({h100(69.99)})) == 256);
  const Json l40s = {{"kind", "l40s"}};
  CHECK(requests({h100(75), l40s}) == 256);
  CHECK(requests({h100(75), l40s}, {{"device", "h100_sxm"}}) == 1024);
  CHECK(requests({l40s, h100(75)}, {{"device", "h100_sxm"}}) == 1024);
  const Json drafts = {{"speculative", {{"kind", "ngram"}, {"tokens", 3}, {"acceptance_length", 2}}}};
  CHECK(requests(Json::array({h100(75)}), drafts) == 256);
}

// Logits of drafts' rows: 2 and 4 bytes a number of the vocabulary each.
TEST_CASE("KV limits: the reserve has the drafts' logits and the CUDA graphs' memory") {
  const Json batching = {
      {"kind", "chunked_prefill"}, {"max_batch_tokens", 2048}, {"max_batch_requests", 256}};
  const double libraries = 0.07 * 1073741824;
  const Json engine = {{"sampler", "fused"}, {"cuda_graph_memory_gib", 0.75}};
  const RankMemory memory =
      limits_plan({{"batching", batching},
                   {"engine", engine},
                   {"speculative", {{"kind", "ngram"}, {"tokens", 3}, {"acceptance_length", 2}}}})
          .memory;
  CHECK(memory.activations.value() ==
        Approx(2. * 2048 * 4096 + 256 * 128256. * (18 + 3 * 6) + libraries + 0.75 * 1073741824));
}

// opt-13b (hidden 5,120, MLP 20,480) has no gate: up and its activation. mixtral-8x7b (hidden 4,096) has two
// of eight experts of width 14,336 a token, halved by two ranks, and no shared one.
TEST_CASE("KV limits: the widest layer without a gate, and of experts that ranks cut") {
  const Json batching = {{"kind", "chunked_prefill"}, {"max_batch_tokens", 4096}, {"max_batch_requests", 8}};
  const auto reserve = [&](const char* model, const Json& precision) {
    Json s = limits_scenario({{"parallelism", {{"tensor", 2}}}, {"batching", batching}}, 2, model);
    s["precision"] = precision;
    return read_plan(s, "test.json").replicas[0].memory.activations.value();
  };
  const double beside = 0.07 * 1073741824 + find_interconnect("nvlink4_switch").buffers.value();
  const Json fp16 = {{"weights", "fp16"}, {"activations", "fp16"}, {"kv_cache", "fp16"}};
  CHECK(reserve("opt-13b", fp16) == Approx(2. * 4096 * (2 * 20480 / 2 + 2 * 5120) + beside));
  CHECK(reserve("mixtral-8x7b", Json::object()) ==
        Approx(2. * 4096 * (2 * (14336 + 7168) + (1 + 2) * 4096) + beside));
  // 8,192 rows and 127 more of each of eight experts: 9,208, rounded up to 9,216.
  CHECK(reserve("mixtral-8x7b", {{"weights", "fp8_block"}, {"activations", "fp8_block"}}) ==
        Approx(2. * (9216 * (14336 + 7168) + 4096 * 4096 / 2. + 4096 * 3 * 4096.) + beside));
}

// Ten blocks have 160 tokens. A prompt of 150 and its first token fit; its hundredth one does not.
TEST_CASE(
    "KV limits: a request is served if its prompt has room where prompts are, and all of it where it ends") {
  const auto plan = [](int output, int decode_blocks) {
    Json s = limits_scenario(Json::object(), 2);
    s["serving"]["replicas"] = {{{"role", "prefill"}, {"kv_cache", {{"blocks", 10}}}},
                                {{"role", "decode"}, {"kv_cache", {{"blocks", decode_blocks}}}}};
    s["workload"] = {
        {"requests", {{"kind", "fixed"}, {"count", 3}, {"input_tokens", 150}, {"output_tokens", output}}},
        {"arrivals", {{"kind", "all_at_once"}}}};
    return read_plan(s, "test.json");
  };
  CHECK(can_serve(plan(100, 10).replicas[0], {Seconds(0), 150, 100}));
  CHECK_FALSE(can_serve(plan(100, 10).replicas[1], {Seconds(0), 150, 100}));
  CHECK(can_serve(plan(100, 10).replicas[1], {Seconds(0), 150, 11}));
  CHECK_FALSE(can_serve(plan(100, 10).replicas[1], {Seconds(0), 150, 12}));
  CHECK_FALSE(why_none_is_served(plan(100, 16)));
  CHECK_FALSE(why_none_is_served(plan(1, 4)));  // which ends with its prompt
  CHECK_THAT(why_none_is_served(plan(100, 12)).value(),
             Catch::StartsWith("no request can ever be served: the shortest of the 3 has 250 tokens, and a "
                               "replica takes one of 192 at the most"));
}
