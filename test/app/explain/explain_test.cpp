// weir run --trace and weir explain, as a user types them: what is told adds up to what requests.csv says,
// nothing else changes, and runs of steps tell what single steps do.
#include <catch2/catch.hpp>

#include <cmath>
#include <sstream>

#include "sim/app/explain/life.h"
#include "test/app/run_weir.h"

using namespace weir;
using namespace weir::test;

namespace {

const std::vector<std::string> few = {"--set", "/workload/requests/count=60"};

Ended traced_run(const ScratchDirectory& scratch, const std::string& scenario, const std::string& out,
                 const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {"run", shipped(scenario), "--quiet", "--out", out};
  if (scenario != "batching/priority.json") arguments.insert(arguments.end(), few.begin(), few.end());
  arguments.insert(arguments.end(), more.begin(), more.end());
  Ended ended = run_weir(arguments, {.folder = scratch.path()});
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  return ended;
}

// But for steps, of which a run is one line.
std::vector<Json> events_of(const std::filesystem::path& trace) {
  std::vector<Json> events;
  std::istringstream lines(contents(trace));
  for (std::string line; std::getline(lines, line);)
    if (Json one = Json::parse(line); one["event"] != "step") events.push_back(std::move(one));
  return events;
}

bool same_but_for_rounding(const Json& a, const Json& b) {
  if (a.is_number_float()) return std::abs(a.get<double>() - b.get<double>()) < 1e-9 * (1 + a.get<double>());
  if (!a.is_structured()) return a == b;
  if (a.size() != b.size()) return false;
  for (auto x = a.begin(), y = b.begin(); x != a.end(); ++x, ++y)
    if ((a.is_object() && x.key() != y.key()) || !same_but_for_rounding(*x, *y)) return false;
  return true;
}

struct Case {
  const char* scenario;
  std::vector<std::string> more;
  bool replies_at_once = true;  // no time passes on the way to the client
};

// Preemptions of both kinds, classes, hand-overs of both kinds, stages, ranks, sessions, tiers, drafts.
const std::vector<Case> cases = {
    {"quickstart.json", {}},
    {"batching/preemption_swap.json", {}},
    {"batching/preemption_recompute.json", {}},
    {"batching/priority.json", {}},
    {"parallelism/disaggregated.json", {}},
    {"parallelism/disaggregated.json", {"--set", "/serving/replicas/0/kv_cache/handover=\"layerwise\""}},
    {"parallelism/pipeline_parallel.json", {}},
    {"workloads/closed_loop.json",
     {"--set", "/workload/arrivals/round_trip_ms=20", "--set", "/workload/arrivals/warmup_requests=10"},
     false},
    {"speculative/eagle.json", {}},
    {"kv_reuse/agents.json", {}}};

double sum_of(const Json& parts) {
  double sum = 0;
  for (const Json& part : parts) {
    CHECK(part.get<double>() > 0);
    sum += part.get<double>();
  }
  return sum;
}

}  // namespace

TEST_CASE("weir explain: the parts of every request's TTFT and of all its time add up to requests.csv's") {
  for (const auto& [scenario, more, replies_at_once] : cases) {
    CAPTURE(scenario, more);
    const ScratchDirectory scratch;
    std::vector<std::string> all = more;
    all.insert(all.end(), {"--trace", "all"});
    traced_run(scratch, scenario, "out", all);
    const Ended told =
        run_weir({"explain", "out", "--slowest", "1000000", "--json"}, {.folder = scratch.path()});
    INFO(told.err);
    REQUIRE(told.code == 0);
    const Json requests = Json::parse(told.out);
    CHECK(requests.size() >= 20);
    for (const Json& request : requests) {
      CAPTURE(request.dump());
      CHECK(sum_of(request["ttft_parts_ms"]) == Approx(request["ttft_ms"].get<double>()).margin(3e-6));
      CHECK(sum_of(request["e2el_parts_ms"]) == Approx(request["e2el_ms"].get<double>()).margin(3e-6));
      if (!request["slowest_token_ms"].is_null())
        CHECK(sum_of(request["slowest_token_parts_ms"]) ==
              Approx(request["slowest_token_ms"].get<double>()).margin(3e-6));
      // A time that is no part of anything would stand there.
      if (replies_at_once) CHECK_FALSE(request["e2el_parts_ms"].contains("on the way to the client"));
    }
  }
}

