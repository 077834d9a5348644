// One replica without SimGrid, by hand: outstanding tokens, gaps, blocks, and when arrivals are seen.
#include "sim/serving/replica/replica.h"

#include <catch2/catch.hpp>

#include "test/policies/naive_engine.h"
#include "test/serving/in_channels.h"

using namespace weir;

namespace {

struct ByHand {
  Workload workload;
  ReplicaPlan plan;
  std::vector<std::int32_t> positions, finished, handed_over;
  std::optional<Recorder> recorder;
  std::optional<Replica> replica;
  Iteration iteration;

  ByHand() {
    workload.requests = {{Seconds(0), 10, 9}, {Seconds(0), 6, 3}, {Seconds(0), 7, 2}};
    plan.rank.on = std::make_shared<test::InChannels>(1);
    plan.spec.batching = make_policy("chunked_prefill", 4, 64);
    plan.spec.placement = test::placement(1);
    plan.spec.kv_cache.block_tokens = 4;
    plan.kv_pools = test::pools(50, 1, false);
    positions.resize(workload.requests.size());
  }
  Replica& begin() {
    recorder.emplace(workload, std::nullopt, false);
    recorder->keep_token_gaps();
    return replica.emplace(3, plan, positions, *recorder,
                           Replica::Events{[this](std::int32_t request) { finished.push_back(request); },
                                           [this](std::int32_t request) { handed_over.push_back(request); }});
  }
  void step(double start, double end) {
    REQUIRE(replica->schedule(Seconds(start), iteration));
    replica->complete(iteration, Seconds(start), Seconds(end), {}, 1);
  }
};

using Requests = std::vector<std::int32_t>;

}  // namespace

TEST_CASE("replica: tokens, blocks and gaps of two requests that run together, by hand") {
  ByHand by;
  by.workload.closed_loop = ClosedLoop{.concurrency = 2, .round_trip = Seconds(0.5)};
  Replica& replica = by.begin();
  REQUIRE((replica.enqueue(0, Seconds(0)) && replica.enqueue(1, Seconds(0))));
  CHECK(replica.outstanding_requests() == 2);
  CHECK(replica.outstanding_tokens() == 19 + 9);
  by.step(0, 2);
  CHECK(by.iteration.shape.prefill_tokens == 16);
  // Both prompts are done and both have one token, which is seen a quarter of a second later.
  CHECK(replica.outstanding_tokens() == 28 - 16 - 2);
  CHECK(by.recorder->record(0).first_token.value() == Approx(2.25));
  CHECK(by.recorder->record(1).replica == 3);
  CHECK(replica.cache().used() == 3 + 2);
  CHECK(by.recorder->gaps().count() == 0);

  // A pause, then two steps of 1 and 1.5 s, with which the second request has all of its tokens.
  REQUIRE(replica.schedule(Seconds(5), by.iteration));
  CHECK(by.iteration.shape.decode_context_sum == 11 + 7);
  CHECK(by.iteration.shape.decode_context_max == 11);
  CHECK(replica.longest_run(by.iteration) <= 2);
  StepRun run;
  run.first.time = Seconds(1);
  run.slope.time = Seconds(0.5);
  run.steps = 2;
  replica.pass(1, 2);  // the step beyond the first, of two decodes
  CHECK(replica.outstanding_tokens() == 10 - 2);
  replica.complete_passed(by.iteration, Seconds(5), Seconds(7.5), {run}, 2);
  CHECK(replica.outstanding_tokens() == 6);
  CHECK(replica.outstanding_requests() == 1);
  CHECK(by.finished == Requests{1});
  CHECK(by.recorder->record(1).finished.value() == Approx(7.75));
  CHECK(by.recorder->record(0).finished < Seconds(0));
  CHECK(replica.cache().used() == 3);
  CHECK(replica.decisions() == 3);
  // 4 s since the first tokens, as the pause counts, then 1.5 s.
  CHECK(by.recorder->gaps().count() == Approx(4));
  CHECK(by.recorder->gaps().mean().value() == Approx(2.75));
  CHECK(by.recorder->generated() == Approx(2 + 4));
  const RunResult result = by.recorder->finish(Seconds(8));
  REQUIRE(result.token_gaps[1].size() == 2);
  CHECK(result.token_gaps[1][0] == Approx(4));
  CHECK(result.token_gaps[1][1] == Approx(1.5));
  CHECK(result.token_gaps[0] == result.token_gaps[1]);
  CHECK(result.token_gaps[2].empty());
}

