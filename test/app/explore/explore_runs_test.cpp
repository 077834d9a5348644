// weir explore as a program: its answers, its end, and what becomes of older runs.
#include <catch2/catch.hpp>

#include <signal.h>

#include <thread>

#include "sim/app/child_process.h"
#include "sim/app/explore/packets.h"
#include "sim/app/explore/worker.h"
#include "test/app/explore/explore_server.h"

using namespace weir;
using namespace weir::test;

namespace {

const Json& part_of(const std::vector<Json>& lines, int part) {
  for (const Json& line : lines)
    if (line.value("part", -1) == part) return line["answer"];
  throw std::runtime_error("no part " + std::to_string(part));
}

// Requests that take seconds: none may be skipped over.
const ScenarioChanges slow_changes = {{"/workload/requests/count", 200000}, {"/fast_forward", false}};

// Until it has a run: beside the server and its worker.
std::vector<pid_t> when_busy(const ExploreProcess& weir) {
  for (int i = 0; i < 1000 && weir.processes().size() < 3; ++i) wait(0.01);
  return weir.processes();
}

bool gone(const std::vector<pid_t>& processes) {
  for (int i = 0; i < 200; ++i) {
    bool any = false;
    for (const pid_t process : processes) any = any || ::kill(process, 0) == 0;
    if (!any) return true;
    wait(0.01);
  }
  return false;
}

}  // namespace

TEST_CASE("explore: a run is that of weir run, and its other loads those of other rates") {
  const ScratchDirectory scratch;
  const ExploreProcess weir(shipped("quickstart.json"));
  const ScenarioChanges changes = {{"/workload/arrivals/rate_per_s", 6.0}, {"/workload/requests/count", 120}};
  const std::vector<Json> lines = lines_of_run(weir.run(changes));
  REQUIRE(lines.back() == Json{{"end", "done"}});
  CHECK(lines.size() == 10);
  REQUIRE(run_weir({"run", shipped("quickstart.json"), "--set", "/workload/arrivals/rate_per_s=6.0", "--set",
                    "/workload/requests/count=120", "--out", "out", "--quiet"},
                   {.folder = scratch.path()})
              .code == 0);
  Json summary = read_json_file(scratch / "out/summary.json");
  CHECK(part_of(lines, 0)["scenario"] == summary["scenario"]);
  summary.erase("scenario");
  CHECK(part_of(lines, 0)["summary"] == summary);
  const Json& ttft = part_of(lines, 0)["latencies"]["ttft_ms"];
  CHECK(ttft[ttft.size() / 2].get<double>() == Approx(summary["median_ttft_ms"].get<double>()).epsilon(0.02));
  const Json& course = part_of(lines, 0)["course"];
  CHECK(course["time_s"].size() == course["kv_blocks_used"].size());
  REQUIRE(run_weir({"run", shipped("quickstart.json"), "--set", "/workload/arrivals/rate_per_s=12", "--set",
                    "/workload/requests/count=120", "--out", "twice", "--quiet"},
                   {.folder = scratch.path()})
              .code == 0);
  const Json twice = read_json_file(scratch / "twice/summary.json");
  CHECK(part_of(lines, 6)["p99_ttft_ms"] == twice["p99_ttft_ms"]);  // the sixth is twice the load
}

TEST_CASE("explore: a scenario that cannot run says why, with pointers, and the next one runs") {
  const ExploreProcess weir(shipped("quickstart.json"));
  const auto lines = lines_of_run(
      weir.run({{"/serving/replicas/0/batching/kind", "nonsense"}, {"/workload/requests/count", -1}}));
  const Json& problems = part_of(lines, 0)["problems"];
  REQUIRE(problems.size() == 2);
  CHECK(problems[0]["pointer"] == "/serving/replicas/0/batching/kind");
  CHECK(problems[1]["pointer"] == "/workload/requests/count");
  CHECK(lines_of_run(weir.run({})).size() == 10);
}

TEST_CASE("explore: arrivals without a rate have the other loads that they can have") {
  const ExploreProcess weir(shipped("quickstart.json"));
  const auto loads = [&](const Json& arrivals) {
    int some = 0;
    for (const Json& line : lines_of_run(weir.run({{"/workload/arrivals", arrivals}})))
      some += line.value("part", 0) > 0 && line["answer"].is_object();
    return some;
  };
  CHECK(loads({{"kind", "closed_loop"}, {"concurrency", 16}}) == 8);
  CHECK(loads({{"kind", "closed_loop"}, {"concurrency", 1}}) ==
        3);  // 2, 3 and 4; others are none or the same one
  CHECK(loads({{"kind", "all_at_once"}}) == 0);
}

TEST_CASE("explore: a newer change ends the page's older run, and no other page's") {
  const ExploreProcess weir(shipped("quickstart.json"));
  std::vector<Json> older, other;
  std::thread first([&] { older = lines_of_run(weir.run(slow_changes, "a")); });
  const std::size_t busy = when_busy(weir).size();
  const auto newer = lines_of_run(weir.run({}, "a"));
  first.join();
  CHECK(busy > 2);  // the server, the worker, its runs
  CHECK(older.back() == Json{{"end", "newer"}});
  CHECK(newer.back() == Json{{"end", "done"}});
  std::thread second([&] { other = lines_of_run(weir.run({}, "b")); });
  CHECK(lines_of_run(weir.run({}, "a")).back() == Json{{"end", "done"}});
  second.join();
  CHECK(other.back() == Json{{"end", "done"}});
  CHECK(weir.processes().size() == 2);
}

