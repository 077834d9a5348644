// Arrivals, drawn sessions and cuts of traces by hand, with values at their bounds.
#include <cmath>

#include "test/workloads/letters.h"
#include "test/workloads/read_trace.h"
#include "test/workloads/samples.h"

using namespace weir;
using namespace weir::test;

namespace {

std::string alike(int count, int output) {
  return fmt::format(R"({{"kind": "fixed", "input_tokens": 7, "output_tokens": {}, "count": {}}})", output,
                     count);
}

std::vector<std::int64_t> outputs_of(const Workload& w) {
  std::vector<std::int64_t> tokens;
  for (const Request& r : w.requests) tokens.push_back(r.output_tokens);
  return tokens;
}

}  // namespace

TEST_CASE("arrivals: each kind says its traffic as a benchmark would") {
  const auto of = [](const std::string& arrivals) { return workload_of(alike(3, 5), arrivals).traffic; };
  CHECK((of(R"({"kind": "poisson", "rate_per_s": 8})").request_rate == 8 &&
         of(R"({"kind": "poisson", "rate_per_s": 8})").burstiness == 1));
  const Traffic gamma = of(R"({"kind": "gamma", "rate_per_s": 3, "cv": 2})");
  CHECK((gamma.request_rate == 3 && gamma.burstiness == 0.25));  // 1 over the square of cv
  const Traffic even = of(R"({"kind": "constant", "rate_per_s": 4})");
  CHECK((even.request_rate == 4 && std::isinf(even.burstiness.value())));
  const Traffic at_once = of(R"({"kind": "all_at_once"})");
  CHECK((std::isinf(at_once.request_rate.value()) && !at_once.burstiness));
  const Traffic loop = of(R"({"kind": "closed_loop", "concurrency": 2})");
  CHECK((std::isinf(loop.request_rate.value()) && !loop.burstiness));
  const TemporaryFile logged("arrival_s,input_tokens,output_tokens\n0,1,1\n");
  const Traffic as_logged =
      workload_of(R"({"kind": "csv", "file": ")" + logged.name() + "\"}", as_traced).traffic;
  CHECK((!as_logged.request_rate && !as_logged.burstiness));
}

TEST_CASE("arrivals: a bound of requests in flight is any kind's that has none of its own") {
  CHECK(
      workload_of(alike(3, 5), R"({"kind": "poisson", "rate_per_s": 8, "max_in_flight": 6})").max_in_flight ==
      6);
  CHECK(!workload_of(alike(3, 5), R"({"kind": "poisson", "rate_per_s": 8})").max_in_flight);
  for (const char* kind : {"closed_loop", "warm_batch"})
    CHECK(problems_of(alike(3, 5),
                      fmt::format(R"({{"kind": "{}", "concurrency": 2, "max_in_flight": 6}})", kind)) ==
          "scenario.json: /arrivals/max_in_flight: cannot stand beside concurrency, which is such a bound");
}

TEST_CASE("closed_loop: a share of an answer is rounded, and at least a token") {
  const auto outputs = [](int output) {
    return outputs_of(
        workload_of(alike(4, output), R"({"kind": "closed_loop", "concurrency": 3, "desynchronise": true})"));
  };
  using Tokens = std::vector<std::int64_t>;
  CHECK(outputs(10) == Tokens{3, 7, 10, 10});  // thirds: 3.33 and 6.67
  CHECK(outputs(1) == Tokens{1, 1, 1, 1});
  CHECK(outputs(5) == Tokens{2, 3, 5, 5});  // 1.67 and 3.33
}

TEST_CASE("warm_batch: so many requests in each of so many batches decode so many tokens") {
  const auto w =
      workload_of(alike(2, 2), R"({"kind": "warm_batch", "concurrency": 3, "batches": 5, "steps": 4})");
  REQUIRE(w.requests.size() == 15);
  CHECK(w.closed_loop->concurrency == 3);
  for (const Request& r : w.requests) CHECK((r.input_tokens == 8 && r.output_tokens == 4));
  CHECK(std::isinf(w.traffic.request_rate.value()));
  // By default 10 batches of a step.
  CHECK(workload_of(alike(2, 2), R"({"kind": "warm_batch", "concurrency": 3})").requests.size() == 30);
  CHECK(outputs_of(workload_of(alike(2, 2), R"({"kind": "warm_batch", "concurrency": 1})"))[0] == 1);
}

