// The trace of decisions, by hand: what a replica tells it, and the reason that its own books give.
#include "sim/serving/trace/decision_trace.h"

#include <catch2/catch.hpp>
#include <map>

#include "sim/serving/trace/why_waiting.h"
#include "test/policies/naive_engine.h"
#include "test/serving/in_channels.h"

using namespace weir;

namespace {

struct TracedReplica {
  Workload workload;
  ReplicaPlan plan;
  std::vector<Json> lines;
  std::vector<std::int32_t> positions;
  std::optional<Recorder> recorder;
  std::optional<DecisionTrace> trace;
  std::optional<Replica> replica;
  Iteration iteration;
  double now = 0;

  TracedReplica(std::vector<Request> requests, std::int64_t blocks, std::int64_t seats = 4,
                std::int64_t tokens = 64) {
    workload.requests = std::move(requests);
    plan.rank.on = std::make_shared<test::InChannels>(1);
    plan.spec.batching = make_policy("chunked_prefill", seats, tokens);
    plan.spec.placement = test::placement(1);
    plan.spec.kv_cache.block_tokens = 4;
    plan.spec.kv_cache.prefix_caching = PrefixCaching::none;
    plan.kv_pools = test::pools(blocks, 1, false);
    positions.resize(workload.requests.size());
  }
  void begin(std::vector<std::int32_t> traced) {
    recorder.emplace(workload, std::nullopt, false);
    trace.emplace(TraceOptions{std::move(traced), [this](const Json& line) { lines.push_back(line); }},
                  workload.requests.size());
    const auto nothing = [](std::int32_t) {};
    replica.emplace(3, plan, positions, *recorder, Replica::Events{nothing, nothing});
    replica->tell(trace->listener(3, -1));
    for (std::int32_t i = 0; i < std::ssize(workload.requests); ++i) replica->enqueue(i, Seconds(now));
  }
  void steps(int count) {  // of a second each
    for (; count > 0; --count, ++now) {
      REQUIRE(replica->schedule(Seconds(now), iteration));
      replica->complete(iteration, Seconds(now), Seconds(now + 1), {}, 1);
    }
  }
  std::vector<Json> of(const std::string& event) const {
    std::vector<Json> all;
    std::ranges::copy_if(lines, std::back_inserter(all), [&](const Json& l) { return l["event"] == event; });
    return all;
  }
  Json only(const std::string& event, std::int32_t request) const {
    Json found;
    for (const Json& line : of(event))
      if (line["request"] == request) found = found.is_null() ? line : Json("twice");
    return found;
  }
};

}  // namespace

TEST_CASE("trace: a request that lacks a KV block is not admitted, once, until another has ended") {
  TracedReplica by({{Seconds(0), 10, 9}, {Seconds(0), 6, 3}, {Seconds(0), 7, 2}}, 6);
  by.begin({0, 1, 2});
  by.steps(5);
  CHECK(by.only("queued", 2) ==
        Json{{"time", 0.0}, {"event", "queued"}, {"replica", 3}, {"request", 2}, {"behind", 2}});
  // 10 tokens take three blocks and 6 take two: of the six one is left, and 7 tokens need two.
  CHECK(by.of("not admitted") == std::vector<Json>{{{"time", 0.0},
                                                    {"event", "not admitted"},
                                                    {"replica", 3},
                                                    {"request", 2},
                                                    {"step", 1},
                                                    {"waiting", 1},
                                                    {"why", "KV blocks"},
                                                    {"lacks_blocks", 1}}});
  // The second ends with its third token, and step 4 begins.
  CHECK(by.only("finished", 1)["time"] == 3.0);
  CHECK(by.only("admitted", 0)["step"] == 1);
  CHECK(by.only("admitted", 2)["step"] == 4);
  CHECK(by.only("admitted", 2)["time"] == 3.0);
  CHECK(by.only("first token", 2)["time"] == 4.0);
  CHECK(by.only("finished", 2)["time"] == 5.0);
}

TEST_CASE("trace: a request is preempted for the one that lacked a block, and waits behind running ones") {
  TracedReplica by({{Seconds(0), 4, 9}, {Seconds(0), 4, 9}}, 4);
  by.begin({1});
  by.steps(8);
  // Both have two blocks until eight tokens are computed, in step 5.
  CHECK(by.of("preempted") == std::vector<Json>{{{"time", 5.0},
                                                 {"event", "preempted"},
                                                 {"replica", 3},
                                                 {"request", 1},
                                                 {"step", 6},
                                                 {"why", "KV blocks"},
                                                 {"for", 0},
                                                 {"lacks_blocks", 1}}});
  const std::vector<Json> refused = by.of("not admitted");
  REQUIRE(refused.size() == 2);
  CHECK(refused[0]["why"] == "KV blocks of running requests");
  CHECK(refused[0]["step"] == 6);
  CHECK(refused[1]["why"] == "KV blocks");  // nine tokens need three, and one is free
  CHECK(refused[1]["lacks_blocks"] == 2);
  CHECK(refused[1]["step"] == 7);
}

