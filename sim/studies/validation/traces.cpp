// Two real vLLM runs, request by request: with the profiled device and with the analytic one.
#include <fmt/format.h>

#include <cmath>

#include "sim/studies/case_runner.h"
#include "sim/studies/validation/measured.h"
#include "sim/studies/validation/validation.h"

namespace weir {
namespace {

struct VllmRun {
  const char *id, *device, *trace, *profile;
  std::int64_t max_batch_requests;
  std::int64_t blocks;  // 0: not recorded
};

const std::vector<VllmRun> vllm_runs = {
    {"rtx4090", "rtx4090", "vllm_rtx4090_llama3.1-8b.csv", "rtx4090_llama3.1-8b_tp1", 256, 2588},
    {"rtx_pro_6000", "rtx_pro_6000", "vllm_rtxpro6000_llama3.1-8b.csv", "rtx_pro_6000_llama3.1-8b_tp1", 128,
     0},
};

Json scenario_of(const VllmRun& run, const std::filesystem::path& reference, bool profiled) {
  Json device = {{"kind", run.device}, {"count", 1}};
  if (profiled) device["profile"] = std::filesystem::absolute(reference / "profiles" / run.profile).string();
  Json cache = Json::object();
  if (run.blocks > 0) cache["blocks"] = run.blocks;
  return {
      {"model", "llama3.1-8b"},
      {"cluster", {{"nodes", Json::array({{{"devices", Json::array({device})}}})}}},
      {"serving",
       {{"replicas", Json::array({{{"batching",
                                    {{"kind", "chunked_prefill"},
                                     {"max_batch_requests", run.max_batch_requests},
                                     {"max_batch_tokens", 2048}}},
                                   {"kv_cache", cache},
                                   // Its client called the engine in its own process.
                                   {"engine",
                                    {{"kind", "vllm"},
                                     {"version", "0.19"},
                                     {"front_end_ms", 0},
                                     {"scheduled_ahead_steps", 0}}}}})}}},
      {"workload",
       {{"requests",
         {{"kind", "csv"}, {"file", std::filesystem::absolute(reference / "serving" / run.trace).string()}}},
        {"arrivals", {{"kind", "trace"}}}}}};
}

struct Means {
  double ttft = 0, tpot = 0, e2e = 0;  // means, ms
};

Means measured_of(const std::filesystem::path& file) {
  const Table table = Table::read(file);
  Means sum;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const double ttft = table.number(i, "ttft_s"), e2e = table.number(i, "e2e_s");
    sum.ttft += ttft;
    sum.e2e += e2e;
    sum.tpot += (e2e - ttft) / (table.number(i, "output_tokens") - 1);
  }
  const double ms = 1e3 / static_cast<double>(table.rows());
  return {ms * sum.ttft, ms * sum.tpot, ms * sum.e2e};
}

void add_row(std::vector<ReproducedRow>& rows, const std::string& id, const char* metric, double measured,
             const CaseResult& result, double simulated, double within_percent) {
  ReproducedRow row;
  row.id = id;
  row.metric = metric;
  row.paper = measured;
  row.accept_min = measured * (1 - within_percent / 100);
  row.accept_max = measured * (1 + within_percent / 100);
  if (result.error.empty()) row.simulated = simulated;
  row.note = result.error.empty() ? fmt::format("{:+.1f} %", 100 * (simulated / measured - 1)) : result.error;
  rows.push_back(row);
}

}  // namespace

void add_traces(const ReproduceOptions& options, std::vector<ReproducedRow>& rows) {
  if (!options.reference) return;
  std::vector<Case> cases;
  for (const VllmRun& run : vllm_runs)
    for (const bool profiled : {true, false})
      cases.push_back({fmt::format("vllm_trace_{}_{}", run.id, profiled ? "profiled" : "analytic"),
                       scenario_of(run, *options.reference, profiled)});
  const std::vector<CaseResult> results = run_cases(cases, options);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const bool profiled = i % 2 == 0;
    const Means m = measured_of(*options.reference / "serving" / vllm_runs[i / 2].trace);
    const CaseResult& r = results[i];
    add_row(rows, cases[i].name + "_tpot", "mean TPOT, ms", m.tpot, r, r.tpot_mean_ms, profiled ? 5 : 15);
    add_row(rows, cases[i].name + "_e2e", "mean end to end, ms", m.e2e, r, r.e2e_mean_ms, profiled ? 5 : 15);
    add_row(rows, cases[i].name + "_ttft", "mean TTFT, ms", m.ttft, r, r.ttft_mean_ms, profiled ? 10 : 15);
  }
}

}  // namespace weir
