// Sessions drawn from laws: how prompts grow, who joins whom, when they come.
#include <catch2/catch.hpp>

#include "test/workloads/samples.h"

using namespace weir;

namespace {

const std::string drawn_sessions = R"({"kind": "generated_sessions", "count": 200, "system_tokens": 700,
    "turns": {"kind": "uniform", "min": 1, "max": 9}, "first_input": {"kind": "fixed", "value": 300},
    "new_input": {"kind": "lognormal", "mean": 400, "std": 300, "max": 3000}, "output": {"kind": "gamma",
    "mean": 150, "std": 100, "max": null}, "gap_ms": {"kind": "uniform", "min": 100, "max": 900},)";

}  // namespace

TEST_CASE(
    "generated sessions: prompts grow by what was said and what is new, and are compacted above the limit") {
  const Workload w =
      workload_of(drawn_sessions + R"("compaction": {"above_tokens": 2500, "summary_tokens": 90}})",
                  R"({"kind": "poisson", "rate_per_s": 1})");
  const Sessions& sessions = *w.sessions;
  CHECK(sessions.count() == 200);
  int grown = 0, compacted = 0;
  for (std::int32_t i = 0; i < sessions.requests(); ++i) {
    const Request& r = w.requests[static_cast<std::size_t>(i)];
    if (i > 0) REQUIRE(w.contents.origin(i).tokens >= 700);  // at least the system prompt
    if (!sessions.waits(i)) {
      CHECK(r.input_tokens == 1000);
      continue;
    }
    REQUIRE((sessions.gap(i) >= Seconds(0.1) && sessions.gap(i) <= Seconds(0.9)));
    const Request& before = w.requests[static_cast<std::size_t>(sessions.awaited_by(i)[0])];
    const std::int64_t said = before.input_tokens + before.output_tokens;
    const bool grows = w.contents.origin(i).tokens == said;
    CHECK((grows ? r.input_tokens > said && r.input_tokens <= 2500 : w.contents.origin(i).tokens == 700));
    if (!grows) CHECK(r.input_tokens > 790);
    ++(grows ? grown : compacted);
  }
  CHECK((grown > 300 && compacted > 50));
}

TEST_CASE(
    "generated sessions: a sub-agent begins with the system prompt, and the next turn waits for its end") {
  const std::string with_agents =
      drawn_sessions + R"("sub_agents": {"probability": 0.5, "turns": {"kind": "uniform",
      "min": 1, "max": 3}, "first_input": {"kind": "fixed", "value": 50}}})";
  const Workload w = workload_of(with_agents, R"({"kind": "sessions", "concurrency": 8})");
  const Sessions& sessions = *w.sessions;
  CHECK(sessions.count() == 200);
  int agents = 0, joins = 0;
  for (std::int32_t i = 0; i < sessions.requests(); ++i) {
    joins += sessions.awaited_by(i).size() == 2;
    if (sessions.name(i).find('/') == std::string::npos || sessions.turn(i) > 0) continue;
    ++agents;
    CHECK(w.requests[static_cast<std::size_t>(i)].input_tokens == 750);
    CHECK(w.contents.origin(i).tokens == 700);
  }
  CHECK((agents > 200 && agents == joins));
  const auto inputs = [&](std::uint64_t seed) {
    std::vector<std::int64_t> all;
    for (const Request& r : workload_of(with_agents, R"({"kind": "all_at_once"})", seed).requests)
      all.push_back(r.input_tokens);
    return all;
  };
  CHECK(inputs(3) == inputs(3));
  CHECK(inputs(3) != inputs(4));
}

TEST_CASE("generated sessions: come at a rate or so many at a time, never as logged") {
  CHECK(
      problems_of(drawn_sessions + R"("compaction": {"above_tokens": 5000, "summary_tokens": 0}})", as_traced)
          .find("\"trace\" needs an arrival for each request, but these sessions are drawn, not logged") !=
      std::string::npos);
  CHECK(problems_of(R"({"kind": "generated_sessions", "count": 5})", R"({"kind": "all_at_once"})")
            .find("/requests/turns: required, but missing") != std::string::npos);
}
