#include "sim/app/evidence/evidence.h"

#include <catch2/catch.hpp>

#include "models/llm/architecture.h"

using namespace weir;

namespace {

// A measured server as its cell was simulated, under the middle of its loads.
Json scenario_of(const MeasuredCell& cell) {
  const auto middle = [](const MeasuredRange& range) {
    return static_cast<std::int64_t>((range.least + range.most) / 2);
  };
  Json scenario = cell.scenario;
  scenario["workload"] = {{"requests",
                           {{"kind", "fixed"},
                            {"count", 4 * middle(cell.in_flight)},
                            {"input_tokens", middle(cell.input_tokens)},
                            {"output_tokens", middle(cell.output_tokens)}}},
                          {"arrivals", {{"kind", "closed_loop"}, {"concurrency", middle(cell.in_flight)}}}};
  return scenario;
}

Evidence evidence(const Json& scenario) {
  const Plan plan = read_plan(scenario, "evidence_test");
  return evidence_of(plan, 0, load_of(plan));
}

const MeasuredCell& cell_of(const std::string& device, const std::string& engine, const std::string& model,
                            int tensor) {
  return *std::ranges::find_if(measured_cells(), [&](const MeasuredCell& c) {
    return c.device == device && c.engine.starts_with(engine) && c.model == model && c.tensor == tensor;
  });
}

bool has(const std::vector<std::string>& lines, const std::string& text) {
  return std::ranges::any_of(lines, [&](const std::string& line) { return line.find(text) != line.npos; });
}

// A change of a measured scenario, and the word for it.
struct Changed {
  const char* pointer;
  Json value;
  Nearness word;
  const char* differs = "";  // a part of what is named
};

void check(const MeasuredCell& cell, const std::vector<Changed>& all) {
  for (const Changed& one : all) {
    INFO(cell.words() << ": " << one.pointer << " = " << one.value.dump());
    Json scenario = scenario_of(cell);
    scenario[Json::json_pointer(one.pointer)] = one.value;
    const Evidence found = evidence(scenario);
    INFO(in_words(found));
    CHECK(to_string(found.nearness) == to_string(one.word));
    CHECK((*one.differs == '\0' ? found.differs.empty() : has(found.differs, one.differs)));
  }
}

constexpr Nearness measured = Nearness::measured, similar = Nearness::similar, far = Nearness::far;

}  // namespace

TEST_CASE("evidence: every measured group is as measured under its own scenario, and nothing differs") {
  REQUIRE(measured_cells().size() >= 7);
  for (const MeasuredCell& cell : measured_cells()) {
    INFO(cell.words());
    const Evidence found = evidence(scenario_of(cell));
    INFO(in_words(found));
    CHECK(found.nearest.words() == cell.words());
    CHECK(found.nearness == measured);
    CHECK(found.differs.empty());
  }
}

TEST_CASE("evidence: whatever can change a result of a measured dense server makes it far") {
  const std::string replica = "/serving/replicas/0", device = "/cluster/nodes/0/devices/0";
  const auto at = [](const std::string& a, const char* b) { return a + b; };
  const std::string keys[] = {at(replica, "/engine/step_overhead_us"),
                              at(replica, "/batching"),
                              at(device, "/speed_profile"),
                              at(device, "/memory_bandwidth_gb_per_s"),
                              at(replica, "/kv_cache/tiers"),
                              at(replica, "/kv_cache/blocks"),
                              at(replica, "/parallelism/pipeline"),
                              at(replica, "/count")};
  check(cell_of("h100_sxm", "vllm", "qwen3-32b", 2),
        {{"/name", "another", measured},
         {"/slo/tpot_ms", 30, measured},
         {keys[7].c_str(), 1, measured},
         {keys[0].c_str(), 50000, far, "step_overhead_us"},
         {keys[1].c_str(), {{"kind", "static"}}, far, "batching/kind"},
         {keys[2].c_str(), {{0, 0.1}}, far, "speed_profile of h100_sxm"},
         {keys[3].c_str(), 5000, far, "memory_bandwidth_gb_per_s of h100_sxm"},
         {keys[4].c_str(), {{{"kind", "host"}, {"capacity_gb", 100}}}, far, "tiers"},
         {keys[5].c_str(), 20000, far, "blocks"},
         {keys[6].c_str(), 2, similar, "pipeline"},
         {"/precision/weights", "fp8", far, "number format of attention, mlp fp8 (measured: bf16)"},
         {"/precision/attention", "fp8", far, "number format of attention fp8 (measured: bf16)"},
         {"/precision/mlp", "bf16", measured},
         {"/assumptions", "paper", far, "assumptions"},
         {"/cluster/nodes/0/interconnect", "pcie5_x16", far, "interconnect"},
         {"/model", "codellama-34b", similar, "model"},
         {"/model", "llama3.1-8b", far, "another size"},
         {"/model", "mixtral-8x7b", far, "a mixture of experts"},
         {"/model", {{"base", "qwen3-32b"}, {"num_hidden_layers", 2}}, far, "num_hidden_layers"},
         {"/serving/replicas/0/parallelism/tensor", 8, similar, "tensor"},
         {"/serving/replicas/0/batching/max_batch_requests", 4, far, "4 seats"},
         {"/workload/requests/input_tokens", 20000, far, "prompts of"},
         {"/workload/requests/output_tokens", 8, far, "answers of"},
         {"/workload/arrivals/concurrency", 1000, far, "requests in flight"}});
  // One device alone has no links.
  check(cell_of("h100_sxm", "trtllm", "llama3.1-8b", 1),
        {{"/cluster/nodes/0/interconnect", "pcie5_x16", measured},
         {"/cluster/nodes/0/devices/0/kind", "h200_sxm", similar, "device"},
         {"/serving/replicas/0/batching/kind", "chunked_prefill", similar, "batching/kind"},
         {"/serving/replicas/0/engine/kind", "vllm_v1", far, "engine"}});
}