TEST_CASE("weir run --trace: every other result has the same bytes with it and without") {
  for (const auto& [scenario, more, replies_at_once] : cases) {
    CAPTURE(scenario, more);
    const ScratchDirectory scratch;
    traced_run(scratch, scenario, "plain", more);
    std::vector<std::string> all = more;
    all.insert(all.end(), {"--trace", "all"});
    traced_run(scratch, scenario, "traced", all);
    for (const auto& entry : std::filesystem::directory_iterator(scratch / "plain"))
      if (const auto name = entry.path().filename(); name != "performance.json") {
        CAPTURE(name);
        CHECK(contents(scratch / "traced" / name) == contents(entry.path()));
      }
  }
}

TEST_CASE("weir run --trace: steps that are summed tell the same of requests as steps one by one") {
  for (const auto& [scenario, more, replies_at_once] : cases) {
    CAPTURE(scenario, more);
    const ScratchDirectory scratch;
    std::vector<std::string> all = more;
    all.insert(all.end(), {"--trace", "all"});
    traced_run(scratch, scenario, "fast", all);
    all.insert(all.end(), {"--set", "/fast_forward=false"});
    traced_run(scratch, scenario, "slow", all);
    const std::vector<Json> fast = events_of(scratch / "fast/trace.jsonl"),
                            slow = events_of(scratch / "slow/trace.jsonl");
    REQUIRE(fast.size() == slow.size());
    for (std::size_t i = 0; i < fast.size(); ++i) {
      INFO(fast[i].dump() << "\n" << slow[i].dump());
      REQUIRE(same_but_for_rounding(fast[i], slow[i]));
    }
  }
}

TEST_CASE("weir explain: a preempted request was preempted for another, and a hand-over has its transfer") {
  const ScratchDirectory scratch;
  traced_run(scratch, "batching/preemption_swap.json", "swap", {"--trace", "all"});
  std::int32_t preempted = -1;
  for (const Json& line : events_of(scratch / "swap/trace.jsonl"))
    if (line["event"] == "KV cache leaves") preempted = line["request"];
  REQUIRE(preempted >= 0);
  const Ended swapped = run_weir({"explain", "swap", std::to_string(preempted)}, {.folder = scratch.path()});
  CHECK(swapped.code == 0);
  CHECK_THAT(swapped.out, Catch::Contains("it was preempted before step") &&
                              Catch::Contains("which lacked") && Catch::Contains("went to host") &&
                              Catch::Contains("began to come from host") &&
                              Catch::Contains("queue after it was preempted: "));
  traced_run(scratch, "parallelism/disaggregated.json", "apart", {"--trace", "7"});
  const Ended apart = run_weir({"explain", "apart", "7"}, {.folder = scratch.path()});
  CHECK(apart.code == 0);
  CHECK_THAT(apart.out, Catch::Contains("the router sent its prompt to replica") &&
                            Catch::Contains("the router sent its answer to replica") &&
                            Catch::Contains("began to come from replica") && Catch::Contains("KV transfer") &&
                            Catch::Contains(": requests "));
}

TEST_CASE("weir run --trace: what is no request is refused, all of it, before anything is made") {
  const ScratchDirectory scratch;
  const auto refused = [&](const std::string& asked) {
    const Ended ended = run_small(scratch, "a", {"--set", "/workload/requests/count=60", "--trace", asked});
    CHECK(ended.code == 2);
    CHECK_FALSE(std::filesystem::exists(scratch / "out"));
    return ended.err;
  };
  CHECK_THAT(refused("60"), Catch::Contains("--trace: expected a request from 0 to 59 or all (got \"60\")"));
  const std::string several = refused("3,first,-1,1.5,,99999999999,7");
  for (const char* word : {"first", "-1", "1.5", "", "99999999999"})
    CHECK_THAT(several, Catch::Contains("(got \"" + std::string(word) + "\")"));
  CHECK(lines(several) == 5);
  CHECK_THAT(refused("5,"), Catch::Contains("(got \"\")"));
  CHECK_THAT(refused("ALL"), Catch::Contains("(got \"ALL\")"));
}

