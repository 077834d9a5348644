#include "test/serving/run_in_child.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "sim/app/child_process.h"
#include "sim/core/errors.h"

namespace weir::test {
namespace {

constexpr std::size_t numbers = 25;

std::string simulate_to_bytes(Plan plan, const std::function<void(Plan&)>& change) {
  change(plan);
  const RunResult r = simulate(plan, {});
  double energy = 0, busy = 0, flops = 0, memory = 0, sampled = 0, last = 0, most_carried = 0;
  double sent = 0, collectives = 0, loaded = 0, to_host = 0, from_host = 0;
  PrefetchBytes prefetch;
  for (const DeviceUsage& d : r.devices) {
    energy += d.energy.value();
    busy += d.busy.value();
    flops += d.flops.value();
    memory += d.memory.value();
    collectives += d.devices * d.link.value();
    prefetch += d.prefetch;
  }
  for (const LinkUsage& link : r.links) {
    most_carried = std::max(most_carried, link.carried.value());
    if (link.name.ends_with(".out")) sent += link.carried.value();
    if (link.name.ends_with(".pcie_out")) to_host += link.carried.value();
    if (link.name.ends_with(".pcie_in")) from_host += link.carried.value();
  }
  for (const auto& [request, tokens] : r.tier_tokens)
    for (const std::int64_t of_tier : tokens) loaded += static_cast<double>(of_tier);
  for (const Sample& s : r.samples) {
    sampled += s.tokens_per_s * (s.time.value() - last);
    last = s.time.value();
  }
  const double values[numbers] = {static_cast<double>(r.iterations),
                                  static_cast<double>(r.preemptions),
                                  r.gaps.count(),
                                  r.gaps.mean().value(),
                                  r.gaps.percentile(99).value(),
                                  r.end.value(),
                                  energy,
                                  busy,
                                  flops,
                                  memory,
                                  static_cast<double>(r.kv_blocks_peak),
                                  static_cast<double>(r.kv_blocks_total),
                                  sampled,
                                  most_carried,
                                  sent,
                                  collectives,
                                  prefetch.fetched.value(),
                                  prefetch.used.value(),
                                  prefetch.evicted.value(),
                                  prefetch.left.value(),
                                  static_cast<double>(r.drafts.decodes),
                                  static_cast<double>(r.drafts.accepted),
                                  loaded,
                                  to_host,
                                  from_host};
  std::string bytes(reinterpret_cast<const char*>(values), sizeof values);
  bytes.append(reinterpret_cast<const char*>(r.requests.data()), r.requests.size() * sizeof(RequestRecord));
  return bytes;
}

}  // namespace

// Read here and not in the child: what banks of memories reach is played once, and remembered.
Outcome run(const Json& scenario, const std::function<void(Plan&)>& change) {
  Outcome o;
  std::optional<Plan> plan;
  try {
    plan = read_plan(scenario, "test.json");
  } catch (const ConfigError& e) {
    o.error = e.what();
    return o;
  }
  in_children(
      1, 1, [&](std::size_t) { return simulate_to_bytes(std::move(*plan), change); },
      [&](std::size_t, ChildResult result) {
        o.error = result.error;
        if (!o.error.empty()) return true;
        double v[numbers];
        std::memcpy(v, result.output.data(), sizeof v);
        o.requests.resize((result.output.size() - sizeof v) / sizeof(RequestRecord));
        std::memcpy(o.requests.data(), result.output.data() + sizeof v, result.output.size() - sizeof v);
        double* const into[numbers] = {
            &o.iterations,  &o.preemptions,  &o.gap_count,      &o.gap_mean,     &o.gap_p99,
            &o.end,         &o.energy,       &o.busy,           &o.flops,        &o.memory,
            &o.peak_blocks, &o.total_blocks, &o.sampled_tokens, &o.most_carried, &o.sent,
            &o.collectives, &o.fetched,      &o.used,           &o.evicted,      &o.left,
            &o.decodes,     &o.accepted,     &o.loaded,         &o.to_host,      &o.from_host};
        for (std::size_t i = 0; i < numbers; ++i) *into[i] = v[i];
        return true;
      });
  return o;
}

std::vector<Problem> problems_of_scenario(const Json& scenario) {
  try {
    read_plan(scenario, "test.json");
  } catch (const ConfigError& e) {
    return e.problems();
  }
  return {};
}

Json small_scenario() {
  return parse_json(R"({
    "model": "llama3.1-8b",
    "cluster": {"nodes": [{"devices": [{"kind": "h100_sxm", "count": 8}], "interconnect": "nvlink4_switch"}]},
    "serving": {"replicas": [{}]},
    "workload": {
      "requests": {"kind": "lognormal", "count": 60, "input": {"mean": 300, "std": 300, "max": 4000},
                   "output": {"mean": 60, "std": 60, "max": 1000}},
      "arrivals": {"kind": "poisson", "rate_per_s": 20}
    }
  })",
                    "small");
}

}  // namespace weir::test