TEST_CASE("trace: a cut keeps later turns with the request that they wait for, or leaves them out with it") {
  const TemporaryFile trace(
      R"({"session_id": "s", "arrival_time_ns": 1000000000, "sub_requests": [{"input_toks": 10, "output_toks": 1, "tool_duration_ns": 500000000}, {"input_toks": 20, "output_toks": 2}]})"
      "\n"
      R"({"session_id": "t", "arrival_time_ns": 5000000000, "sub_requests": [{"input_toks": 30, "output_toks": 3, "tool_duration_ns": 250000000}, {"input_toks": 40, "output_toks": 4}, {"input_toks": 50, "output_toks": 5}]})"
      "\n");
  const auto cut = [&](const std::string& more) {
    return workload_of(R"({"kind": "llmservingsim", "file": ")" + trace.name() + "\"" + more + "}",
                       as_traced);
  };
  const Workload late = cut(R"(, "start_s": 2)");
  REQUIRE(late.requests.size() == 3);
  CHECK((late.requests[0].input_tokens == 30 && late.requests[0].arrival == Seconds(3)));
  CHECK((late.requests[2].input_tokens == 50 && late.requests[2].arrival == Seconds(0)));
  CHECK((late.sessions->count() == 1 && late.sessions->gap(1) == Seconds(0.25)));
  CHECK(late.sessions->name(0) == "t");
  CHECK(late.notes.back() == "start_s and duration_s keep 3 of 5 requests, 120 of 150 prompt tokens");
  const Workload early = cut(R"(, "duration_s": 5)");  // 5 s is the end and not in it
  REQUIRE(early.requests.size() == 2);
  CHECK((early.requests[1].input_tokens == 20 && early.sessions->gap(1) == Seconds(0.5)));
  CHECK(cut(R"(, "duration_s": 5.5)").requests.size() == 5);
}

TEST_CASE("trace: times so dense or so far apart that their unit may be another have a note") {
  const auto noted = [](std::size_t count, double gap_s, const std::string& words) {
    std::string text = "arrival_s,input_tokens,output_tokens\n";
    for (std::size_t i = 0; i < count; ++i) text += fmt::format("{},1,1\n", static_cast<double>(i) * gap_s);
    const TemporaryFile file(text);
    const Workload w = workload_of(R"({"kind": "csv", "file": ")" + file.name() + "\"}", as_traced);
    return std::ranges::any_of(
        w.notes, [&](const std::string& note) { return note.find(words) != std::string::npos; });
  };
  const std::string dense = "\"rate_scale\": 0.001", sparse = "\"rate_scale\": 1000";
  CHECK(noted(21, 1. / 1024, dense));        // 21 in 20/1024 s are 1,075 a second
  CHECK_FALSE(noted(21, 1. / 512, dense));   // 538
  CHECK_FALSE(noted(19, 1. / 1024, dense));  // too few to tell
  CHECK(noted(20, 128, sparse));             // 2,432 s for 20
  CHECK_FALSE(noted(20, 64, sparse));        // 1,216 s
  CHECK_FALSE(noted(21, 105, sparse));       // 2,100 s for 21: 100 each, no more
  CHECK_FALSE(noted(19, 128, sparse));
}