TEST_CASE("explore: Ctrl-C ends it with 0 and SIGTERM with 143, however busy it is, and no process is left") {
  for (const int signal : {SIGINT, SIGTERM})
    for (const bool busy : {false, true}) {
      ExploreProcess weir(shipped("quickstart.json"));
      std::thread asking;
      if (busy) asking = std::thread([&] { weir.run(slow_changes); });
      const std::vector<pid_t> all = busy ? when_busy(weir) : weir.processes();
      CHECK(all.size() >= (busy ? 3u : 2u));
      CHECK(weir.end(signal) == (signal == SIGINT ? 0 : 143));
      if (busy) asking.join();
      CHECK(gone({all.begin() + 1, all.end()}));
    }
}

TEST_CASE("explore: opens the page with xdg-open, which outlives it, or does without") {
  const ScratchDirectory scratch;
  std::filesystem::create_directory(scratch / "bin");
  write(scratch / "bin/xdg-open", "#!/bin/sh\necho $1 > '" + (scratch / "part").string() + "'\nmv '" +
                                      (scratch / "part").string() + "' '" + (scratch / "opened").string() +
                                      "'\necho $$ > '" + (scratch / "pid").string() + "'\nexec sleep 60\n");
  std::filesystem::permissions(scratch / "bin/xdg-open", std::filesystem::perms::owner_all);
  const auto until = [](const std::filesystem::path& file) {
    for (int i = 0; i < 1000 && (!std::filesystem::exists(file) || std::filesystem::is_empty(file)); ++i)
      wait(0.01);
  };
  const Ended ended = run_weir({"explore", shipped("quickstart.json")},
                               {.environment = {"PATH=" + (scratch / "bin").string() + ":/usr/bin:/bin"},
                                .under = {"setsid"},
                                .meanwhile = [&](pid_t weir) {
                                  until(scratch / "pid");
                                  ::kill(-weir, SIGINT);  // as a terminal does
                                }});
  CHECK(ended.code == 0);
  CHECK(ended.out.starts_with("http://127.0.0.1:"));
  CHECK(contents(scratch / "opened") == ended.out);
  const pid_t browser = std::stoi(contents(scratch / "pid"));
  CHECK(::kill(browser, 0) == 0);
  ::kill(browser, SIGKILL);
  ScratchDirectory empty;
  const Ended without =
      run_weir({"explore", shipped("quickstart.json")},
               {.environment = {"PATH=" + empty.path().string()}, .meanwhile = [](pid_t weir) {
                  wait(0.5);
                  ::kill(weir, SIGINT);
                }});
  CHECK(without.code == 0);
  CHECK_THAT(without.err, Catch::Contains("open this address"));
}

TEST_CASE("explore: killed, it takes its worker and runs along, and without its worker it says so and ends") {
  ExploreProcess killed(shipped("quickstart.json"));
  const std::vector<pid_t> all = killed.processes();
  REQUIRE(all.size() == 2);
  killed.end(SIGKILL);
  CHECK(gone({all.begin() + 1, all.end()}));
  ExploreProcess alone(shipped("quickstart.json"));
  ::kill(alone.processes().at(1), SIGKILL);
  CHECK(alone.end(0) == 1);
}

TEST_CASE("explore: what it cannot show or listen on is bad input, told before anything starts") {
  const auto fails = [](const std::vector<std::string>& arguments, const std::string& because) {
    const Ended ended = run_weir(arguments);
    INFO(ended.err);
    CHECK(ended.code == 2);
    CHECK(ended.out == "");
    CHECK_THAT(ended.err, Catch::Contains(because));
  };
  fails({"explore", "nowhere.json", "--no-open"}, "cannot be opened");
  fails({"explore", shipped("sweeps/llama3.1-70b_layouts_8_h100.json"), "--no-open"}, "this is a sweep");
  fails({"explore", shipped("hetero_pim/hetero_pim.json"), "--no-open"}, "only trains");
  fails({"explore", shipped("quickstart.json"), "--port", "0"}, "--port");
  const ExploreProcess weir(shipped("quickstart.json"));
  fails({"explore", shipped("quickstart.json"), "--no-open", "--port", std::to_string(weir.port())},
        "it is taken");
}

TEST_CASE("explore: a run that takes too long is ended, and says so") {
  const Explored explored = explored_scenario(shipped("quickstart.json"));
  const Worker worker(explored, 0.5);
  Json scenario = explored.document;
  for (const auto& [pointer, value] : slow_changes) scenario[Json::json_pointer(pointer)] = value;
  REQUIRE(send_packet(worker.socket(), {7, 0, Json{{"page", "a"}, {"scenario", scenario}}.dump()}));
  PacketReader reader(worker.socket());
  std::vector<Packet> all;
  while ((all.empty() || all.back().part != end_of_job) && reader.receive(true))
    while (const auto packet = reader.next()) all.push_back(*packet);
  REQUIRE(all.size() >= 2);
  CHECK(all.back().job == 7);
  const auto itself = std::find_if(all.begin(), all.end(), [](const Packet& p) { return p.part == 0; });
  REQUIRE(itself != all.end());
  CHECK_THAT(Json::parse(itself->text)["error"].get<std::string>(), Catch::Contains("time limit of 0.5 s"));
}

TEST_CASE("children: one that is killed has no result, the others do") {
  Children children;
  for (const std::size_t id : {1u, 2u, 3u})
    children.start(id, [id] {
      if (id == 2) wait(60);
      return std::to_string(id);
    });
  children.kill(2);
  CHECK(children.running() == 2);
  std::set<std::string> results;
  while (children.running() > 0)
    for (const auto& [id, result] : children.wait(std::chrono::seconds(10))) results.insert(result.output);
  CHECK(results == std::set<std::string>{"1", "3"});
}
