// Servers of vLLM 0.5 to 0.7 as public sources have them, with their version given: mean TPOT within 15 %. No
// row here chose a constant (sim/plan/engines/vllm.json says which did).
#include <catch2/catch.hpp>

#include "test/serving/run_in_child.h"

using namespace weir;

namespace {

struct Server {
  const char *model, *device, *interconnect;
  int tensor;
  const char* version;
};

Json scenario_of(const Server& s, const Json& batching, const Json& workload, const char* number = "bf16") {
  const Json node = {{"devices", Json::array({{{"kind", s.device}, {"count", s.tensor}}})},
                     {"interconnect", s.interconnect}};
  return {{"model", s.model},
          {"precision", {{"weights", number}, {"activations", number}, {"kv_cache", "bf16"}}},
          {"cluster", {{"nodes", Json::array({node})}}},
          {"serving",
           {{"replicas", Json::array({{{"parallelism", {{"tensor", s.tensor}}},
                                       {"batching", batching},
                                       {"engine", {{"kind", "vllm"}, {"version", s.version}}}}})}}},
          {"workload", workload}};
}

Json prompts_first(std::int64_t requests) {
  return {{"kind", "prefill_first"}, {"max_batch_requests", requests}, {"max_batch_tokens", 8192}};
}

// benchmark_latency: so many requests at once, until all have ended.
double latency_s(const Server& s, int batch, int input, int output) {
  const Json workload = {
      {"requests", {{"kind", "fixed"}, {"input_tokens", input}, {"output_tokens", output}, {"count", batch}}},
      {"arrivals", {{"kind", "all_at_once"}}}};
  const test::Outcome outcome = test::run(scenario_of(s, prompts_first(256), workload));
  REQUIRE(outcome.error.empty());
  return outcome.end;
}

// Requests before `first` are left out.
double mean_tpot_ms(const test::Outcome& outcome, std::size_t first) {
  REQUIRE(outcome.error.empty());
  double sum = 0;
  int count = 0;
  for (std::size_t i = first; i < outcome.requests.size(); ++i) {
    const RequestRecord& r = outcome.requests[i];
    if (r.request.output_tokens < 2) continue;
    sum += (r.finished - r.first_token).value() / static_cast<double>(r.request.output_tokens - 1);
    ++count;
  }
  return 1e3 * sum / count;
}

// ML.ENERGY: all at once, as many in a batch as `seats`. Input lengths are not on record: ESTIMATE 200
// tokens.
double chat_tpot_ms(const Server& s, int seats, double output) {
  const Json workload = {{"requests",
                          {{"kind", "lognormal"},
                           {"input", {{"mean", 200}, {"std", 200}, {"max", 2000}}},
                           {"output", {{"mean", output}, {"std", 0.6 * output}, {"max", 2000}}},
                           {"count", 5 * seats}}},
                         {"arrivals", {{"kind", "closed_loop"}, {"concurrency", seats}}}};
  return mean_tpot_ms(test::run(scenario_of(s, prompts_first(seats), workload)),
                      static_cast<std::size_t>(2 * seats));
}

void check_within_15_percent(double simulated, double measured) {
  INFO(100 * (simulated / measured - 1) << " %");
  CHECK(simulated == Approx(measured).epsilon(0.15));
}

}  // namespace

// vllm-project/vllm, issue 16300: QwQ-32B (of qwen3-32b's shape) bf16 on A100-80, 1 token in, 200 out.
TEST_CASE("vLLM 0.7.2: QwQ-32B on two, four and eight A100") {
  const auto on = [](int tensor, int batch) {
    return latency_s({"qwen3-32b", "a100_sxm_80gb", "nvlink3_switch", tensor, "0.7.2"}, batch, 1, 200);
  };
  check_within_15_percent(on(2, 16), 6.07);
  check_within_15_percent(on(4, 1), 3.91);
  check_within_15_percent(on(4, 16), 4.77);
  check_within_15_percent(on(8, 16), 4.25);
}

// vllm-project/vllm, issue 12315: the latency test of its benchmarks, a batch of 8, 32 tokens in, 128 out.
TEST_CASE("vLLM 0.6.6: llama3.3-70b on four A100") {
  check_within_15_percent(
      latency_s({"llama3-70b", "a100_sxm_80gb", "nvlink3_switch", 4, "0.6.6"}, 8, 32, 128), 4.946);
}

// dstackai/benchmarks, nvidia/8xh100: llama3.1-405b fp8 on eight H100, 1,000 requests of ShareGPT (215 tokens
// in and 121 out, on average) at 16 a second, chunks within 512 tokens a step.
TEST_CASE("vLLM 0.6.3: llama3.1-405b on eight H100, chunks of prompts beside decodes") {
  const Json batching = {{"kind", "chunked_prefill"}, {"max_batch_requests", 512}, {"max_batch_tokens", 512}};
  const Json workload = {{"requests",
                          {{"kind", "lognormal"},
                           {"input", {{"mean", 215.2}, {"std", 230}, {"max", 1024}}},
                           {"output", {{"mean", 121}, {"std", 120}, {"max", 1024}}},
                           {"count", 1000}}},
                         {"arrivals", {{"kind", "poisson"}, {"rate_per_s", 16}}}};
  const Server server = {"llama3.1-405b", "h100_sxm", "nvlink4_switch", 8, "0.6.3"};
  check_within_15_percent(mean_tpot_ms(test::run(scenario_of(server, batching, workload, "fp8")), 0), 106.5);
}

// CENT, data/GPU_latency.csv (MIT): a query of 512 and 3,584 tokens; vLLM's version is not stated, and 0.6 is
// of the months in which it was measured.
TEST_CASE("vLLM of CENT: llama2-7b alone on an A100") {
  check_within_15_percent(latency_s({"llama2-7b", "a100_sxm_80gb", "nvlink3_switch", 1, "0.6"}, 1, 512, 3584),
                          42.969);
}

// ML.ENERGY leaderboard v2 (Apache-2.0), vLLM 0.5.4 on A100-SXM4-40GB, chat.
TEST_CASE("vLLM 0.5.4: llama3.1-8b and mistral-7b on an A100, llama3.1-70b on eight") {
  const Server llama = {"llama3.1-8b", "a100_sxm_40gb", "nvlink3_switch", 1, "0.5.4"};
  check_within_15_percent(chat_tpot_ms(llama, 64, 481.35), 50.209);
  check_within_15_percent(chat_tpot_ms(llama, 128, 480.94), 79.266);
  check_within_15_percent(chat_tpot_ms(llama, 192, 484.36), 109.367);
  const Server mistral = {"mistral-7b", "a100_sxm_40gb", "nvlink3_switch", 1, "0.5.4"};
  check_within_15_percent(chat_tpot_ms(mistral, 32, 424.46), 33.714);
  check_within_15_percent(chat_tpot_ms(mistral, 128, 421.63), 71.754);
  const Server large = {"llama3-70b", "a100_sxm_40gb", "nvlink3_switch", 8, "0.5.4"};
  check_within_15_percent(chat_tpot_ms(large, 32, 457.49), 107.346);
  check_within_15_percent(chat_tpot_ms(large, 128, 455.84), 147.618);
  check_within_15_percent(chat_tpot_ms(large, 256, 458.29), 209.55);
}
