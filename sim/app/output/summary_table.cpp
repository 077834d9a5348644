#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "sim/app/evidence/evidence.h"
#include "sim/app/output/bottleneck.h"
#include "sim/app/output/text_grid.h"
#include "sim/app/output/training/training_writers.h"
#include "sim/app/output/writers.h"

namespace weir {
namespace {

std::string shown(double value) {
  return shown_number(value, 4);
}

std::string percent(double share) {
  return shown_percent(share);
}

class Table {
 public:
  Table(bool styled, std::size_t width) : styled_(styled), width_(width) {}
  void title(const std::string& text) {
    for (const std::string& part : wrapped(text, width_)) line(bold(part));
  }
  void row(const std::string& name, const std::string& value) { text_ += entry(name, 10, value, width_); }
  void line(const std::string& text) { text_ += text + "\n"; }
  std::string bold(const std::string& text) const { return styled_ ? "\033[1m" + text + "\033[0m" : text; }
  std::string text() const { return text_; }

 private:
  bool styled_;
  std::size_t width_;
  std::string text_;
};

void engines(Table& table, const Plan& plan) {
  std::string names;
  std::set<std::string> told;
  for (const ReplicaPlan& replica : plan.replicas) {
    const EngineOverhead& engine = replica.spec.engine;
    const std::string name = engine.kind + (engine.version.empty() ? "" : " " + engine.version);
    if (told.insert(name).second) names += (names.empty() ? "" : ", ") + name;
  }
  if (!names.empty()) table.row("Engine", names);
}

void requests(Table& table, const FinishedRun& run) {
  const Metrics& m = run.metrics;
  std::string counts = grouped(m.completed) + " completed";
  if (m.rejected > 0) counts += fmt::format(", {} rejected (can never fit)", grouped(m.rejected));
  if (m.lost > 0) counts += fmt::format(", {} lost", grouped(m.lost));
  if (m.unfinished > 0) counts += fmt::format(", {} unfinished", grouped(m.unfinished));
  const std::int64_t left_out = std::ssize(run.result.requests) - m.requests;
  if (left_out > 0)
    counts += fmt::format(", {} more {}", grouped(left_out),
                          left_out == run.result.warmup_requests ? "as warm-up" : "that are not measured");
  table.row("Requests", counts);
  table.row("Tokens", fmt::format("{} in, {} out", grouped(m.input_tokens), grouped(m.output_tokens)));
  table.row("Duration", fmt::format("{} s simulated", shown(m.duration.value())));
  table.row("Throughput",
            fmt::format("{} req/s, {} output tok/s, {} tok/s in all", shown(m.request_throughput),
                        shown(m.output_throughput), shown(m.total_throughput)));
  if (!m.goodput) return;
  std::string slo;
  if (run.plan.scenario.slo.ttft)
    slo += fmt::format(" TTFT {:g} ms", run.plan.scenario.slo.ttft->value() * 1e3);
  if (run.plan.scenario.slo.tpot)
    slo +=
        fmt::format("{} TPOT {:g} ms", slo.empty() ? "" : " and", run.plan.scenario.slo.tpot->value() * 1e3);
  table.row("Goodput", fmt::format("{} req/s within{}", shown(*m.goodput), slo));
}

void latencies(Table& table, const Metrics& m) {
  table.line("");
  table.line(fmt::format("  {:<12}{:>13}{:>13}{:>13}{:>13}", "Latency (ms)", "mean", "p50", "p90", "p99"));
  const std::pair<const char*, const Distribution*> rows[] = {
      {"TTFT", &m.ttft_ms}, {"TPOT", &m.tpot_ms}, {"ITL", &m.itl_ms}, {"E2E", &m.e2el_ms}};
  for (const auto& [name, d] : rows)
    table.line(fmt::format("  {:<12}{:>13}{:>13}{:>13}{:>13}", name, shown(d->mean), shown(d->p50),
                           shown(d->p90), shown(d->p99)));
  table.line("");
}

// The worst of a hundred, which a job beside the replicas moves first.
void without_training(Table& table, const FinishedRun& run) {
  const Json* alone = run.training ? run.training->served_alone : nullptr;
  if (!alone || alone->is_null()) return;
  const auto value = [&](const char* name) {
    const Json& number = (*alone)[name];
    return number.is_number() ? shown(number.get<double>()) : "-";
  };
  table.row("No training",
            fmt::format("p99 TTFT {} ms, TPOT {} ms, ITL {} ms; {} output tok/s", value("p99_ttft_ms"),
                        value("p99_tpot_ms"), value("p99_itl_ms"), value("output_throughput")));
}

struct KindTotals {  // of all devices of one kind
  double devices = 0, busy = 0, least = 1e300, most = 0, flops = 0, memory = 0, link = 0;
  std::vector<std::pair<std::string, double>> units;  // busy, of all devices
};

// Units are shown of devices that have more than themselves and their link.
std::string units_of(const KindTotals& k) {
  std::string units;
  for (const auto& [unit, busy] : k.units)
    units += fmt::format("{}{} {}", units.empty() ? "" : ", ", unit, percent(busy / k.devices));
  return k.units.size() > 2 ? units : "";
}

// One line a kind of device, so that the table of a thousand replicas is still a table.
void devices(Table& table, const FinishedRun& run) {
  const double duration = run.metrics.duration.value();
  std::map<std::string, KindTotals> kinds;
  for (const DeviceUsage& u : run.result.devices) {
    KindTotals& k = kinds[u.host_memory.empty() ? u.kind : u.kind + " beside " + u.host_memory];
    const double n = u.devices, busy = duration > 0 ? u.busy.value() / duration : 0;
    k.devices += n;
    k.busy += n * busy;
    k.least = std::min(k.least, busy);
    k.most = std::max(k.most, busy);
    const auto used = [&](double amount, double rate) {
      return rate > 0 && duration > 0 ? n * amount / (rate * duration) : 0;
    };
    k.flops += used(u.flops.value(), u.peak.value());
    k.memory += used(u.memory.value(), u.memory_bandwidth.value());
    k.link += used(u.link.value(), u.link_bandwidth.value());
    k.units.resize(std::max(k.units.size(), u.units.size()));
    for (std::size_t i = 0; i < u.units.size(); ++i) {
      k.units[i].first = u.units[i].name;
      k.units[i].second += duration > 0 ? n * (u.units[i].busy.value() / duration) : 0;
    }
  }
  for (const auto& [kind, k] : kinds) {
    std::string busy = percent(k.busy / k.devices);
    if (k.most - k.least > 0.01) busy += fmt::format(" ({:.0f} to {:.0f} %)", 100 * k.least, 100 * k.most);
    table.row("Devices", fmt::format("{} x {}: busy {}; of peak: FLOP/s {}, memory {}, links {}", k.devices,
                                     kind, busy, percent(k.flops / k.devices), percent(k.memory / k.devices),
                                     percent(k.link / k.devices)));
    if (const std::string units = units_of(k); !units.empty()) table.row("Units", units + " of the time");
  }
}

void prefetches(Table& table, const RunResult& result) {
  PrefetchBytes sum;
  for (const DeviceUsage& usage : result.devices) sum += usage.devices * usage.prefetch;
  if (sum.fetched <= Bytes(0)) return;
  table.row("Prefetch", fmt::format("{} GB into L2: {} used, {} evicted, {} never asked for",
                                    shown(sum.fetched.value() / 1e9), percent(sum.used / sum.fetched),
                                    percent(sum.evicted / sum.fetched), percent(sum.left / sum.fetched)));
}

void neurons(Table& table, const RunResult& result) {
  if (!result.neurons) return;
  const std::optional<double> recall = result.neurons->predictions.recall(),
                              precision = result.neurons->predictions.precision();
  if (!recall || !precision) return;  // none was predicted
  table.row("Neurons",
            fmt::format("of the active ones {} predicted, of those predicted {} active; {} GB swapped, {} "
                        "GB remapped",
                        percent(*recall), percent(*precision), shown(result.neurons->swapped.value() / 1e9),
                        shown(result.neurons->remapped.value() / 1e9)));
}

void drafts(Table& table, const RunResult& result) {
  const std::optional<double> length = result.drafts.length();
  if (!length) return;
  table.row("Drafts", fmt::format("{} of {} accepted, {} tokens a decode", grouped(result.drafts.accepted),
                                  grouped(result.drafts.drafted), shown(*length)));
}

void prefixes(Table& table, const FinishedRun& run) {
  const Metrics& m = run.metrics;
  const bool found = run.plan.scenario.workload.contents.shared() || !m.tier_tokens.empty();
  if (!found || m.input_tokens == 0) return;
  const auto share = [&](std::int64_t tokens) {
    return percent(static_cast<double>(tokens) / static_cast<double>(m.input_tokens));
  };
  std::string text = fmt::format("{} of their tokens found in the KV cache", share(m.found_tokens));
  for (std::size_t tier = 0; tier < m.tier_tokens.size(); ++tier)
    text += fmt::format(", {} in tier {}", share(m.tier_tokens[tier]), tier);
  table.row("Prompts", fmt::format("{}, {} tokens computed", text, grouped(m.computed_tokens())));
}

void sessions(Table& table, const std::optional<SessionMetrics>& sessions) {
  if (!sessions) return;
  const Distribution& d = sessions->time_to_complete_ms;
  std::string text = fmt::format("{} of {} completed", grouped(d.count), grouped(sessions->count));
  if (d.count > 0)
    text += fmt::format(", in {} s (mean), {} s (p50), {} s (p99)", shown(d.mean / 1e3), shown(d.p50 / 1e3),
                        shown(d.p99 / 1e3));
  table.row("Sessions", text);
}

void totals(Table& table, const FinishedRun& run) {
  const Metrics& m = run.metrics;
  const RunResult& r = run.result;
  const auto tokens = static_cast<double>(m.output_tokens);
  table.row("KV cache", fmt::format("peak {} of {} blocks, {} preemptions",
                                    percent(r.kv_blocks_total > 0 ? static_cast<double>(r.kv_blocks_peak) /
                                                                        static_cast<double>(r.kv_blocks_total)
                                                                  : 0),
                                    grouped(r.kv_blocks_total), grouped(r.preemptions)));
  const std::vector<std::string> memory = memory_in_words(run.plan);
  for (std::size_t i = 0; i < memory.size(); ++i) table.row(i == 0 ? "Memory" : "", memory[i]);
  std::string energy = fmt::format("{} kJ", shown(m.energy.value() / 1e3));
  std::string cost = fmt::format("${}", shown(m.cost_dollars));
  if (m.output_tokens > 0) {
    energy += fmt::format(", {} output tok/J", shown(tokens / m.energy.value()));
    cost += fmt::format(", ${} per million output tokens", shown(m.cost_dollars / tokens * 1e6));
  }
  table.row("Energy", energy);
  if (!m.energy_note.empty()) table.row("", m.energy_note);
  table.row("Cost", cost);
}

// How near the closest measured servers are, once for replicas of which the same is known.
void accuracy(Table& table, const Plan& plan, const Metrics& m) {
  // By Little's law.
  const ServedLoad load = load_of(plan, m.request_throughput * m.e2el_ms.mean / 1e3);
  std::vector<std::string> told;
  for (std::size_t i = 0; i < plan.replicas.size(); ++i) {
    const std::string words = in_words(evidence_of(plan, i, load));
    if (std::ranges::count(told, words) > 0) continue;
    table.row(told.empty() ? "Accuracy" : "", words);
    told.push_back(words);
  }
}

}  // namespace

std::string summary_table(const FinishedRun& run, bool styled, std::size_t width) {
  Table table(styled, width);
  table.title(run.plan.scenario.name);
  requests(table, run);
  latencies(table, run.metrics);
  sessions(table, run.metrics.sessions);
  without_training(table, run);
  engines(table, run.plan);
  devices(table, run);
  prefetches(table, run.result);
  neurons(table, run.result);
  drafts(table, run.result);
  prefixes(table, run);
  totals(table, run);
  const Bottleneck bottleneck = find_bottleneck(run.plan.scenario, run.result, run.metrics);
  table.row("Bound by", fmt::format("{}: {}", table.bold(bottleneck.by), bottleneck.reason));
  accuracy(table, run.plan, run.metrics);
  return table.text();
}

}  // namespace weir
