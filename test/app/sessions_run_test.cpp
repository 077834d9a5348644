// weir run of sessions, as a user has it.
#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <sstream>

#include "sim/app/report/page.h"
#include "sim/app/results/csv.h"
#include "sim/app/results/result_set.h"
#include "sim/app/sweep/search/offered_load.h"
#include "test/app/run_weir.h"

using namespace weir;
using namespace weir::test;

namespace {

Ended run_sessions(const ScratchDirectory& scratch, const std::string& scenario,
                   std::vector<std::string> more = {}) {
  std::vector<std::string> words = {"run", shipped("workloads/" + scenario), "--out", "out"};
  words.insert(words.end(), more.begin(), more.end());
  return run_weir(words, {.folder = scratch.path()});
}

}  // namespace

TEST_CASE("weir run: sessions are counted, named and timed, and what is not measured is in no metric") {
  const ScratchDirectory scratch;
  const Ended ended = run_sessions(scratch, "sessions.json", {"--save-detailed"});
  REQUIRE(ended.code == 0);
  CHECK_THAT(ended.out, Catch::Contains("10 more that are not measured"));
  CHECK_THAT(ended.out, Catch::Contains("14 of 14 completed"));
  const Json summary = read_json_file(scratch / "out/summary.json");
  const auto rows =
      read_columns(scratch / "out/requests.csv", {"request_id", "arrival_s", "finished_s", "ttft_ms"});
  const std::vector<char> measured = measured_rows(scratch / "out", rows[0].size());
  REQUIRE(rows[0].size() == 89);
  CHECK(std::ranges::count(measured, 0) == 10);
  CHECK(summary["completed"] == 79);
  CHECK(summary["num_prompts"] == 79);
  CHECK((summary["sessions"]["count"] == 14 && summary["sessions"]["completed"] == 14));
  double sum = 0;
  for (std::size_t i = 0; i < measured.size(); ++i) sum += measured[i] ? rows[3][i] : 0;
  CHECK(summary["mean_ttft_ms"].get<double>() == Approx(sum / 79).epsilon(1e-6));
  CHECK(read_json_file(scratch / "out/detailed.json")["ttfts"].size() == 79);
  CHECK(read_columns(scratch / "out/sessions.csv", {"request_id"})[0] == rows[0]);

  // Agents three and on, by their names: from the first arrival to the last end.
  std::map<std::string, std::pair<double, double>> spans;
  std::istringstream lines(contents(scratch / "out/sessions.csv"));
  std::string line;
  std::getline(lines, line);
  for (std::size_t i = 0; std::getline(lines, line); ++i) {
    const std::size_t name = line.find("agent");
    const std::string agent = line.substr(name, line.find_first_of("/\"", name) - name);
    auto& [begin, end] = spans.try_emplace(agent, 1e300, 0).first->second;
    begin = std::min(begin, rows[1][i]);
    end = std::max(end, rows[2][i]);
  }
  CHECK(spans.size() == 16);
  double longest = 0;
  for (const auto& [agent, span] : spans)
    if (agent != "agent0" && agent != "agent1") longest = std::max(longest, span.second - span.first);
  CHECK(summary["sessions"]["p99_time_to_complete_ms"].get<double>() <= 1e3 * longest + 1e-6);
  CHECK(summary["sessions"]["p99_time_to_complete_ms"].get<double>() > 0.8e3 * longest);
}

TEST_CASE("weir run: drawn sessions run, and are the same for the same seed") {
  const ScratchDirectory scratch;
  REQUIRE(run_sessions(scratch, "generated_sessions.json").code == 0);
  const std::string once = contents(scratch / "out/requests.csv");
  REQUIRE(run_sessions(scratch, "generated_sessions.json").code == 0);
  CHECK(contents(scratch / "out/requests.csv") == once);
  CHECK(read_json_file(scratch / "out/summary.json")["sessions"]["count"] == 60);
  REQUIRE(run_sessions(scratch, "generated_sessions.json", {"--seed", "2"}).code == 0);
  CHECK(contents(scratch / "out/requests.csv") != once);
}

TEST_CASE("capacity: the rate of logged sessions is that of their first requests") {
  Json scenario = read_json_file(shipped("workloads/sessions.json"));
  scenario["workload"]["arrivals"] = {{"kind", "trace"}, {"rate_scale", 2}};
  const OfferedLoad load(scenario, shipped("workloads/sessions.json"));
  CHECK(load.rate_per_s() == Approx(2 / 1.5));  // one every 1.5 s, twice as fast
}

