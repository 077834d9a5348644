#include "sim/studies/validation/sessions/recorded.h"

#include <algorithm>
#include <map>

#include "sim/studies/validation/packed.h"

namespace weir {

double RecordedRun::end_s() const {
  double end = 0;
  for (const RecordedRequest& request : requests) end = std::max(end, request.end_s);
  return end;
}

std::vector<RecordedRun> recorded_runs(const std::filesystem::path& folder,
                                       const std::filesystem::path& spare) {
  const Table requests = read_packed(folder, "requests.csv", spare);
  std::map<std::string, std::vector<RecordedRequest>> of_run;
  for (std::size_t i = 0; i < requests.rows(); ++i) {
    if (requests.text(i, "phase") != "profiling" || requests.text(i, "cancelled") != "0" ||
        !requests.text(i, "error").empty())
      continue;
    const double start_s = requests.number(i, "start_s");
    of_run[requests.text(i, "run")].push_back({.conversation = requests.text(i, "conversation_id"),
                                               .turn = requests.integer(i, "turn_index"),
                                               .start_s = start_s,
                                               .end_s = start_s + requests.number(i, "e2e_ms") / 1e3,
                                               .input_tokens = requests.integer(i, "input_tokens"),
                                               .output_tokens = requests.integer(i, "output_tokens"),
                                               .ttft_ms = requests.number(i, "ttft_ms"),
                                               .itl_ms = requests.number(i, "itl_mean_ms")});
  }
  const Table table = read_packed(folder, "runs.csv", spare);
  std::vector<RecordedRun> runs;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    RecordedRun run{.id = table.text(i, "run"),
                    .hardware = table.text(i, "hw"),
                    .model = table.text(i, "model"),
                    .precision = table.text(i, "precision"),
                    .engine = table.text(i, "engine"),
                    .tensor = static_cast<int>(table.integer(i, "tp")),
                    .expert = static_cast<int>(table.integer(i, "ep")),
                    .lanes = table.integer(i, "concurrency"),
                    .kv_tokens = table.integer(i, "kv_capacity_tokens"),
                    .offload = table.text(i, "offload"),
                    .tier_gb = {},
                    .computed_share = table.number(i, "share_computed"),
                    .requests = std::move(of_run[table.text(i, "run")])};
    if (run.offload != "none") run.tier_gb = table.number(i, "offload_gb");
    if (run.requests.empty()) continue;
    std::ranges::stable_sort(run.requests, {}, &RecordedRequest::start_s);
    runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace weir
