// Vidur's own runs on the same traces, simulated with Vidur's own kernel measurements, so that what differs
// is how the two serve; and with Weir's model of the device, for the record.
#include <fmt/format.h>

#include <algorithm>

#include "sim/studies/case_runner.h"
#include "sim/studies/validation/measured.h"
#include "sim/studies/validation/validation.h"
#include "sim/studies/validation/vidur_profile.h"

namespace weir {
namespace {

struct PeerRun {
  const char *id, *trace, *model, *vidur_model;
  int tensor, pipeline;
  std::int64_t blocks;
};

constexpr auto codellama = "codellama/CodeLlama-34b-Instruct-hf";

// Microsoft Vidur 7d47513, Sarathi scheduler, chunk 512, at most 128 requests; its blocks as it reports them.
const std::vector<PeerRun> runs = {
    {"codellama34b_tp2", "vidur_run_codellama34b_a100_tp2_sarathi_512_requests.csv", "codellama-34b",
     codellama, 2, 1, 27904},
    {"codellama34b_tp2_5000", "vidur_run_codellama34b_a100_tp2_sarathi_5000_requests.csv", "codellama-34b",
     codellama, 2, 1, 27904},
    {"llama2_70b_tp2pp2", "vidur_run_llama2_70b_a100_tp2pp2_sarathi_512_requests.csv", "llama2-70b",
     "meta-llama/Llama-2-70b-hf", 2, 2, 32768},
};

Json scenario_of(const PeerRun& run, const std::filesystem::path& reference,
                 const std::filesystem::path& profile) {
  Json device = {{"kind", "a100_sxm_80gb"}, {"count", 4}};
  if (!profile.empty()) device["profile"] = profile.string();
  // Vidur's all-reduce: 45 us and 171 GB/s on two A100s (reference/kernels/all_reduce.csv) and 20 us to
  // launch it (vidur/config: nccl_cpu_launch_overhead_ms); a ring of two has two rounds.
  const Json interconnect = {{"shape", "switch"}, {"bandwidth_gb_per_s", 171}, {"latency_us", 32.5}};
  return {
      {"model", run.model},
      {"cluster",
       {{"nodes", Json::array({{{"devices", Json::array({device})}, {"interconnect", interconnect}}})}}},
      {"serving",
       {{"replicas",
         Json::array(
             {{{"parallelism", {{"tensor", run.tensor}, {"pipeline", run.pipeline}}},
               {"batching",
                {{"kind", "chunked_prefill"}, {"max_batch_requests", 128}, {"max_batch_tokens", 512}}},
               {"kv_cache", {{"blocks", run.blocks}, {"admission", "prompt"}}},
               {"engine", {{"kind", "ideal"}, {"pipelined_chunks", false}}}}})}}},
      {"workload",
       {{"requests",
         {{"kind", "vidur"}, {"file", std::filesystem::absolute(reference / "peers" / run.trace).string()}}},
        {"arrivals", {{"kind", "trace"}}}}}};
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

struct Medians {
  double ttft, tpot, e2e, throughput;
};

Medians vidur_s(const PeerRun& run, const std::filesystem::path& reference) {
  const Table table = Table::read(reference / "peers" / run.trace);
  std::vector<double> ttft, tpot, e2e;
  double tokens = 0, begin = 1e300, end = 0;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const double arrived = table.number(i, "arrived_at_s"), first = table.number(i, "prefill_completed_at_s");
    const double done = table.number(i, "completed_at_s"), output = table.number(i, "num_decode_tokens");
    ttft.push_back(1e3 * (first - arrived));
    e2e.push_back(1e3 * (done - arrived));
    if (output > 1) tpot.push_back(1e3 * (done - first) / (output - 1));
    tokens += output;
    begin = std::min(begin, arrived);
    end = std::max(end, done);
  }
  return {median(ttft), median(tpot), median(e2e), tokens / (end - begin)};
}

void add_rows(const PeerRun& run, bool same_kernels, const Medians& peer, const CaseResult& result,
              std::vector<ReproducedRow>& rows) {
  const auto add = [&](const char* what, const char* metric, double published, double simulated,
                       double percent) {
    ReproducedRow row;
    row.id = fmt::format("peer_vidur_{}{}_{}", run.id, same_kernels ? "_profiled" : "_analytic", what);
    row.metric = metric;
    row.paper = published;
    row.accept_min = published * (1 - percent / 100);
    row.accept_max = published * (1 + percent / 100);
    if (result.error.empty()) row.simulated = simulated;
    row.note =
        result.error.empty() ? fmt::format("{:+.1f} %", 100 * (simulated / published - 1)) : result.error;
    rows.push_back(row);
  };
  add("throughput", "output tokens/s", peer.throughput, result.output_throughput, 3);
  add("ttft", "median TTFT, ms", peer.ttft, result.ttft_p50_ms, 10);
  add("tpot", "median TPOT, ms", peer.tpot, result.tpot_p50_ms, 10);
  add("e2e", "median end to end, ms", peer.e2e, result.e2e_p50_ms, 10);
}

}  // namespace

void add_peers(const ReproduceOptions& options, std::vector<ReproducedRow>& rows) {
  if (!options.reference) return;
  std::vector<Case> cases;
  for (const PeerRun& run : runs) {
    const auto profile =
        std::filesystem::absolute(options.files / "vidur_profile" / fmt::format("{}_tp2", run.model));
    write_vidur_profile(*options.reference, run.vidur_model, profile);
    cases.push_back(
        {fmt::format("peer_vidur_{}_profiled", run.id), scenario_of(run, *options.reference, profile)});
    cases.push_back(
        {fmt::format("peer_vidur_{}_analytic", run.id), scenario_of(run, *options.reference, {})});
  }
  const std::vector<CaseResult> results = run_cases(cases, options);
  for (std::size_t i = 0; i < cases.size(); ++i)
    add_rows(runs[i / 2], i % 2 == 0, vidur_s(runs[i / 2], *options.reference), results[i], rows);
}

}  // namespace weir