TEST_CASE("timeline.json: a track a session, whose boxes are its requests and never overlap") {
  const ScratchDirectory scratch;
  REQUIRE(run_sessions(scratch, "sessions.json", {"--timeline", "--quiet"}).code == 0);
  std::map<int, std::vector<std::pair<double, double>>> boxes;
  std::map<int, std::string> names;
  int requests = 0;
  const Json timeline = read_json_file(scratch / "out/timeline.json");
  for (const Json& e : timeline["traceEvents"]) {
    if (e["name"] == "thread_name") names[e["tid"]] = e["args"]["name"];
    if (e["ph"] != "X" || e["cat"] != "session") continue;
    ++requests;
    boxes[e["tid"]].emplace_back(e["ts"], e["ts"].get<double>() + e["dur"].get<double>());
  }
  CHECK(requests == 89);
  CHECK(boxes.size() >= 16);
  for (auto& [thread, spans] : boxes) {
    CHECK(names[thread].starts_with("session agent"));
    std::ranges::sort(spans);
    for (std::size_t i = 1; i < spans.size(); ++i) CHECK(spans[i].first >= spans[i - 1].second - 0.002);
  }
}

TEST_CASE("weir run: mistakes of a sessions file are told at /workload/requests/file, and end with 2") {
  const ScratchDirectory scratch;
  std::ofstream(scratch / "bad.csv") << "session_id,input_tokens,output_tokens,after\na,1,1,b:0\na,1,x,\n";
  const Ended ended =
      run_sessions(scratch, "sessions.json",
                   {"--set", "/workload/requests/file=\"" + (scratch / "bad.csv").string() + "\""});
  CHECK(ended.code == 2);
  CHECK_THAT(ended.err, Catch::Contains("/workload/requests/file: "));
  CHECK_THAT(ended.err, Catch::Contains("line 2: after: there is no request \"b:0\""));
  CHECK_THAT(ended.err, Catch::Contains("line 3: output_tokens"));
}

TEST_CASE("weir run: where prompts came from adds up, request by request, over time and in the summary") {
  const ScratchDirectory scratch;
  Json scenario = read_json_file(shipped("workloads/generated_sessions.json"));
  scenario["serving"]["replicas"][0]["kv_cache"] = {{"blocks", 2000},
                                                    {"tiers", {{{"kind", "host"}, {"capacity_gb", 200}}}}};
  write(scratch / "agents.json", scenario.dump());
  const Ended ended =
      run_weir({"run", "agents.json", "--out", "out", "--figures"}, {.folder = scratch.path()});
  REQUIRE(ended.code == 0);
  CHECK_THAT(ended.out, Catch::Contains("in tier 0"));
  const Json summary = read_json_file(scratch / "out/summary.json")["prefix_cache"];
  const auto sources =
      read_columns(scratch / "out/prompts.csv", {"computed_tokens", "local_hit_tokens", "tier_0_hit_tokens"});
  const auto requests = read_columns(scratch / "out/requests.csv", {"input_tokens", "finished_s"});
  double sums[3] = {};
  for (std::size_t i = 0; i < requests[0].size(); ++i) {
    CHECK(sources[0][i] + sources[1][i] + sources[2][i] == requests[0][i]);
    CHECK(sources[0][i] >= 1);  // the last token is always computed
    for (std::size_t source = 0; source < 3; ++source) sums[source] += sources[source][i];
  }
  CHECK(summary["computed_tokens"] == sums[0]);
  CHECK(summary["local_hit_tokens"] == sums[1]);
  CHECK(summary["tier_hit_tokens"] == Json::array({sums[2]}));
  CHECK(summary["prompt_tokens"] == sums[0] + sums[1] + sums[2]);
  CHECK(sums[2] > 0);

  const Json over_time = run_curves(scratch / "out")["prompts"];
  const char* const names[] = {"computed", "KV cache", "tier 0"};
  for (std::size_t source = 0; source < 3; ++source) {
    double tokens = 0;
    for (const Json& rate : over_time["tokens_per_s"][names[source]])
      tokens += rate.get<double>() * over_time["time_s"][0].get<double>();
    CHECK(tokens == Approx(sums[source]).epsilon(1e-4));
  }
  std::size_t in_tenths = 0;
  for (const Json& tenth : over_time["tenths"]) in_tenths += tenth["requests"].get<std::size_t>();
  CHECK(in_tenths == requests[0].size());
  for (const char* figure : {"out/prompts.svg", "out/ttft_by_hit_share.svg"})
    CHECK(std::filesystem::file_size(scratch / figure) > 1000);
}