TEST_CASE("weir explain: without a trace, or without the request in it, it says how to make one") {
  const ScratchDirectory scratch;
  traced_run(scratch, "quickstart.json", "plain", {});
  traced_run(scratch, "quickstart.json", "out", {"--trace", "3,5"});
  const auto explain = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "explain");
    return run_weir(arguments, {.folder = scratch.path()});
  };
  CHECK(explain({"out", "5"}).code == 0);
  const Ended none = explain({"plain", "5"});
  CHECK(none.code == 2);
  CHECK_THAT(none.err, Catch::Contains("there is no trace.jsonl: run the scenario with --trace REQUEST"));
  const Ended other = explain({"out", "4"});
  CHECK(other.code == 2);
  CHECK_THAT(other.err, Catch::Contains("request 4 is not in it: run the scenario with --trace 4, or all"));
  CHECK_THAT(explain({"out", "60"}).err, Catch::Contains("expected a request from 0 to 59 (got 60)"));
  CHECK(explain({"out", "60"}).code == 2);
  CHECK(explain({"out"}).code == 2);
  CHECK(explain({"out", "5", "--slowest", "2"}).code == 2);
  CHECK(explain({"missing", "5"}).code == 2);
  CHECK(lines(explain({"out", "--slowest", "1"}).out) > 5);
  for (const char* line : {"{\"time\": 1", "[]", "{\"event\": 3}", "{\"event\": \"step\"}"}) {
    write(scratch / "out/trace.jsonl", std::string(line) + "\n");
    const Ended broken = explain({"out", "5"});
    CHECK(broken.code == 2);
    CHECK_THAT(broken.err, Catch::Contains("line 1: is no line of a trace"));
  }
}

TEST_CASE("explain: a life by hand, whose mixed step is the prompts' beyond what its decodes take alone") {
  Life life(1, 1.0);
  const auto hear = [&](const char* text) { life.hear(Json::parse(text)); };
  hear(R"({"time": 1.25, "event": "arrived", "replica": 0, "request": 1})");
  hear(R"({"time": 1.5, "event": "queued", "replica": 0, "request": 1, "behind": 2})");
  hear(R"({"time": 2, "event": "not admitted", "replica": 0, "request": 9, "why": "batch full"})");
  hear(R"({"time": 2.5, "event": "not admitted", "replica": 7, "request": 9, "why": "policy"})");
  hear(R"({"time": 4, "event": "admitted", "replica": 0, "request": 1})");
  hear(R"({"time": 6, "event": "step", "replica": 0, "step": 3, "steps": 1, "start": 4, "first_s": 2,
           "last_s": 2, "without_prompts_s": 0.5, "decodes": 6, "prompt_tokens": 30, "requests": [1],
           "prompts": [{"request": 1, "tokens": 10, "ends": true}], "compute_s": 2, "memory_s": 0,
           "link_s": 0, "host_s": 0})");
  hear(R"({"time": 6, "event": "first token", "replica": 0, "request": 1, "seen": 6})");
  using All = std::vector<std::pair<std::string, double>>;
  CHECK(life.first_token == 6);
  CHECK(life.parts(1, 6).all() == All{{"on the way to the server", 0.25},
                                      {"front end", 0.25},
                                      {"queue: until the next decision", 0.5},
                                      {"queue: batch full", 2},
                                      {"its own prompt", 0.5},
                                      {"others' prompts in these steps", 1},
                                      {"tokens of others in these steps", 0.5}});
  hear(R"({"time": 6.5, "event": "preempted", "replica": 0, "request": 1, "for": 2, "why": "KV blocks"})");
  hear(R"({"time": 8, "event": "admitted", "replica": 0, "request": 1})");
  hear(R"({"time": 9, "event": "step", "replica": 0, "step": 5, "steps": 1, "start": 8, "first_s": 1,
           "last_s": 1, "decodes": 2, "prompt_tokens": 0, "requests": [1], "prompts": [], "compute_s": 1,
           "memory_s": 0, "link_s": 0, "host_s": 0})");
  REQUIRE(life.slowest());
  CHECK(life.slowest()->start == 6);
  CHECK(life.slowest()->end == 9);
  CHECK(life.parts(6, 9).all() == All{{"between its steps", 0.5},
                                      {"queue after it was preempted: until the next decision", 1.5},
                                      {"steps of its tokens", 1}});
  CHECK(life.last_token == 9);
}
