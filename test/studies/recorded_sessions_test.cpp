// Recorded runs of agents as sessions that Weir plays: what prompts share, who waits for whom, what was not
// recorded. The records here are made by hand.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "sim/core/params.h"
#include "sim/plan/plan.h"
#include "sim/studies/validation/sessions/beginnings.h"
#include "sim/studies/validation/sessions/lanes.h"
#include "sim/studies/validation/sessions/replay.h"
#include "sim/studies/validation/sessions/server.h"
#include "test/app/run_weir.h"
#include "test/app/scratch_directory.h"
#include "workloads/traces/readers.h"

namespace weir::test {
namespace {

struct Recorded {
  const char* conversation;
  std::int64_t turn;
  double start_s, end_s;
  std::int64_t input;
};

RecordedRun recorded_run(std::int64_t lanes, const std::vector<Recorded>& rows) {
  RecordedRun run{.id = "7",
                  .hardware = "h100",
                  .model = "llama3.1-8b",
                  .precision = "bf16",
                  .engine = "vllm",
                  .lanes = lanes,
                  .kv_tokens = 64000};
  for (const Recorded& r : rows)
    run.requests.push_back({.conversation = r.conversation,
                            .turn = r.turn,
                            .start_s = r.start_s,
                            .end_s = r.end_s,
                            .input_tokens = r.input,
                            .output_tokens = 10});
  return run;
}

// One conversation, a turn after the other.
RecordedRun prompts(std::int64_t first_turn, const std::vector<std::int64_t>& inputs) {
  std::vector<Recorded> rows;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto at = static_cast<double>(i);
    rows.push_back({"a", first_turn + static_cast<std::int64_t>(i), at, at + 0.5, inputs[i]});
  }
  return recorded_run(1, rows);
}

using Shares = std::vector<std::pair<std::int64_t, std::int64_t>>;  // with which request, tokens; -1: nothing

Shares shares_in(const RecordedRun& run) {
  Shares all;
  for (const Beginning& b : beginnings(run))
    all.emplace_back(b.request ? static_cast<std::int64_t>(*b.request) : -1, b.tokens);
  return all;
}

const ReplayRow& row_named(const std::vector<ReplayRow>& rows, const std::string& name) {
  const auto row = std::ranges::find(rows, name, [](const ReplayRow& r) { return r.name(); });
  if (row == rows.end()) throw std::runtime_error("no row " + name);
  return *row;
}

std::vector<std::string> awaited(const std::vector<ReplayRow>& rows, const std::string& name) {
  std::vector<std::string> names;
  for (const std::size_t i : row_named(rows, name).after) names.push_back(rows[i].name());
  std::ranges::sort(names);
  return names;
}

}  // namespace

TEST_CASE("recorded sessions: a prompt that grows begins as the one before, but for its last 64 tokens") {
  CHECK(shares_in(prompts(3, {5000, 5400, 5400})) == Shares{{-1, 0}, {0, 4936}, {1, 5336}});
}

TEST_CASE("recorded sessions: a short opener is no beginning of what grows fourfold behind it") {
  CHECK(shares_in(prompts(0, {400, 1601})) == Shares{{-1, 0}, {-1, 0}});
  CHECK(shares_in(prompts(0, {400, 1600})) == Shares{{-1, 0}, {0, 336}});
  CHECK(shares_in(prompts(0, {3000, 13000})) == Shares{{-1, 0}, {0, 2936}});
  CHECK(shares_in(prompts(5, {400, 1601})) == Shares{{-1, 0}, {0, 336}});  // no opener
}

TEST_CASE(
    "recorded sessions: a prompt that shrinks a little goes back to the longest one that it may begin with") {
  CHECK(shares_in(prompts(4, {5000, 5300, 5600, 5400})) == Shares{{-1, 0}, {0, 4936}, {1, 5236}, {1, 5236}});
  // By more than a tenth: another context, and so for those behind it.
  CHECK(shares_in(prompts(4, {5000, 6000, 5300, 5350, 5340})) ==
        Shares{{-1, 0}, {0, 4936}, {-1, 0}, {2, 5236}, {2, 5236}});
  // The first time in a conversation that is seen from its start it is another context in any case.
  CHECK(shares_in(prompts(0, {5000, 5300, 5200, 5400, 5350})) ==
        Shares{{-1, 0}, {0, 4936}, {-1, 0}, {2, 5136}, {2, 5136}});
}

