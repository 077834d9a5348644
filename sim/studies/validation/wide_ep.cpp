// DeepSeek-V3 on H100s with attention data parallelism and experts over many nodes, as the SGLang team
// published it: "Deploying DeepSeek with PD Disaggregation and Large-Scale Expert Parallelism on 96 H100
// GPUs", lmsys.org/blog, 2025-05-05. Steady states: prompts of 4,000 tokens, and decodes of 256 requests a
// GPU of 2,000 tokens each.
#include <fmt/format.h>

#include "sim/studies/case_runner.h"
#include "sim/studies/validation/validation.h"

namespace weir {
namespace {

constexpr double accept_percent = 25;  // either way; nothing is fitted to these

Json deployment(int nodes, bool overlap, const Json& batching, const Json& workload) {
  const int ranks = 8 * nodes;
  const Json node = {{"count", nodes},
                     {"devices", Json::array({{{"kind", "h100_sxm"}, {"count", 8}}})},
                     {"interconnect", "nvlink4_switch"}};
  const Json replica = {{"parallelism", {{"tensor", 1}, {"attention_data", ranks}, {"expert", ranks}}},
                        {"communication", "deepep"},
                        {"experts", {{"distribution", "power_law"}, {"redundant", 32}}},
                        {"batching", batching},
                        {"engine", {{"kind", "sglang"}, {"version", "0.4"}, {"two_batch_overlap", overlap}}}};
  return {
      {"model", "deepseek-r1"},  // of the same architecture
      {"precision", {{"weights", "fp8_block"}, {"activations", "fp8_block"}, {"kv_cache", "bf16"}}},
      {"cluster",
       {{"nodes", Json::array({node})},
        {"network", {{"topology", "fat_tree"}, {"link_bandwidth_gb_per_s", 50}, {"link_latency_us", 2}}}}},
      {"serving", {{"replicas", Json::array({replica})}}},
      {"workload", workload}};
}

Json prompts(bool overlap) {
  return deployment(
      4, overlap, {{"kind", "chunked_prefill"}, {"max_batch_requests", 256}, {"max_batch_tokens", 16384}},
      {{"requests", {{"kind", "fixed"}, {"input_tokens", 4000}, {"output_tokens", 1}, {"count", 2048}}},
       {"arrivals", {{"kind", "all_at_once"}}}});
}

Json decodes(bool overlap) {
  return deployment(
      9, overlap, {{"kind", "chunked_prefill"}, {"max_batch_requests", 256}, {"max_batch_tokens", 8192}},
      {{"requests", {{"kind", "fixed"}, {"input_tokens", 2000}, {"output_tokens", 100}, {"count", 256 * 72}}},
       {"arrivals", {{"kind", "warm_batch"}, {"concurrency", 256 * 72}, {"batches", 3}}}});
}

}  // namespace

void add_wide_ep(const ReproduceOptions& options, std::vector<ReproducedRow>& rows) {
  const std::vector<CaseResult> results = run_cases({{"wide_ep_prefill", prompts(true)},
                                                     {"wide_ep_prefill_alone", prompts(false)},
                                                     {"wide_ep_decode", decodes(true)}},
                                                    options);
  const auto add = [&](const char* id, const char* metric, const CaseResult& result, double simulated,
                       double published, double percent) {
    ReproducedRow row;
    row.id = id;
    row.metric = metric;
    row.paper = published;
    row.accept_min = published * (1 - percent / 100);
    row.accept_max = published * (1 + percent / 100);
    row.note =
        result.error.empty() ? fmt::format("{:+.1f} %", 100 * (simulated / published - 1)) : result.error;
    if (result.error.empty()) row.simulated = simulated;
    rows.push_back(row);
  };
  const auto input = [](const CaseResult& r) { return 4000 * r.output_throughput; };  // of one token a prompt
  add("wide_ep_prefill", "input tokens/s a node, EP32 on 4 nodes of 8 H100", results[0],
      input(results[0]) / 4, 50'300, accept_percent);
  add("wide_ep_decode", "output tokens/s a node, EP72 on 9 nodes of 8 H100", results[2],
      results[2].output_throughput / 9, 22'300, accept_percent);
  // "27 % to 35 %" of prefill.
  ReproducedRow overlap;
  overlap.id = "wide_ep_overlap";
  overlap.metric = "prefill throughput with two-batch overlap over without";
  overlap.paper = 1.31;
  if (results[0].error.empty() && results[1].error.empty())
    overlap.simulated = input(results[0]) / input(results[1]);
  rows.push_back(overlap);
}

}  // namespace weir