TEST_CASE("replica: of a prompt that is handed over its first token is given, and its blocks are held") {
  ByHand by;
  by.plan.spec.role = Role::prefill;
  Replica& replica = by.begin();
  REQUIRE((replica.enqueue(0, Seconds(0)) && replica.enqueue(2, Seconds(0))));
  CHECK(replica.outstanding_tokens() == 19 + 9);
  by.step(0, 2);
  CHECK(by.handed_over == Requests{0, 2});
  CHECK(replica.outstanding_tokens() == 0);
  CHECK(replica.outstanding_requests() == 0);
  CHECK(replica.cache().used() == 3 + 2);
  CHECK(replica.held_blocks() == 5);
  CHECK(replica.state() ==
        "replica 3 holds 5 of 50 KV blocks, 5 of them for 2 prompts that wait for room on another; 0 wait "
        "there");
  replica.release_held(2, Seconds(3));
  CHECK(replica.cache().used() == 3);
  replica.release_held(0, Seconds(3));
  CHECK(replica.cache().used() == 0);
}

TEST_CASE("replica: a prompt that comes from another is outstanding with the tokens behind its first") {
  ByHand by;
  by.plan.spec.role = Role::decode;
  Replica& replica = by.begin();
  by.recorder->record(0).first_token = Seconds(1);
  replica.enqueue_handover(0, 7, Seconds(1));
  CHECK(replica.outstanding_tokens() == 8);
  CHECK(replica.outstanding_requests() == 1);
  CHECK(by.recorder->record(0).replica == 3);
  REQUIRE(replica.schedule(Seconds(1), by.iteration));
  REQUIRE(by.iteration.moves.size() == 1);
  const KvMove move = by.iteration.moves[0];
  CHECK((move.tokens == 10 && move.from.replica == 7 && move.to.replica == 3 && move.hands_over()));
  CHECK(by.iteration.members.empty());
  replica.arrived(move, Seconds(4));
  by.step(4, 6);
  CHECK(by.iteration.shape.decode_context_sum == 11);
  CHECK(replica.outstanding_tokens() == 7);
  // Since its first token, which it had elsewhere.
  CHECK(by.recorder->gaps().mean().value() == Approx(5));
}

TEST_CASE(
    "replica: who comes is seen behind the interval, the steps decided ahead and the next for prompts") {
  for (const std::int64_t prompt_interval : {1, 4}) {
    CAPTURE(prompt_interval);
    ByHand by;
    by.plan.spec.recv_interval = 3;
    by.plan.spec.scheduled_ahead = 2;
    by.plan.spec.prompt_interval = prompt_interval;
    Replica& replica = by.begin();
    CHECK(replica.sees_at_once());
    CHECK(replica.steps_until_seen() == Validity::unlimited);
    REQUIRE(replica.enqueue(0, Seconds(0)));
    by.step(0, 1);
    REQUIRE(replica.decisions() == 1);
    by.step(1, 2);
    REQUIRE(replica.decisions() == 2);
    CHECK_FALSE(replica.sees_at_once());
    // Decision 2, behind the prompt's, looked at arrivals; 5 is the next to look, and 7 the first that is
    // not decided then. Of one that comes three steps later these are 8 and 10. Prompts begin in each fourth.
    const bool each = prompt_interval == 1;
    CHECK(replica.steps_unseen(0) == (each ? 7 : 8) - 3);
    CHECK(replica.steps_unseen(2) == (each ? 7 : 8) - 5);
    CHECK(replica.steps_unseen(3) == (each ? 10 : 12) - 6);
    REQUIRE(replica.enqueue(1, Seconds(2)));
    CHECK(replica.steps_until_seen() == (each ? 5 : 6));
    for (std::int64_t decision = 3; decision < (each ? 7 : 8); ++decision) {
      by.step(static_cast<double>(decision), static_cast<double>(decision) + 1);
      CHECK(by.iteration.shape.prefill_tokens == 0);
    }
    by.step(9, 10);
    CHECK(by.iteration.shape.prefill_tokens == 6);
  }
}

TEST_CASE("replica: what one that ended had is given back as many steps later as are decided ahead") {
  ByHand by;
  by.plan.spec.scheduled_ahead = 2;
  Replica& replica = by.begin();
  REQUIRE((replica.enqueue(0, Seconds(0)) && replica.enqueue(2, Seconds(0))));
  by.step(0, 1);
  by.step(1, 2);
  REQUIRE(by.finished == Requests{2});
  // Decision 2 ends it; 5 is the first that has its blocks. With decision 4 the other one has 13 tokens.
  CHECK(replica.cache().used() == 3 + 2);
  CHECK(replica.held_blocks() == 3);
  CHECK(replica.steps_until_seen() == 3);
  for (const int decision : {3, 4}) {
    by.step(decision, decision + 1);
    CHECK(replica.cache().used() == (decision == 3 ? 3 : 4) + 2);
  }
  REQUIRE(replica.schedule(Seconds(5), by.iteration));
  CHECK(replica.cache().used() == 4);
}
