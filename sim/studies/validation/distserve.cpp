// DistServe's four published runs of OPT-13B on A100s, request by request: early vLLM on one GPU, and
// DistServe itself, whose prompts run on two GPUs and whose decodes on one.
#include <fmt/format.h>

#include <cmath>
#include <map>

#include "sim/app/output/output_file.h"
#include "sim/studies/case_runner.h"
#include "sim/studies/validation/packed.h"
#include "sim/studies/validation/validation.h"

namespace weir {
namespace {

struct PublishedRun {
  const char *id, *name;  // the file's name
  bool disaggregated;
  bool fitted;  // host constants of its engine come from it: it is reported, not judged
};

const std::vector<PublishedRun> published_runs = {{"vllm_1", "vllm-100-1", false, true},
                                                  {"vllm_3", "vllm-300-3", false, true},
                                                  {"c21d11_3", "distserve-c21d11-300-3", true, true},
                                                  {"c21d11_6", "distserve-c21d11-600-6", true, false}};

// As evaluation/2-benchmark-serving/2-start-api-server.py of the DistServe repository starts both.
Json replica_of(const Json& engine, std::int64_t requests, std::int64_t tokens) {
  return {{"batching",
           {{"kind", "prefill_first"}, {"max_batch_requests", requests}, {"max_batch_tokens", tokens}}},
          {"kv_cache", {{"block_tokens", 16}, {"memory_fraction", 0.95}}},
          {"engine", engine}};
}

// SwiftTransformer in Ray actors is a code base of its own: C++ that launches as fast as the GPU runs. Its
// host time a step is fitted to the run at 3 requests/s; it has none a sequence that its own profile would
// show (docs/calibration/README.md, "Servers").
const Json distserve_engine = {
    {"kind", "vllm_v0"}, {"step_overhead_us", 5000}, {"cuda_graphs", "every_size"}};

// Its decode attention takes 0.627 us a token of context (simdistserve/estimators/profile_data/
// profiler-a100-80g.distserve.json, OPT-13B on one A100), FlashAttention's on this device at an efficiency of
// 0.815 0.455 us.
constexpr double distserve_attention = 0.59;

Json device_of(const PublishedRun& run) {
  Json device = {{"kind", "a100_sxm_80gb"}, {"count", 3}};
  if (!run.disaggregated) return device;
  device["kernels"] = {{"base", "ampere"},
                       {"decode_attention", {{"memory_efficiency", distserve_attention}}}};
  return device;
}

Json scenario_of(const PublishedRun& run, const std::filesystem::path& trace) {
  Json replicas = Json::array({replica_of({{"kind", "vllm_v0"}}, 1024, 16384)});
  if (run.disaggregated) {
    replicas =
        Json::array({replica_of(distserve_engine, 128, 8192), replica_of(distserve_engine, 1024, 65536)});
    replicas[0].update({{"role", "prefill"}, {"parallelism", {{"tensor", 2}}}});
    replicas[1].update({{"role", "decode"}});
  }
  return {
      {"model", "opt-13b"},
      {"precision", {{"weights", "fp16"}, {"activations", "fp16"}, {"kv_cache", "fp16"}}},
      {"cluster",
       {{"nodes",
         Json::array({{{"devices", Json::array({device_of(run)})}, {"interconnect", "nvlink3_switch"}}})}}},
      {"serving", {{"replicas", replicas}}},
      {"workload",
       {{"requests", {{"kind", "csv"}, {"file", std::filesystem::absolute(trace).string()}}},
        {"arrivals", {{"kind", "trace"}}}}}};
}

struct PublishedMeans {
  double ttft = 0, tpot = 0;  // ms; TPOT of requests of several tokens
};

// Writes the run's arrivals and lengths.
PublishedMeans take_run(const Table& table, const std::string& run, const std::filesystem::path& trace) {
  OutputFile out(trace);
  out.text("arrival_s,input_tokens,output_tokens\n");
  PublishedMeans sum;
  double requests = 0, several = 0;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    if (table.text(i, "run") != run) continue;
    out.print("{},{},{}\n", table.text(i, "arrival_s"), table.text(i, "input_tokens"),
              table.text(i, "output_tokens"));
    ++requests;
    sum.ttft += table.number(i, "ttft_ms");
    if (table.integer(i, "output_tokens") < 2) continue;
    ++several;
    sum.tpot += table.number(i, "tpot_ms");
  }
  out.close();
  return {sum.ttft / requests, sum.tpot / several};
}

}  // namespace

void add_distserve(const ReproduceOptions& options, std::vector<ReproducedRow>& rows) {
  if (!options.reference) return;
  const Table table = read_packed(*options.reference / "serving", "distserve_opt13b_a100.csv", options.files);
  std::vector<Case> cases;
  std::vector<PublishedMeans> measured;
  for (const PublishedRun& run : published_runs) {
    const std::filesystem::path trace = options.files / fmt::format("distserve_{}.csv", run.id);
    measured.push_back(take_run(table, run.name, trace));
    cases.push_back({fmt::format("distserve_{}", run.id), scenario_of(run, trace)});
  }
  const std::vector<CaseResult> results = run_cases(cases, options);
  for (std::size_t i = 0; i < published_runs.size(); ++i) {
    const auto add = [&](const char* what, double of_run, double simulated, bool judged) {
      ReproducedRow row;
      row.id = fmt::format("{}_{}", cases[i].name, what);
      row.metric = fmt::format("mean {}, ms", what[1] == 'p' ? "TPOT" : "TTFT");
      row.paper = of_run;
      if (results[i].error.empty()) row.simulated = simulated;
      row.note = results[i].error.empty() ? fmt::format("{:+.1f} %", 100 * (simulated / of_run - 1))
                                          : results[i].error;
      if (judged) {
        row.accept_min = 0.85 * of_run;
        row.accept_max = 1.15 * of_run;
      } else if (published_runs[i].fitted) {
        add_note(row, "its engine's host time is fitted to it");
      }
      rows.push_back(row);
    };
    add("tpot", measured[i].tpot, results[i].tpot_mean_ms, !published_runs[i].fitted);
    add("ttft", measured[i].ttft, results[i].ttft_mean_ms, false);
  }
}

}  // namespace weir
