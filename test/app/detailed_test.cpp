// A run's results under the names of vLLM's serving benchmark, detailed.json among them.
#include <catch2/catch.hpp>

#include <map>
#include <regex>
#include <sstream>

#include "sim/app/output/writers.h"
#include "sim/app/results/result_set.h"
#include "test/app/run_weir.h"

using namespace weir;
using namespace weir::test;

namespace {

struct CsvRow {
  double ttft_s, decode_s;
  std::size_t output_tokens;
};

std::vector<CsvRow> requests_csv(const std::filesystem::path& file) {
  std::istringstream rows(contents(file));
  std::string row;
  std::getline(rows, row);
  std::vector<CsvRow> all;
  while (std::getline(rows, row)) {
    std::vector<std::string> cells;
    std::istringstream in(row);
    for (std::string cell; std::getline(in, cell, ',');) cells.push_back(cell);
    const double first = std::stod(cells.at(6));
    all.push_back({first - std::stod(cells[1]), std::stod(cells[7]) - first, std::stoul(cells[3])});
  }
  return all;
}

Json detailed(const ScratchDirectory& scratch, const std::string& scenario, const std::string& fast_forward) {
  const Ended ended =
      run_weir({"run", shipped(scenario), "--quiet", "--save-detailed", "--out", "out", "--set",
                "/workload/requests/count=60", "--set", "/fast_forward=" + fast_forward},
               {.folder = scratch.path()});
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  return read_json_file(scratch / "out/detailed.json");
}

Json summary_with(const ScratchDirectory& scratch, const std::string& arrivals) {
  const Ended ended = run_small(scratch, "a", {"--quiet", "--set", "/workload/arrivals=" + arrivals});
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  return read_json_file(scratch / "out/a/summary.json");
}

}  // namespace

TEST_CASE("detailed.json: vLLM's lists, where who failed has no output and says why") {
  const auto record = [](double arrival, std::int64_t output, RequestStatus status) {
    RequestRecord r;
    r.request = {Seconds(arrival), 100, output};
    r.status = status;
    return r;
  };
  RunResult result;
  result.warmup_requests = 1;
  result.requests = {record(0, 9, RequestStatus::completed), record(0.5, 3, RequestStatus::completed),
                     record(1, 8, RequestStatus::unfinished), record(2, 7, RequestStatus::rejected)};
  result.requests[0].request.measured = false;
  result.requests[1].first_token = Seconds(1.5);
  result.requests[2].first_token = Seconds(1.25);
  result.token_gaps = {{9}, {0.25, 0.5}, {0.125}, {}};
  const ScratchDirectory scratch;
  write_detailed_json(scratch / "detailed.json", result);
  const Json d = read_json_file(scratch / "detailed.json");
  CHECK(d["input_lens"] == Json({100, 100, 100}));
  CHECK(d["output_lens"] == Json({3, 0, 0}));
  CHECK(d["cached_tokens"] == Json({0, 0, 0}));
  CHECK(d["ttfts"] == Json({1.0, 0.25, 0.0}));
  CHECK(d["itls"] == Json({{0.25, 0.5}, {0.125}, Json::array()}));
  CHECK(d["start_times"] == Json({0.5, 1.0, 2.0}));
  REQUIRE(d["errors"].size() == 3);
  CHECK(d["errors"][0] == "");
  CHECK_THAT(d["errors"][1].get<std::string>(), Catch::Contains("unfinished"));
  CHECK_THAT(d["errors"][2].get<std::string>(), Catch::Contains("rejected"));
}

TEST_CASE(
    "weir run --save-detailed: every gap of every request, as requests.csv has their sums, "
    "and the same when no step is fast-forwarded") {
  for (const char* scenario :
       {"quickstart.json", "parallelism/disaggregated.json", "batching/preemption_swap.json",
        "batching/preemption_recompute.json", "parallelism/pipeline_parallel.json"}) {
    INFO(scenario);
    const ScratchDirectory scratch;
    const Json fast = detailed(scratch, scenario, "true");
    const std::vector<CsvRow> rows = requests_csv(scratch / "out/requests.csv");
    REQUIRE(fast["itls"].size() == rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      double sum = 0;
      for (const Json& gap : fast["itls"][i]) sum += gap.get<double>();
      CHECK(fast["itls"][i].size() + 1 == rows[i].output_tokens);
      CHECK(sum == Approx(rows[i].decode_s).margin(1e-9 * static_cast<double>(rows[i].output_tokens)));
      CHECK(fast["ttfts"][i].get<double>() == Approx(rows[i].ttft_s).margin(2e-9));
    }
    const Json slow = detailed(scratch, scenario, "false");
    for (std::size_t i = 0; i < rows.size(); ++i)
      for (std::size_t gap = 0; gap < fast["itls"][i].size(); ++gap)
        REQUIRE(fast["itls"][i][gap].get<double>() ==
                Approx(slow["itls"][i][gap].get<double>()).margin(2e-9));
  }
}

