#include "sim/studies/validation/sessions/replayed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>

#include "sim/app/child_process.h"
#include "sim/app/output/metrics.h"
#include "sim/app/output/output_file.h"
#include "sim/serving/simulation.h"
#include "sim/studies/validation/sessions/replay.h"
#include "sim/studies/validation/sessions/server.h"

namespace weir {
namespace {

// Plain numbers, that cross from a child to its parent as they are; behind them TTFT and ITL of each request.
struct ReplayFigures {
  double computed_tokens = 0, prompt_tokens = 0, preemptions = 0;
};

struct RequestTimes {
  double ttft_ms = 0, itl_ms = 0;
};

std::string play(const RecordedRun& run, const std::string& name, const std::vector<ReplayRow>& rows,
                 const std::filesystem::path& file) {
  const Plan plan = read_plan(replay_scenario(run, std::filesystem::absolute(file)), name);
  const RunResult result = simulate(plan, {});
  std::map<std::pair<std::string, std::int64_t>, std::size_t> recorded;
  for (const ReplayRow& row : rows)
    if (row.recorded) recorded[{row.session, row.turn}] = *row.recorded;
  ReplayFigures figures;
  std::vector<RequestTimes> times(run.requests.size());
  for (std::size_t i = 0; i < result.requests.size(); ++i) {
    const RequestRecord& record = result.requests[i];
    if (!is_measured(record)) continue;
    const auto request = static_cast<std::int32_t>(i);
    const std::size_t place = recorded.at({result.sessions->name(request), result.sessions->turn(request)});
    if (record.status != RequestStatus::completed)
      throw std::runtime_error(fmt::format("{}: turn {} of {} was not served", name, run.requests[place].turn,
                                           run.requests[place].conversation));
    figures.prompt_tokens += static_cast<double>(record.request.input_tokens);
    std::int64_t computed = record.request.input_tokens - record.found_tokens;
    if (const auto from = result.tier_tokens.find(request); from != result.tier_tokens.end())
      computed = std::accumulate(from->second.begin(), from->second.end(), computed, std::minus<>());
    figures.computed_tokens += static_cast<double>(computed);
    figures.preemptions += record.preemptions;
    times[place] = {1e3 * time_to_first_token(record).value(),
                    1e3 * time_per_output_token(record).value_or(Seconds(0)).value()};
  }
  std::string bytes(reinterpret_cast<const char*>(&figures), sizeof figures);
  return bytes.append(reinterpret_cast<const char*>(times.data()), times.size() * sizeof(RequestTimes));
}

void add(ReplayedRun& sum, const RecordedRun& run, const std::string& bytes, double share) {
  ReplayFigures figures;
  std::vector<RequestTimes> times(run.requests.size());
  std::memcpy(&figures, bytes.data(), sizeof figures);
  std::memcpy(times.data(), bytes.data() + sizeof figures, times.size() * sizeof(RequestTimes));
  const auto ttft = [&](std::size_t i) { return times[i].ttft_ms; };
  sum.computed_share += share * figures.computed_tokens / figures.prompt_tokens;
  sum.preemptions += share * figures.preemptions;
  sum.ttft_mean_ms += share * mean_ms(run, ttft);
  sum.late_ttft_median_ms += share * late_median_ms(run, ttft);
  sum.itl_mean_ms += share * mean_ms(run, [&](std::size_t i) { return times[i].itl_ms; });
}

}  // namespace

double mean_ms(const RecordedRun& run, const std::function<double(std::size_t)>& of) {
  double sum = 0;
  for (std::size_t i = 0; i < run.requests.size(); ++i) sum += of(i);
  return sum / static_cast<double>(run.requests.size());
}

double late_median_ms(const RecordedRun& run, const std::function<double(std::size_t)>& of) {
  std::vector<double> values;
  for (std::size_t i = 0; i < run.requests.size(); ++i)
    if (run.requests[i].start_s >= settled_s) values.push_back(of(i));
  return values.empty() ? 0 : percentile(values, 50);
}

std::vector<ReplayedRun> replay(const std::vector<RecordedRun>& runs, std::uint64_t seeds,
                                const std::filesystem::path& folder, const ReproduceOptions& options) {
  std::filesystem::create_directories(folder);
  std::vector<ReplayedRun> replayed(runs.size());
  std::size_t ended = 0;
  const std::size_t count = runs.size() * seeds;
  in_children(
      count, options.jobs,
      [&](std::size_t i) {
        const RecordedRun& run = runs[i / seeds];
        const std::uint64_t seed = i % seeds + 1;
        const std::string name = fmt::format("{}_seed{}", run.id, seed);
        const std::vector<ReplayRow> rows = replay_rows(run, seed);
        write_file(folder / (name + ".csv"), sessions_csv(rows));
        write_file(folder / (name + ".json"), replay_scenario(run, name + ".csv").dump(2) + "\n");
        return play(run, name, rows, folder / (name + ".csv"));
      },
      [&](std::size_t i, ChildResult child) {
        ReplayedRun& r = replayed[i / seeds];
        if (!child.error.empty())
          r.error = child.error;
        else
          add(r, runs[i / seeds], child.output, 1 / static_cast<double>(seeds));
        if (options.progress) options.progress(fmt::format("{}/{} replays", ++ended, count));
        return true;
      });
  return replayed;
}

}  // namespace weir