TEST_CASE("generated sessions: prompts, origins and gaps of one session by hand, compacted above its limit") {
  const auto drawn = [](std::int64_t above) {
    return workload_of(fmt::format(R"({{"kind": "generated_sessions", "count": 2, "system_tokens": 700,
    "turns": {{"kind": "fixed", "value": 4}}, "first_input": {{"kind": "fixed", "value": 300}},
    "new_input": {{"kind": "fixed", "value": 100}}, "output": {{"kind": "fixed", "value": 50}},
    "gap_ms": {{"kind": "fixed", "value": 250}},
    "compaction": {{"above_tokens": {}, "summary_tokens": 90}}}})",
                                   above),
                       R"({"kind": "constant", "rate_per_s": 2})");
  };
  const auto inputs = [](const Workload& w) {
    std::vector<std::int64_t> all;
    for (const Request& r : w.requests) all.push_back(r.input_tokens);
    return all;
  };
  using Tokens = std::vector<std::int64_t>;
  // Each turn adds an answer of 50 and 100 new tokens.
  const Workload grown = drawn(1300);
  CHECK(inputs(grown) == Tokens{1000, 1150, 1300, 890, 1000, 1150, 1300, 890});
  // The fourth begins with the system prompt, a summary and what is new: 700 + 90 + 100.
  CHECK(inputs(drawn(1299)) == Tokens{1000, 1150, 890, 1040, 1000, 1150, 890, 1040});
  CHECK((grown.contents.origin(1).request == 0 && grown.contents.origin(1).tokens == 1050));
  CHECK((grown.contents.origin(2).request == 1 && grown.contents.origin(2).tokens == 1200));
  CHECK((grown.contents.origin(3).request == 0 && grown.contents.origin(3).tokens == 700));
  CHECK((grown.contents.origin(4).request == 0 && grown.contents.origin(4).tokens == 700));
  CHECK(grown.contents.origin(0).request == -1);
  CHECK((grown.sessions->gap(0) == Seconds(0) && grown.sessions->gap(3).value() == Approx(0.25)));
  CHECK((grown.sessions->turn(3) == 3 && grown.sessions->name(5) == "1"));
  CHECK((grown.requests[0].arrival == Seconds(0) && grown.requests[4].arrival == Seconds(0.5)));
}

TEST_CASE("generated sessions: sub-agents of one session by hand, and none where they are never started") {
  const auto drawn = [](int probability) {
    return workload_of(fmt::format(R"({{"kind": "generated_sessions", "count": 1, "system_tokens": 70,
    "turns": {{"kind": "fixed", "value": 3}}, "first_input": {{"kind": "fixed", "value": 30}},
    "new_input": {{"kind": "fixed", "value": 10}}, "output": {{"kind": "fixed", "value": 5}},
    "gap_ms": {{"kind": "fixed", "value": 250}}, "sub_agents": {{"probability": {},
    "turns": {{"kind": "fixed", "value": 2}}, "first_input": {{"kind": "fixed", "value": 20}}}}}})",
                                   probability),
                       R"({"kind": "all_at_once"})");
  };
  const Workload w = drawn(1);
  REQUIRE(w.requests.size() == 7);  // a turn, two of an agent, a turn, two of another, a turn
  const Sessions& sessions = *w.sessions;
  const std::string names[] = {"0", "0/0", "0/0", "0", "0/1", "0/1", "0"};
  const std::int64_t inputs[] = {100, 90, 105, 115, 90, 105, 130}, turns[] = {0, 0, 1, 1, 0, 1, 2};
  const std::vector<std::int32_t> awaited[] = {{}, {0}, {1}, {0, 2}, {3}, {4}, {3, 5}};
  for (std::int32_t i = 0; i < 7; ++i) {
    INFO(i);
    CHECK(sessions.name(i) == names[i]);
    CHECK(w.requests[static_cast<std::size_t>(i)].input_tokens == inputs[i]);
    CHECK(sessions.turn(i) == turns[i]);
    const auto awaits = sessions.awaited_by(i);
    CHECK(std::vector<std::int32_t>(awaits.begin(), awaits.end()) == awaited[i]);
    CHECK(sessions.gap(i).value() == Approx(turns[i] > 0 ? 0.25 : 0));  // an agent starts at once
  }
  CHECK(sessions.count() == 1);
  CHECK(drawn(0).requests.size() == 3);
}