TEST_CASE(
    "recorded sessions: another pass finds the turns of the one before, and its history after a shrink") {
  const auto passes = [](std::int64_t third) {
    return recorded_run(1, {{"a", 3, 0, 1, 9000},
                            {"a", 4, 2, 3, 9500},
                            {"a", 0, 4, 5, 7000},
                            {"a", 1, 6, 7, 8000},
                            {"a", 2, 8, 9, third},
                            {"a", 3, 10, 11, 9000},
                            {"a", 4, 12, 13, 9400},
                            {"a", 5, 14, 15, 9700}});
  };
  // Turn 2 shrank: what was forgotten then is not in the history that turn 3 had come with, turn 2 is.
  CHECK(shares_in(passes(7900)) ==
        Shares{{-1, 0}, {0, 8936}, {-1, 0}, {2, 6936}, {0, 7836}, {0, 9000}, {1, 9336}, {6, 9336}});
  // It did not: there were other texts in that history, but turns 3 and 4 are what they were.
  CHECK(shares_in(passes(8100)) ==
        Shares{{-1, 0}, {0, 8936}, {-1, 0}, {2, 6936}, {3, 7936}, {0, 9000}, {1, 9336}, {6, 9336}});
}

TEST_CASE("recorded sessions: conversations share nothing, a sub-agent's neither") {
  const RecordedRun run = recorded_run(
      2, {{"a", 1, 0, 1, 5000}, {"b", 1, 0.1, 1, 5000}, {"a::s", 0, 1.5, 2, 5100}, {"a", 2, 3, 4, 5200}});
  CHECK(shares_in(run) == Shares{{-1, 0}, {-1, 0}, {-1, 0}, {0, 4936}});
}

TEST_CASE("recorded sessions: a turn waits for the sub-agents that began and ended since the turn before") {
  const RecordedRun run = recorded_run(1, {{"a", 1, 5, 10, 5000},
                                           {"a::s", 0, 11, 20, 900},
                                           {"a::t", 0, 12, 90, 900},  // goes on beside it
                                           {"a::s", 1, 21, 30, 1000},
                                           {"a", 2, 34, 40, 6000},
                                           {"a", 3, 120, 130, 7000}});
  const std::vector<ReplayRow> rows = replay_rows(run, 1);
  CHECK(awaited(rows, "a::s:0") == std::vector<std::string>{"a:1"});
  CHECK(row_named(rows, "a::s:0").gap_s == Approx(1));
  CHECK(awaited(rows, "a::s:1") == std::vector<std::string>{"a::s:0"});
  CHECK(awaited(rows, "a:2") == std::vector<std::string>{"a:1", "a::s:1"});
  CHECK(row_named(rows, "a:2").gap_s == Approx(4));
  CHECK(awaited(rows, "a:3") == std::vector<std::string>{"a:2"});
  CHECK(row_named(rows, "a:3").gap_s == Approx(60));  // at most
}

TEST_CASE("recorded sessions: a conversation follows on the lane that ended last before it") {
  const RecordedRun run = recorded_run(2, {{"a", 1, 0, 10, 5000},
                                           {"b", 1, 1, 20, 5000},
                                           {"c", 0, 22, 30, 400},
                                           {"d", 0, 23, 40, 400},
                                           {"c", 1, 32, 41, 500}});
  const std::vector<ReplayRow> rows = replay_rows(run, 1);
  CHECK(awaited(rows, "c:0") == std::vector<std::string>{"b:1"});
  CHECK(row_named(rows, "c:0").gap_s == Approx(2));
  CHECK(awaited(rows, "d:0") == std::vector<std::string>{"a:1"});
  const Lanes lanes = lanes_of(run);
  CHECK(lanes.last == std::vector<std::size_t>{3, 4});  // of the lane of a, then of that of b
  CHECK(std::ranges::count(lanes.at_start, 1) == 2);
}