TEST_CASE("weir run --save-detailed: more tokens than it can hold are refused, and nothing is made") {
  const ScratchDirectory scratch;
  const Ended ended = run_small(
      scratch, "a",
      {"--save-detailed", "--set",
       R"(/workload/requests={"kind": "fixed", "count": 20001, "input_tokens": 1, "output_tokens": 1000})"});
  CHECK(ended.code == 2);
  CHECK_THAT(ended.err, Catch::Contains("at most 20000000 output tokens, got 20001000"));
  CHECK_FALSE(std::filesystem::exists(scratch / "out"));
}

TEST_CASE("summary.json: what was asked stands under vLLM's names, null where the arrivals have none") {
  const ScratchDirectory scratch;
  const auto asked = [&](const std::string& arrivals) {
    const Json s = summary_with(scratch, arrivals);
    CHECK(s["model_id"] == "llama3.1-8b");
    CHECK(s["num_prompts"] == s["completed"].get<int>() + s["failed"].get<int>());
    return Json({s["request_rate"], s["burstiness"], s["max_concurrency"]});
  };
  CHECK(asked(R"({"kind": "poisson", "rate_per_s": 8})") == Json({8.0, 1.0, nullptr}));
  CHECK(asked(R"({"kind": "gamma", "rate_per_s": 4, "cv": 2})") == Json({4.0, 0.25, nullptr}));
  CHECK(asked(R"({"kind": "constant", "rate_per_s": 4})") == Json({4.0, "inf", nullptr}));
  CHECK(asked(R"({"kind": "all_at_once"})") == Json({"inf", nullptr, nullptr}));
  CHECK(asked(R"({"kind": "closed_loop", "concurrency": 5, "warmup_requests": 3})") ==
        Json({"inf", nullptr, 5}));
  REQUIRE(run_weir({"run", shipped("workloads/trace_replay.json"), "--quiet", "--out", "t"},
                   {.folder = scratch.path()})
              .code == 0);
  CHECK(read_json_file(scratch / "t/summary.json")["request_rate"].is_null());
}

TEST_CASE("performance.json: has the date as vLLM writes it, and what equal runs share has none") {
  const ScratchDirectory scratch;
  const Json summary = summary_with(scratch, R"({"kind": "poisson", "rate_per_s": 8})");
  CHECK_FALSE(summary.contains("date"));
  const Json performance = read_json_file(scratch / "out/a/performance.json");
  CHECK(std::regex_match(performance["date"].get<std::string>(), std::regex(R"(20\d{6}-\d{6})")));
}

TEST_CASE("results: what was asked is no metric of what came out") {
  std::map<std::string, double> metrics;
  for (const auto& [name, value] : scalar_metrics({{"num_prompts", 5},
                                                   {"request_rate", 8.0},
                                                   {"burstiness", nullptr},
                                                   {"max_concurrency", 4},
                                                   {"completed", 5}}))
    metrics[name] = value;
  CHECK(metrics == std::map<std::string, double>{{"completed", 5}});
}

TEST_CASE("performance.json: each GPU and the host's memory is an actor on a host of its own") {
  const ScratchDirectory scratch;
  const auto counted = [&](const char* actors) {
    const Ended ended = run_weir(
        {"run", shipped("l3/quick.json"), "--out", actors, "--set", std::string("/actors=\"") + actors + '"'},
        {.folder = scratch.path()});
    REQUIRE(ended.code == 0);
    return read_json_file(scratch / actors / "performance.json");
  };
  const Json devices = counted("devices"), groups = counted("groups");
  CHECK(devices["actors"] == 8 + 1 + 1);  // and the clients
  CHECK(groups["actors"] == 1 + 1 + 1);
  CHECK(devices["hosts"] == 8 + 1 + 1);  // and the node's processor
  CHECK(groups["hosts"] == devices["hosts"]);
  CHECK(devices["activities"] > 100);
}
