// timeline.json as a viewer reads it: Chrome's trace event format.
#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "sim/serving/record/recorder.h"
#include "test/app/run_weir.h"

using namespace weir;
using namespace weir::test;

namespace {

Json timeline_of(const ScratchDirectory& scratch, const std::string& scenario, int count) {
  const Ended ended = run_weir({"run", shipped(scenario), "--quiet", "--timeline", "--out", "out", "--set",
                                "/workload/requests/count=" + std::to_string(count)},
                               {.folder = scratch.path()});
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  return read_json_file(scratch / "out/timeline.json");
}

double start(const Json& event) {
  return event["ts"].get<double>();
}
double end(const Json& box) {
  return start(box) + box["dur"].get<double>();
}

struct Tracks {
  std::map<int, std::string> names;
  std::map<int, std::vector<Json>> boxes;  // by thread, in the order of time
};

Tracks tracks_of(const Json& events) {
  Tracks tracks;
  for (const Json& e : events) {
    if (e["name"] == "thread_name") tracks.names[e["tid"]] = e["args"]["name"];
    if (e["ph"] == "X") tracks.boxes[e["tid"]].push_back(e);
  }
  for (auto& [thread, boxes] : tracks.boxes)
    std::stable_sort(boxes.begin(), boxes.end(), [](auto& a, auto& b) { return start(a) < start(b); });
  return tracks;
}

constexpr double rounding = 0.002;  // us: two times of three decimals

}  // namespace

TEST_CASE("timeline.json: every event has its category and a process and thread that are not the kernel's") {
  const ScratchDirectory scratch;
  const Json events = timeline_of(scratch, "parallelism/disaggregated.json", 60)["traceEvents"];
  std::map<int, int> process_of;  // a thread's number names one thread over all processes
  for (const Json& e : events) {
    INFO(e.dump());
    REQUIRE(std::set<std::string>{"M", "X", "C", "s", "f"}.contains(e["ph"].get<std::string>()));
    REQUIRE_FALSE(e["cat"].get<std::string>().empty());
    REQUIRE(e["pid"].get<int>() >= 1);
    if (e["ph"] != "M") REQUIRE(start(e) >= 0);
    if (e["ph"] == "X") REQUIRE(e["dur"].get<double>() >= 0);
    if (e["ph"] == "X" || e["ph"] == "s" || e["ph"] == "f") REQUIRE(e["tid"].get<int>() >= 1);
    if (e.contains("tid")) REQUIRE(process_of.try_emplace(e["tid"], e["pid"]).first->second == e["pid"]);
  }
}

TEST_CASE("timeline.json: a track a request, from its arrival to its last token without a hole") {
  const ScratchDirectory scratch;
  for (const char* scenario : {"parallelism/disaggregated.json", "batching/preemption_swap.json",
                               "batching/preemption_recompute.json", "parallelism/pipeline_parallel.json"}) {
    INFO(scenario);
    const Tracks tracks = tracks_of(timeline_of(scratch, scenario, 120)["traceEvents"]);
    std::istringstream rows(contents(scratch / "out/requests.csv"));
    std::string row;
    std::getline(rows, row);
    std::set<std::string> phases;
    for (int request = 0; std::getline(rows, row); ++request) {
      std::vector<std::string> cells;
      std::istringstream in(row);
      for (std::string cell; std::getline(in, cell, ',');) cells.push_back(cell);
      const auto track = std::find_if(tracks.names.begin(), tracks.names.end(), [&](const auto& t) {
        return t.second == "request " + std::to_string(request);
      });
      REQUIRE(track != tracks.names.end());
      const std::vector<Json>& boxes = tracks.boxes.at(track->first);
      CHECK(start(boxes.front()) == Approx(1e6 * std::stod(cells[1])).margin(rounding));
      CHECK(end(boxes.back()) == Approx(1e6 * std::stod(cells[7])).margin(rounding));
      for (std::size_t i = 0; i < boxes.size(); ++i) {
        phases.insert(boxes[i]["name"].get<std::string>());
        if (i > 0) CHECK(start(boxes[i]) == Approx(end(boxes[i - 1])).margin(rounding));
      }
    }
    CHECK(phases.contains("prefill"));
    CHECK(phases.contains("decode"));
    if (std::string(scenario).find("disaggregated") != std::string::npos)
      CHECK(phases.contains("KV transfer"));
    if (std::string(scenario).find("preemption") != std::string::npos) CHECK(phases.contains("preempted"));
  }
}

TEST_CASE("timeline.json: arrows go in pairs, from a request's box to a step that begins then") {
  const ScratchDirectory scratch;
  const Json events = timeline_of(scratch, "batching/preemption_recompute.json", 120)["traceEvents"];
  const Tracks tracks = tracks_of(events);
  std::map<int, std::vector<Json>> arrows;
  for (const Json& e : events)
    if (e["ph"] == "s" || e["ph"] == "f") arrows[e["id"]].push_back(e);
  CHECK(arrows.size() >= 2 * 120);  // a prefill and a decode each
  for (const auto& [id, ends] : arrows) {
    REQUIRE(ends.size() == 2);
    const Json &from = ends[0], &to = ends[1];
    INFO(from.dump() << " " << to.dump());
    REQUIRE((from["ph"] == "s" && to["ph"] == "f" && to["bp"] == "e"));
    for (const char* key : {"name", "cat", "ts"}) REQUIRE(from[key] == to[key]);
    const auto& requests = tracks.boxes.at(from["tid"]);
    REQUIRE(std::any_of(requests.begin(), requests.end(), [&](const Json& box) {
      return (box["name"] == "prefill" || box["name"] == "decode") && start(box) <= start(from) + rounding &&
             end(box) >= start(from);
    }));
    const auto& steps = tracks.boxes.at(to["tid"]);
    REQUIRE(std::any_of(steps.begin(), steps.end(), [&](const Json& box) { return box["ts"] == to["ts"]; }));
  }
}

TEST_CASE("timeline.json: of many requests the first are drawn, and the file and stderr say so") {
  const ScratchDirectory scratch;
  const auto most = static_cast<int>(RequestTracks::most_requests);
  const Ended ended = run_weir({"run", shipped("quickstart.json"), "--timeline", "--out", "out", "--set",
                                "/workload/requests/count=" + std::to_string(most + 1)},
                               {.folder = scratch.path()});
  REQUIRE(ended.code == 0);
  const std::string note = "draws the first 1000 of 1001 requests";
  CHECK_THAT(ended.err, Catch::Contains(note));
  const Json timeline = read_json_file(scratch / "out/timeline.json");
  CHECK_THAT(timeline["otherData"]["left_out"].dump(), Catch::Contains(note));
  int drawn = 0;
  for (const auto& [thread, name] : tracks_of(timeline["traceEvents"]).names)
    drawn += name.starts_with("request ");
  CHECK(drawn == most);
  CHECK(timeline_of(scratch, "quickstart.json", most)["otherData"]["left_out"].empty());
}