TEST_CASE("recorded sessions: histories come before, unfinished requests behind, and neither is measured") {
  // Three lanes: one is recorded to the end, one stops early, of one nothing is on record.
  const RecordedRun run =
      recorded_run(3, {{"a", 4, 0, 10, 5000}, {"b", 0, 1, 5, 800}, {"a", 5, 12, 100, 5200}});
  const std::vector<ReplayRow> rows = replay_rows(run, 1);
  REQUIRE(rows.size() == 7);
  std::vector<std::int64_t> histories;
  for (const ReplayRow& row : rows)
    if (row.session == "history") {
      histories.push_back(row.input_tokens);
      CHECK(row.output_tokens == 1);
      CHECK(!row.recorded);
    }
  std::ranges::sort(histories);
  CHECK(histories == std::vector<std::int64_t>{5000 - 1024, 5000 - 1024});  // a's, and the median of all
  // All that starts waits for the last of them.
  CHECK(awaited(rows, "a:4") == std::vector<std::string>{"history:1"});
  CHECK(awaited(rows, "b:0") == std::vector<std::string>{"history:1"});
  CHECK(row_named(rows, "b:0").gap_s == Approx(1));
  REQUIRE(row_named(rows, "a:4").begins_with);
  CHECK(rows[*row_named(rows, "a:4").begins_with].session == "history");
  CHECK(row_named(rows, "a:4").shared_tokens == 5000 - 1024);
  // b's lane goes on after nine seconds with a longer prompt that never ended.
  CHECK(awaited(rows, "unfinished:0") == std::vector<std::string>{"b:0"});
  CHECK(row_named(rows, "unfinished:0").gap_s == Approx(9));
  CHECK(row_named(rows, "unfinished:0").input_tokens == 1400);
  CHECK(row_named(rows, "unfinished:0").shared_tokens == 736);
  CHECK(row_named(rows, "unfinished:1").input_tokens == 5000);
  // Another seed is another order, and nothing else.
  std::size_t other = 0;
  for (std::uint64_t seed = 2; seed < 12; ++seed) {
    const std::vector<ReplayRow> again = replay_rows(run, seed);
    REQUIRE(again.size() == rows.size());
    other +=
        again[*row_named(again, "a:4").begins_with].turn != rows[*row_named(rows, "a:4").begins_with].turn;
  }
  CHECK(other > 0);

  const Trace trace = read_sessions(sessions_csv(rows), "replay");
  CHECK(trace.requests.size() == 7);
  CHECK(std::ranges::count(trace.requests, true, &Request::measured) == 3);
}

TEST_CASE("recorded sessions: what Weir lacks for a run is named, and no run of another engine is replayed") {
  RecordedRun run = recorded_run(1, {{"a", 0, 0, 1, 100}});
  CHECK(missing_for(run) == "");
  run.model = "llama3.18b";
  CHECK(missing_for(run) == "");  // as such tables write it
  run.engine = "sglang";
  CHECK(missing_for(run) == "sglang");
  run.engine = "vllm", run.offload = "native";
  CHECK(missing_for(run) == "native");
  run.offload = "none", run.hardware = "tpu";
  CHECK(missing_for(run) == "tpu");
  run.hardware = "h100", run.model = "nobody-1b";
  CHECK(missing_for(run) == "nobody-1b");
}

TEST_CASE("recorded sessions: servers of every number format that the tables have are scenarios") {
  const ScratchDirectory scratch;
  const auto file = scratch.path() / "a.csv";
  RecordedRun run = recorded_run(1, {{"a", 0, 0, 1, 100}});
  write(file, sessions_csv(replay_rows(run, 1)));
  struct Server {
    const char *hardware, *model, *precision;
    int tensor;
  };
  for (const Server& s : {Server{"h100", "llama3.1-8b", "bf16", 1}, Server{"b200", "minimaxm2.5", "fp8", 4},
                          Server{"b200", "kimik2.5", "fp4", 8}, Server{"h200", "kimik2.5", "int4", 8},
                          Server{"b200", "llama3.1-70b", "fp4", 1}, Server{"h200", "gptoss", "mxfp4", 1},
                          Server{"mi355x", "dsr1", "fp8", 8}}) {
    INFO(s.hardware << " " << s.model << " " << s.precision);
    run.hardware = s.hardware, run.model = s.model, run.precision = s.precision, run.tensor = s.tensor;
    REQUIRE(missing_for(run) == "");
    CHECK_NOTHROW(read_plan(replay_scenario(run, file), "replay"));
  }
}

}  // namespace weir::test
