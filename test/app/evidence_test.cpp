#include "sim/app/evidence/evidence.h"

#include <catch2/catch.hpp>

#include "models/llm/architecture.h"

using namespace weir;

namespace {

// Of a measured server, as its row in sim/app/evidence/measured/cells.json has it.
Json scenario_of(const MeasuredCell& cell) {
  const std::string cache = cell.weights == "bf16" ? "bf16" : "fp8";
  const std::string weights = cell.weights.substr(0, cell.weights.find(' '));
  Json precision = {{"weights", weights}, {"activations", weights}, {"kv_cache", cache}};
  if (cell.weights.ends_with(" experts"))
    precision = {{"weights", "bf16"},
                 {"activations", "bf16"},
                 {"kv_cache", cache},
                 {"expert_weights", weights},
                 {"expert_activations", weights == "fp4" ? "fp4" : "bf16"}};
  return {{"model", cell.model},
          {"precision", precision},
          {"cluster",
           {{"nodes",
             {{{"devices", {{{"kind", cell.device}, {"count", 8}}}}, {"interconnect", "nvlink4_switch"}}}}}},
          {"serving",
           {{"replicas",
             {{{"parallelism", {{"tensor", cell.tensor}}},
               {"kv_cache", {{"memory_fraction", 0.95}}},  // DeepSeek-R1 on four B200 needs more than 0.9
               {"engine", {{"kind", cell.engine}}}}}}}},
          {"workload",
           {{"requests", {{"kind", "fixed"}, {"count", 1}, {"input_tokens", 10}, {"output_tokens", 10}}},
            {"arrivals", {{"kind", "all_at_once"}}}}}};
}

Evidence evidence(const Json& scenario) {
  return evidence_of(read_plan(scenario, "evidence_test"), 0);
}

const MeasuredCell& cell_of(const std::string& engine, const std::string& model) {
  const auto& all = measured_cells();
  return *std::ranges::find_if(all, [&](auto& c) { return c.engine == engine && c.model == model; });
}

bool has(const std::vector<std::string>& lines, const std::string& text) {
  return std::ranges::any_of(lines, [&](const std::string& line) { return line.find(text) != line.npos; });
}

}  // namespace

TEST_CASE("evidence: every measured group is the nearest of its own scenario, and nothing differs") {
  REQUIRE(measured_cells().size() >= 7);
  for (const MeasuredCell& cell : measured_cells()) {
    CAPTURE(cell.words());
    const Evidence found = evidence(scenario_of(cell));
    REQUIRE(found.nearest);
    CHECK(found.nearest->words() == cell.words());
    CHECK(found.differs.empty());
    CHECK(in_words(found).starts_with("validated: " + cell.words()));
    const auto lines = without_measurement(read_plan(scenario_of(cell), "evidence_test"));
    CHECK_FALSE(has(lines, "/serving"));
  }
}

TEST_CASE("evidence: the number format counts before the model, and the model before the ranks") {
  Json scenario = scenario_of(cell_of("trtllm", "qwen3-32b"));
  scenario["serving"]["replicas"][0]["parallelism"]["tensor"] = 4;  // as measured of another model
  Evidence found = evidence(scenario);
  REQUIRE(found.nearest);
  CHECK(found.nearest->model == "qwen3-32b");
  CHECK(found.differs == std::vector<std::string>{"number of ranks"});
  scenario["precision"] = {{"weights", "bf16"}, {"activations", "bf16"}, {"kv_cache", "bf16"}};
  found = evidence(scenario);
  REQUIRE(found.nearest);
  CHECK(found.nearest->weights == "bf16");
  CHECK(found.differs == std::vector<std::string>{"model"});
}

TEST_CASE("evidence: another device or engine is nothing near, and what else was not measured is named") {
  const MeasuredCell& cell = cell_of("vllm_v1", "qwen3-32b");
  Json scenario = scenario_of(cell);
  scenario["cluster"]["nodes"][0]["devices"][0]["kind"] = "a100_sxm_80gb";
  CHECK(in_words(evidence(scenario)) == "no measurement near this");
  CHECK(has(without_measurement(read_plan(scenario, "evidence_test")),
            "/serving/replicas/0: any server under vllm_v1 on a100_sxm_80gb"));

  scenario = scenario_of(cell);
  scenario["cluster"]["nodes"][0]["devices"][0]["memory_bandwidth_gb_per_s"] = 5000;
  scenario["serving"]["replicas"][0]["batching"] = {{"kind", "static"}};
  const Evidence found = evidence(scenario);
  REQUIRE(found.nearest);
  CHECK(has(found.differs, "memory_bandwidth_gb_per_s of h100_sxm"));
  CHECK(has(found.differs, "batching static"));
  CHECK(has(without_measurement(read_plan(scenario, "evidence_test")), "batching static"));
}

TEST_CASE(
    "evidence: a pipeline differs from every measured server, and experts where no such were measured") {
  Json scenario = scenario_of(cell_of("vllm_v1", "qwen3-32b"));
  scenario["model"] = "mixtral-8x7b";
  scenario["serving"]["replicas"][0]["parallelism"] = {{"tensor", 2}, {"pipeline", 2}};
  const Evidence found = evidence(scenario);
  REQUIRE(found.nearest);
  CHECK(has(found.differs, "model"));
  CHECK(has(found.differs, "a model with experts"));
  CHECK(has(found.differs, "a pipeline of stages"));
}

TEST_CASE("evidence: a mixture of experts is held against mixtures, a dense model against dense ones") {
  Json scenario = scenario_of(cell_of("vllm_v1", "gpt-oss-120b"));
  scenario["model"] = "mixtral-8x7b";
  Evidence found = evidence(scenario);
  REQUIRE(found.nearest);
  CHECK(found.nearest->experts);
  CHECK(found.differs == std::vector<std::string>{"model"});
  scenario["model"] = "llama3.1-8b";
  scenario["precision"] = {{"weights", "bf16"}, {"activations", "bf16"}, {"kv_cache", "bf16"}};
  found = evidence(scenario);
  REQUIRE(found.nearest);
  CHECK_FALSE(found.nearest->experts);
}

TEST_CASE("evidence: estimates of the device and of its kernels are named, prices are not") {
  const auto lines =
      without_measurement(read_plan(scenario_of(cell_of("vllm_v1", "qwen3-32b")), "evidence_test"));
  CHECK(has(lines, "h100_sxm, estimated: "));
  CHECK_FALSE(has(lines, "price"));
}
