// weir explain: the life of a request, of a run with --trace.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>
#include <optional>
#include <set>

#include "sim/app/command_line.h"
#include "sim/app/explain/explained.h"
#include "sim/app/results/result_set.h"
#include "sim/app/wrap.h"
#include "sim/core/errors.h"

namespace weir {
namespace {

struct ExplainArguments {
  std::string directory;
  std::optional<std::int64_t> request;
  std::int64_t slowest = 0;
  bool json = false;
};

std::filesystem::path trace_of(const std::filesystem::path& directory) {
  require_results(directory);
  const std::filesystem::path trace = directory / "trace.jsonl";
  if (std::filesystem::exists(trace)) return trace;
  throw ConfigError(directory.string(), "",
                    "there is no trace.jsonl: run the scenario with --trace REQUEST, or --trace all");
}

template <class Do>
void for_each_line(const std::filesystem::path& trace, const Do& what) {
  std::ifstream in(trace);
  std::int64_t number = 0;
  for (std::string text; std::getline(in, text);) {
    ++number;
    try {
      what(Json::parse(text));
    } catch (const Json::exception&) {
      throw ConfigError(trace.string(), fmt::format("line {}", number),
                        "is no line of a trace of weir run's");
    }
  }
  if (in.bad()) throw std::runtime_error("cannot read " + trace.string());
}

std::vector<std::int64_t> slowest_of(const std::filesystem::path& trace, const std::vector<RequestRow>& rows,
                                     std::int64_t most) {
  std::set<std::int64_t> traced;
  for_each_line(trace, [&](const Json& line) {
    if (line.at("event") == "arrived") traced.insert(line.at("request").get<std::int64_t>());
  });
  std::vector<std::int64_t> all;
  for (const std::int64_t request : traced)
    if (request >= 0 && request < std::ssize(rows) && rows[static_cast<std::size_t>(request)].ttft_ms)
      all.push_back(request);
  std::ranges::stable_sort(all, std::greater<>(), [&](std::int64_t request) {
    return rows[static_cast<std::size_t>(request)].ttft_ms;
  });
  if (all.empty()) throw ConfigError(trace.string(), "", "no request in it has a first token");
  all.resize(std::min(all.size(), static_cast<std::size_t>(most)));
  return all;
}

int explain(const ExplainArguments& a) {
  const std::filesystem::path directory = a.directory, trace = trace_of(directory);
  const std::vector<RequestRow> rows = read_requests(directory / "requests.csv");
  if (!a.request && a.slowest == 0)
    throw ConfigError("weir explain", "", "expected a request, or --slowest N");
  if (a.request && (*a.request < 0 || *a.request >= std::ssize(rows)))
    throw ConfigError(
        "weir explain", "",
        fmt::format("expected a request from 0 to {} (got {})", std::ssize(rows) - 1, *a.request));
  std::vector<Tale> tales;
  for (const std::int64_t request :
       a.request ? std::vector<std::int64_t>{*a.request} : slowest_of(trace, rows, a.slowest))
    tales.emplace_back(request, rows[static_cast<std::size_t>(request)].arrival);
  for_each_line(trace, [&](const Json& line) {
    for (Tale& tale : tales) tale.hear(line);
  });
  if (a.request && !tales[0].known())
    throw ConfigError(
        trace.string(), "",
        fmt::format("request {0} is not in it: run the scenario with --trace {0}, or all", *a.request));
  Json all = Json::array();
  for (const Tale& tale : tales) {
    const RequestRow& row = rows[static_cast<std::size_t>(tale.life().request())];
    if (a.json)
      all.push_back(explained_json(tale, row));
    else
      fmt::print("{}{}", &tale == tales.data() ? "" : "\n",
                 explained_text(tale, row, terminal_width(STDOUT_FILENO)));
  }
  if (a.json) fmt::print("{}\n", all.dump(2));
  return exit_done;
}

}  // namespace

std::function<int()> declare_explain(CLI::App& app) {
  const auto a = std::make_shared<ExplainArguments>();
  app.add_option("DIR", a->directory, "results of weir run --trace")->required();
  CLI::Option* request = app.add_option("REQUEST", a->request, "its number in requests.csv");
  app.add_option("--slowest", a->slowest, "instead: the traced requests with the longest TTFT, so many")
      ->type_name("N")
      ->check(CLI::PositiveNumber)
      ->excludes(request);
  app.add_flag("--json", a->json, "for programs: a list, an entry a request");
  return [a] { return explain(*a); };
}

}  // namespace weir
