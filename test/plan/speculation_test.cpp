// Speculative decoding in a scenario: what is refused, where and in which words, and the room that it takes.
#include <algorithm>
#include <catch2/catch.hpp>

#include "models/llm/acceptance.h"
#include "sim/core/errors.h"
#include "sim/plan/plan.h"
#include "test/serving/random_scenario.h"

using namespace weir;

namespace {

const std::string at_speculative = "/serving/replicas/0/speculative";

Json drafting_scenario(const Json& speculative) {
  Json s = test::small_scenario();
  s["serving"]["replicas"][0]["speculative"] = speculative;
  return s;
}

void check_refused(const Json& scenario, const std::string& pointer, const std::string& words) {
  INFO(scenario["serving"].dump());
  const std::vector<Problem> problems = test::problems_of_scenario(scenario);
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].pointer == pointer);
  CHECK_THAT(problems[0].what, Catch::Contains(words));
}

std::int64_t blocks_with(const Json& speculative) {
  return read_plan(drafting_scenario(speculative), "test.json").replicas[0].kv_blocks;
}

bool noted(const Json& scenario, const std::string& words) {
  return std::ranges::any_of(read_plan(scenario, "test.json").scenario.notes,
                             [&](const std::string& note) { return note.find(words) != std::string::npos; });
}

}  // namespace

TEST_CASE("speculation: what cannot be accepted is refused at its place") {
  const Json mtp = {{"kind", "mtp"}, {"tokens", 3}};
  const auto with = [&](const Json& more) {
    Json all = mtp;
    all.update(more);
    return drafting_scenario(all);
  };
  check_refused(with({{"acceptance_length", 4.5}}), at_speculative + "/acceptance_length",
                "at most tokens + 1, 4 (got 4.5)");
  check_refused(with({{"acceptance_length", 0.5}}), at_speculative + "/acceptance_length", "got 0.5");
  check_refused(with({{"acceptance_rates", {0.9, 0.8}}}), at_speculative + "/acceptance_rates",
                "a rate a draft, 3 (got 2)");
  check_refused(with({{"acceptance_rates", {0.9, 0.8, 1.1}}}), at_speculative + "/acceptance_rates/2",
                "got 1.1");
  check_refused(with({{"preset", "glm5.2_mtp.yaml/thinking"}}), at_speculative + "/preset",
                "did you mean \"glm5.2_mtp.yaml/thinking_on\"?");
  check_refused(with({{"tokens", 9}, {"preset", "glm5.2_mtp.yaml/thinking_on"}}), at_speculative + "/tokens",
                "at most 8");
  check_refused(with({{"tokens", 0}, {"acceptance_length", 1}}), at_speculative + "/tokens", "got 0");
  check_refused(with(Json::object()), at_speculative, "exactly one of");
  check_refused(with({{"acceptance_length", 2}, {"preset", "glm5.2_mtp.yaml/thinking_on"}}), at_speculative,
                "exactly one of");
  check_refused(drafting_scenario({{"kind", "medusa"}, {"acceptance_length", 2}}), at_speculative + "/kind",
                "medusa");
  check_refused(drafting_scenario({{"kind", "draft"}, {"acceptance_length", 2}}), at_speculative + "/model",
                "required");
  check_refused(with({{"acceptance_length", 2}, {"model", "llama3.1-8b"}}), at_speculative + "/model",
                "unknown key");
}

TEST_CASE("speculation: who cannot widen a decode refuses it") {
  const Json two = {{"kind", "ngram"}, {"tokens", 3}, {"acceptance_length", 2}};
  Json narrow = drafting_scenario(two);
  narrow["serving"]["replicas"][0]["batching"] = {{"max_batch_requests", 256}, {"max_batch_tokens", 1000}};
  check_refused(narrow, "/serving/replicas/0/batching/max_batch_tokens", "at least 1024");
  Json halves = drafting_scenario(two);
  halves["serving"]["replicas"][0]["batching"] = {{"kind", "sub_batch_interleaving"}};
  check_refused(halves, "/serving/replicas/0/batching", "splits batches");
  Json npu = drafting_scenario(two);
  npu["model"] = "gpt3-7b";
  npu["precision"] = {{"weights", "fp16"}, {"activations", "fp16"}, {"kv_cache", "fp16"}};
  npu["cluster"]["nodes"][0]["devices"] = {{{"kind", "npu_only"}, {"count", 8}}};
  npu["serving"]["replicas"][0]["partitioning"] = {{"kind", "npu_units"}};
  check_refused(npu, at_speculative, "one row of a decode at a time");
  Json cut = drafting_scenario({{"kind", "draft"}, {"acceptance_length", 2}, {"model", "phi3-medium"}});
  cut["serving"]["replicas"][0]["parallelism"] = {{"tensor", 4}};
  check_refused(cut, at_speculative + "/model", "heads");
  check_refused(drafting_scenario({{"kind", "draft"}, {"acceptance_length", 2}, {"model", "llama2-7b"}}),
                at_speculative + "/model", "the vocabulary of llama3.1-8b, 128256 tokens");
}

TEST_CASE("speculation: prefill and decode replicas draft alike, where the drafts have a KV cache") {
  const Json mtp = {{"kind", "mtp"}, {"acceptance_length", 2}};
  const Json ngram = {{"kind", "ngram"}, {"acceptance_length", 2}};
  const auto roles = [&](const Json& prefill, const Json& decode) {
    Json s = test::small_scenario();
    s["serving"]["replicas"] = {{{"role", "prefill"}, {"speculative", prefill}},
                                {{"role", "decode"}, {"speculative", decode}}};
    return s;
  };
  check_refused(roles(nullptr, mtp), "/serving/replicas/0/speculative", "in the same way");
  check_refused(roles(mtp, nullptr), "/serving/replicas/0/speculative", "in the same way");
  CHECK_NOTHROW(read_plan(roles(mtp, mtp), "test.json"));
  CHECK_NOTHROW(read_plan(roles(nullptr, ngram), "test.json"));
}

TEST_CASE("speculation: weights and KV cache of what drafts leave less room") {
  const auto drafting = [](const char* kind) { return Json{{"kind", kind}, {"acceptance_length", 2}}; };
  Json model = drafting("draft");
  model["model"] = {{"base", "llama3.1-8b"}, {"num_hidden_layers", 4}};
  const std::int64_t none = blocks_with(nullptr), lookup = blocks_with(drafting("ngram")),
                     layer = blocks_with(drafting("mtp"));
  CHECK(lookup <= none);
  CHECK(layer < lookup);
  CHECK(blocks_with(drafting("eagle")) == layer);
  CHECK(blocks_with(model) < layer);
}

TEST_CASE("speculation: a preset of another model is a note, one of this model is none") {
  const Json preset = {{"kind", "mtp"}, {"tokens", 3}, {"preset", "glm5.2_mtp.yaml/thinking_on"}};
  CHECK(noted(drafting_scenario(preset), "was measured on glm-5.2-fp8, not on llama3.1-8b"));
  const Json given = {{"kind", "mtp"}, {"tokens", 3}, {"acceptance_length", 2}};
  CHECK_FALSE(noted(drafting_scenario(given), "was measured on"));
  CHECK(read_plan(drafting_scenario(preset), "test.json").replicas[0].spec.speculative->acceptance.length() ==
        Approx(2.99));
}