TEST_CASE("trace: of requests that are not asked for it says nothing, but for the first in front of them") {
  TracedReplica by({{Seconds(0), 10, 9}, {Seconds(0), 6, 3}, {Seconds(0), 7, 2}, {Seconds(0), 5, 2}}, 6);
  by.begin({3});
  by.steps(7);
  std::map<std::int32_t, std::vector<std::string>> told;
  for (const Json& line : by.lines) told[line["request"]].push_back(line["event"]);
  CHECK(told == std::map<std::int32_t, std::vector<std::string>>{
                    {2, {"not admitted"}},
                    {3, {"arrived", "queued", "not admitted", "admitted", "first token", "finished"}}});
}

TEST_CASE("trace: a step is told with the requests in it, their prompts and what it costs") {
  TracedReplica by({{Seconds(0), 10, 9}, {Seconds(0), 70, 3}}, 50);
  by.begin({1});
  ReplicaListener& listener = *by.replica->listeners()[0];
  REQUIRE(listener.hears_steps());
  StepCost cost;
  cost.time = Seconds(0.5), cost.compute_bound = Seconds(0.375), cost.host_bound = Seconds(0.125);
  REQUIRE(by.replica->schedule(Seconds(0), by.iteration));
  listener.stepped(by.iteration, {0, 1, Seconds(0), Seconds(0.5), Seconds(0.5), Seconds(0.5), 1, cost,
                                  Seconds(-1), 30, 20});
  const Json step = by.of("step").at(0);
  CHECK(step["step"] == 1);
  CHECK(step["requests"] == Json{1});
  CHECK(step["prompt_tokens"] == 64);
  CHECK(step["prompts"] == Json::array({{{"request", 1}, {"tokens", 54}, {"ends", false}}}));
  CHECK(step["compute_s"] == 0.375);
  CHECK(step["host_s"] == 0.125);
  CHECK(step["held_blocks"] == 20);
  CHECK_FALSE(step.contains("without_prompts_s"));
  CHECK_FALSE(step.contains("stage"));
}

TEST_CASE("trace: why a request waits is the policy's word, or what the step has no more of") {
  const auto policy = make_policy("chunked_prefill", 2, 8);
  std::vector<SequenceView> running(2), waiting(2);
  for (std::size_t i = 0; i < 2; ++i) running[i].request = static_cast<int>(i);
  running[0].prefill_target = 1;
  for (std::size_t i = 0; i < 2; ++i) waiting[i].request = static_cast<int>(i) + 5;
  const std::vector<std::int64_t> free = {10};
  ServingView view{running, waiting, free, 10, 4, Admission::chunk, 1};
  Batch batch;
  const auto reason = [&] { return why_waiting(*policy, view, batch); };
  CHECK(reason().first == 5);
  CHECK(reason().why == std::string("batch full"));
  view.running = view.running.first(1);
  CHECK(reason().why == std::string("policy"));
  view.leaving = 1;
  CHECK(reason().why == std::string("batch full"));
  view.leaving = 0;
  batch.slices = {{0, 8}};
  CHECK(reason().why == std::string("token budget"));
  batch.slices = {{0, 7}};
  CHECK(reason().why == std::string("policy"));
  view.drafts = 1;
  CHECK(reason().why == std::string("policy"));  // the prompt's slice has none
  running[0].computed_tokens = 1;
  CHECK(reason().why == std::string("token budget"));
  view.drafts = 0;
  batch.admitted = {5};
  view.running = {};
  CHECK(reason().first == 6);
  batch.valid.wakes_on.free_blocks = true;
  CHECK(reason().why == std::string("KV blocks of running requests"));
  batch.valid.wakes_on.lacks_blocks = 6;
  batch.lacking = 93;
  CHECK(reason().why == std::string("KV blocks"));
  CHECK(reason().lacks == 93);
  batch = {};
  batch.admitted = {6, 5};
  CHECK(reason().first == -1);
  batch.admitted.clear();
  batch.preempted = {0, 1};
  CHECK(reason().first == 1);
  // A micro-batch of two stages has one seat.
  batch = {};
  view.pipeline_stages = 2;
  batch.slices = {{0, 1}};
  CHECK(reason().why == std::string("batch full"));
}
