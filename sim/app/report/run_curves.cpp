// The page of a single run shows these beside its summary: the distribution of its latencies, from
// requests.csv, and its course, from timeseries.csv; both thinned to what a chart can show.
#include <algorithm>
#include <cmath>

#include "sim/app/output/prompts/prompt_sources.h"
#include "sim/app/report/page.h"
#include "sim/app/results/csv.h"
#include "sim/app/results/result_set.h"

namespace weir {
namespace {

constexpr std::size_t quantiles = 200, moments = 500;

}  // namespace

Json thinned_quantiles(std::vector<double> values) {
  std::erase_if(values, [](double v) { return std::isnan(v); });
  std::sort(values.begin(), values.end());
  Json list = Json::array();
  for (std::size_t q = 0; q <= quantiles && !values.empty(); ++q)
    list.push_back(significant(values[q * (values.size() - 1) / quantiles]));
  return list;
}

Json thinned_means(const std::vector<double>& values) {
  const std::size_t group = (values.size() + moments - 1) / moments;
  Json list = Json::array();
  for (std::size_t from = 0; from < values.size(); from += group) {
    const std::size_t end = std::min(from + group, values.size());
    double sum = 0;
    for (std::size_t i = from; i < end; ++i) sum += values[i];
    list.push_back(significant(sum / static_cast<double>(end - from)));
  }
  return list;
}

namespace {

// By prompts.csv, which a run whose prompts can find nothing lacks.
std::optional<PromptSources> prompts_of(const std::filesystem::path& directory) {
  const auto file = directory / "prompts.csv";
  if (!std::filesystem::exists(file)) return {};
  std::vector<std::string> names = CsvReader(file).header();
  names.erase(names.begin());
  const auto columns = read_columns(file, names);
  const auto requests = read_columns(directory / "requests.csv", {"scheduled_s", "ttft_ms", "finished_s"});
  const std::vector<char> measured = measured_rows(directory, requests[0].size());
  double end_s = 0;
  for (const double finished : requests[2]) end_s = std::fmax(end_s, finished);
  PromptSums sums(end_s, names.size());
  std::vector<double> tokens(names.size());
  for (std::size_t i = 0; i < measured.size(); ++i) {
    if (!measured[i]) continue;
    for (std::size_t source = 0; source < names.size(); ++source) tokens[source] = columns[source].at(i);
    sums.add(requests[0][i], requests[1][i], tokens);
  }
  return std::move(sums).result();
}

Json json_of(const PromptSources& prompts) {
  const auto list = [](const std::vector<double>& values) {
    Json rounded = Json::array();
    for (const double value : values) rounded.push_back(significant(value));
    return rounded;
  };
  Json tokens = Json::object(), tenths = Json::array();
  for (std::size_t i = 0; i < prompts.sources.size(); ++i)
    tokens[prompts.sources[i]] = list(prompts.tokens_per_s[i]);
  for (const PromptSources::Tenth& tenth : prompts.tenths)
    tenths.push_back({{"from_percent", tenth.from_percent},
                      {"requests", tenth.requests},
                      {"p50_ttft_ms", significant(tenth.p50_ttft_ms)},
                      {"p90_ttft_ms", significant(tenth.p90_ttft_ms)}});
  return {{"time_s", list(prompts.time_s)},
          {"tokens_per_s", tokens},
          {"hit_percent", list(prompts.hit_percent)},
          {"tenths", tenths}};
}

}  // namespace

Json run_curves(const std::filesystem::path& directory) {
  namespace fs = std::filesystem;
  Json latencies = Json::object(), course = Json::object();
  if (const fs::path file = directory / "requests.csv"; fs::exists(file)) {
    const std::vector<std::string> names = {"ttft_ms", "tpot_ms", "e2el_ms"};
    auto columns = read_columns(file, names);
    const std::vector<char> measured = measured_rows(directory, columns[0].size());
    for (std::vector<double>& column : columns)
      for (std::size_t i = 0; i < column.size(); ++i)
        if (!measured[i]) column[i] = std::nan("");
    for (std::size_t i = 0; i < names.size(); ++i)
      latencies[names[i]] = thinned_quantiles(std::move(columns[i]));
  }
  if (const fs::path file = directory / "timeseries.csv"; fs::exists(file)) {
    const std::vector<std::string> names = CsvReader(file).header();
    const auto columns = read_columns(file, names);
    for (std::size_t i = 0; i < names.size(); ++i) course[names[i]] = thinned_means(columns[i]);
  }
  Json curves = {{"latencies", latencies}, {"course", course}};
  if (const auto prompts = prompts_of(directory)) curves["prompts"] = json_of(*prompts);
  return curves;
}

}  // namespace weir
