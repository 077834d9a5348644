#include "sim/app/output/rows/of_run.h"

#include <algorithm>

namespace weir {

using namespace metrics;

namespace {

void add_energy_and_cost(std::vector<MetricRow>& rows) {
  const std::vector<MetricRow> table = {
      {"energy_j", "Energy", "J", "", less, ranked,
       measured([](const Metrics& m) { return m.energy.value(); })},
      {"output_tokens_per_joule", "Output tokens/J", "tokens/s/W", "output tok/J", more, ranked_first,
       measured(
           [](const Metrics& m) { return share(static_cast<double>(m.output_tokens), m.energy.value()); })},
      {"cost.dollars", "Cost", "$", "", less, ranked,
       measured([](const Metrics& m) { return m.cost_dollars; })},
      {"cost.dollars_per_hour", "$/hour of all devices", "", "cost /hour", less, ranked,
       measured([](const Metrics& m) { return m.dollars_per_hour; })},
      {"cost.device_hours", "Device-hours", "", "", less, shown,
       measured([](const Metrics& m) { return m.device_hours; })},
      {"cost.dollars_per_million_output_tokens", "$/million output tokens", "", "cost /Mtok", less,
       ranked_first, measured([](const Metrics& m) {
         const auto tokens = static_cast<double>(m.output_tokens);
         return tokens > 0 ? Json(m.cost_dollars / tokens * 1e6) : Json(nullptr);
       })},
  };
  rows.insert(rows.end(), table.begin(), table.end());
}

void add_kv_cache(std::vector<MetricRow>& rows) {
  const auto of_blocks = [](std::int64_t RunResult::*blocks) {
    return counted([blocks](const RunResult& r) { return r.*blocks; });
  };
  const std::vector<MetricRow> table = {
      {"kv_cache.block_tokens", "Tokens of a KV block", "", "", neither, shown,
       counted([](const RunResult& r) { return r.kv_block_tokens; })},
      {"kv_cache.blocks", "KV blocks", "", "", neither, shown, of_blocks(&RunResult::kv_blocks_total)},
      {"kv_cache.peak_blocks", "Peak KV blocks", "", "", neither, shown,
       of_blocks(&RunResult::kv_blocks_peak)},
      {"kv_cache.peak", "Peak KV cache use", "share", "KV cache peak", neither, first,
       counted([](const RunResult& r) {
         return share(static_cast<double>(r.kv_blocks_peak), static_cast<double>(r.kv_blocks_total));
       })},
      {"kv_cache.preemptions", "Preemptions", "", "", less, shown,
       counted([](const RunResult& r) { return r.preemptions; })},
      {"kv_cache.limited_s", "Admissions held up by the KV cache", "s", "", less, shown,
       counted([](const RunResult& r) { return r.kv_limited.value(); })},
  };
  rows.insert(rows.end(), table.begin(), table.end());
}

bool takes_over(const FinishedRun& run) {
  return std::ranges::any_of(run.plan.replicas,
                             [](const ReplicaPlan& replica) { return replica.spec.role == Role::decode; });
}

// Where the prompts' tokens came from: every one is counted once.
void add_prefixes(std::vector<MetricRow>& rows) {
  const auto has = [](const FinishedRun& run) {
    return run.plan.scenario.workload.contents.shared() || !run.metrics.tier_tokens.empty();
  };
  const std::vector<MetricRow> table = {
      {"prefix_cache.prompt_tokens", "Tokens of prompts", "", "", neither, shown,
       where(has, [](const FinishedRun& run) { return run.metrics.input_tokens; })},
      {"prefix_cache.computed_tokens", "Computed tokens of prompts", "", "", less, shown,
       where(has, [](const FinishedRun& run) { return run.metrics.computed_tokens(); })},
      {"prefix_cache.local_hit_tokens", "Tokens of prompts found in the KV cache", "", "", more, shown,
       where(has, [](const FinishedRun& run) { return run.metrics.found_tokens; })},
      {"prefix_cache.tier_hit_tokens", "Tokens of prompts found in tiers", "", "", more, shown,
       where([](const FinishedRun& run) { return !run.metrics.tier_tokens.empty(); },
             [](const FinishedRun& run) { return run.metrics.tier_tokens; })},
      {"prefix_cache.not_sent_tokens", "Tokens of hand-overs that were there already", "", "", more, shown,
       where([has](const FinishedRun& run) { return has(run) && takes_over(run); },
             [](const FinishedRun& run) { return run.result.not_sent_tokens; })},
  };
  rows.insert(rows.end(), table.begin(), table.end());
}

}  // namespace

void add_resource_metrics(std::vector<MetricRow>& rows) {
  add_energy_and_cost(rows);
  add_kv_cache(rows);
  add_prefixes(rows);
}

}  // namespace weir