TEST_CASE("evidence: DeepSeek-R1 with DeepEP and data-parallel attention is far, and both are named") {
  Json scenario = scenario_of(cell_of("h200_sxm", "sglang", "deepseek-r1", 8));
  Json& replica = scenario["serving"]["replicas"][0];
  replica["parallelism"] = {{"tensor", 1}, {"attention_data", 8}, {"expert", 8}};
  replica["communication"] = "deepep";
  const Evidence found = evidence(scenario);
  CHECK(found.nearness == far);
  for (const char* what : {"attention_data 8", "communication deepep", "tensor 1", "expert 8"})
    CHECK(has(found.differs, what));
  CHECK_THAT(in_words(found), Catch::StartsWith("far: differs from deepseek-r1") &&
                                  Catch::Contains("of all measured servers with experts: TPOT"));
  replica["parallelism"] = {{"tensor", 8}};
  replica["communication"] = "all_gather";
  replica["experts"] = {{"distribution", "power_law"}};
  CHECK(has(evidence(scenario).differs, "experts/distribution"));
}

TEST_CASE("evidence: prompts apart have the error of their class, not that of a dense model near by") {
  Json scenario = scenario_of(cell_of("h100_sxm", "trtllm", "qwen3-235b-a22b", 4));
  Json prefill = scenario["serving"]["replicas"][0];
  prefill["role"] = "prefill";
  Json decode = prefill;
  decode["role"] = "decode";
  scenario["serving"]["replicas"] = {prefill, decode};
  const Evidence found = evidence(scenario);
  CHECK(found.nearness == far);
  CHECK(found.nearest.model == "qwen3-235b-a22b");
  CHECK(found.of_class.name == "prompts apart");
  CHECK(found.tpot_error_percent() == measured_class(true, true).tpot_error_percent);
  CHECK_THAT(brief(found), Catch::StartsWith("far (prompts apart: "));
}

TEST_CASE("evidence: model, number format and engine count before the device, and it before the ranks") {
  Json scenario = scenario_of(cell_of("h100_sxm", "vllm", "qwen3-32b", 2));
  scenario["cluster"]["nodes"][0]["devices"][0]["kind"] = "h200_sxm";
  scenario["serving"]["replicas"][0]["parallelism"]["tensor"] = 4;
  const Evidence found = evidence(scenario);
  CHECK(found.nearest.model == "qwen3-32b");
  CHECK(found.nearest.device == "h100_sxm");
  CHECK(found.nearest.tensor == 4);
  CHECK(found.nearness == similar);
}

TEST_CASE("evidence: requests that come by themselves are in flight as a run tells") {
  Json scenario = scenario_of(cell_of("h100_sxm", "vllm", "qwen3-32b", 2));
  scenario["workload"]["arrivals"] = {{"kind", "poisson"}, {"rate_per_s", 1}};
  CHECK(evidence(scenario).nearness == measured);
  CHECK_THAT(in_words(evidence(scenario)), Catch::Contains("requests are in flight"));
  const Plan plan = read_plan(scenario, "evidence_test");
  CHECK(evidence_of(plan, 0, load_of(plan, 30)).nearness == measured);
  CHECK(evidence_of(plan, 0, load_of(plan, 300)).nearness == far);
}

TEST_CASE("evidence: estimates of the device and of its kernels are named, prices are not") {
  const auto lines =
      accuracy_lines(read_plan(scenario_of(cell_of("h100_sxm", "vllm", "qwen3-32b", 2)), "evidence_test"));
  CHECK(has(lines, "/serving/replicas/0: measured: qwen3-32b"));
  CHECK(has(lines, "h100_sxm, estimated: "));
  CHECK_FALSE(has(lines, "price"));
}
