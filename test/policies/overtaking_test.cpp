// Policies by which one that came later may go first: what each promises, in hand-made states and over all
// orders of small sets.
#include <algorithm>
#include <catch2/catch.hpp>
#include <numeric>

#include "test/policies/dice.h"
#include "test/policies/naive_engine.h"
#include "test/policies/slices.h"

using namespace weir;

namespace {

using Names = std::vector<std::int32_t>;

SequenceView waiting_for(std::int64_t input, std::int64_t output, std::int32_t priority = 0) {
  return {input, output, input, 0, 0, false, priority, 0};
}

// A decode that holds all of its prompt and `generated` tokens but the last, in blocks of 4 tokens.
SequenceView decoding(std::int64_t input, std::int64_t generated, std::int32_t priority = 0) {
  const std::int64_t known = input + generated;
  return {input, 1000, known, known - 1, (known - 1 + 3) / 4, false, priority, input};
}

// Names are places: those that run, then those that wait.
struct Situation {
  std::vector<SequenceView> running, waiting;
  std::int64_t free_blocks = 100, seats = 8, tokens = 64;
  Admission admission = Admission::chunk;

  Batch decided(const std::string& kind, const Json& keys = Json::object()) const {
    std::vector<SequenceView> run = running, wait = waiting;
    test::number(run, wait);
    Batch batch;
    make_policy(kind, seats, tokens, keys)
        ->next({run, wait, {&free_blocks, 1}, 1000, 4, admission, 1}, batch);
    return batch;
  }
};

// A server of one request at a time, which computes a token in a unit of time, serves requests that are all
// there from the beginning. Returns how long they waited together.
std::int64_t waited(const BatchingPolicy& policy, std::vector<SequenceView> waiting) {
  std::int64_t sum = 0, clock = 0, free_blocks = 1'000'000;
  std::vector<SequenceView> running;
  test::number(running, waiting);
  while (!running.empty() || !waiting.empty()) {
    Batch batch;
    policy.next({running, waiting, {&free_blocks, 1}, free_blocks, 4, Admission::chunk, 1}, batch);
    for (const std::int32_t name : batch.admitted) {
      const auto at = std::ranges::find(waiting, name, &SequenceView::request);
      running.push_back(*at);
      waiting.erase(at);
      running.back().prefill_target = running.back().known_tokens;
      sum += clock;
    }
    REQUIRE(batch.slices.size() == 1);
    SequenceView& served = running.front();
    clock += batch.slices[0].tokens;
    served.computed_tokens += batch.slices[0].tokens;
    served.blocks = (served.computed_tokens + 3) / 4;
    if (served.pending() == 0) ++served.known_tokens;
    if (served.known_tokens == served.input_tokens + served.output_tokens) running.clear();
  }
  return sum;
}

std::int64_t least_wait_of_all_orders(const std::vector<SequenceView>& requests) {
  std::vector<std::size_t> order(requests.size());
  std::iota(order.begin(), order.end(), 0);
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  do {
    std::int64_t sum = 0, clock = 0;
    for (const std::size_t i : order) {
      sum += clock;
      clock += requests[i].final_tokens();
    }
    least = std::min(least, sum);
  } while (std::ranges::next_permutation(order).found);
  return least;
}

}  // namespace

TEST_CASE("shortest_first: no order of a single server's requests has a smaller mean wait", "[batching]") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    Dice dice(seed);
    std::vector<SequenceView> any, alike;  // of any output length, or of one, which prompts know nothing of
    const std::int64_t output = dice(1, 9);
    for (std::int64_t n = dice(1, 6); n > 0; --n) {
      any.push_back(waiting_for(dice(1, 20), dice(1, 20)));
      alike.push_back(waiting_for(dice(1, 20), output));
    }
    INFO("seed " << seed);
    const std::int64_t budget = dice(1, 30);
    CHECK(waited(*make_policy("shortest_first", 1, budget, {{"by", "remaining"}}), any) ==
          least_wait_of_all_orders(any));
    CHECK(waited(*make_policy("shortest_first", 1, budget, {{"by", "prompt"}}), alike) ==
          least_wait_of_all_orders(alike));
  }
}

TEST_CASE("shortest_first: who is shortest, by prompt and by what is left, of equals the first",
          "[batching]") {
  const Situation all{{}, {waiting_for(9, 2), waiting_for(5, 50), waiting_for(7, 1), waiting_for(5, 3)}};
  CHECK(all.decided("shortest_first").admitted == Names{1, 3, 2, 0});
  CHECK(all.decided("shortest_first", {{"by", "remaining"}}).admitted == Names{2, 3, 0, 1});
  Situation swapped = all;  // 8 of 9 and one more to generate
  swapped.waiting[0].computed_tokens = 8;
  CHECK(swapped.decided("shortest_first", {{"by", "remaining"}}).admitted[0] == 2);
  swapped.waiting[0].elsewhere = true;
  CHECK(swapped.decided("shortest_first", {{"by", "remaining"}}).admitted[0] == 0);
}

TEST_CASE("shortest_first: a shorter arrival may change a decision where blocks are lacking", "[batching]") {
  Situation full{{decoding(8, 2)}, {waiting_for(40, 1)}, 9};
  const Batch lacking = full.decided("shortest_first");
  CHECK(lacking.admitted.empty());
  CHECK(lacking.valid.wakes_on.lacks_blocks == 1);
  CHECK(lacking.valid.steps == Validity::unlimited);
  CHECK(lacking.valid.wakes_on.any_arrival);
  full.free_blocks = 10;
  CHECK(full.decided("shortest_first").admitted == Names{1});
  full.seats = 1;
  const Batch no_seat = full.decided("shortest_first");
  CHECK(no_seat.valid.steps == Validity::unlimited);
  CHECK_FALSE(no_seat.valid.wakes_on.any_arrival);
}

TEST_CASE("priority: a lower number goes first, of equals whoever came first", "[batching]") {
  const Situation all{{},
                      {waiting_for(5, 1, 2), waiting_for(5, 1, -1), waiting_for(5, 1, 2), waiting_for(5, 1)}};
  CHECK(all.decided("priority").admitted == Names{1, 3, 0, 2});
}

TEST_CASE("priority: an urgent prompt has the step's tokens before a less urgent one's next chunk",
          "[batching]") {
  SequenceView half = decoding(100, 0, 1);
  half.computed_tokens = 50, half.blocks = 13;
  const Situation all{{half}, {waiting_for(60, 1)}};
  const Batch batch = all.decided("priority");
  CHECK(test::of_slices(batch, &Slice::request) == Names{1, 0});
  CHECK(test::of_slices(batch, &Slice::tokens) == std::vector<std::int64_t>{60, 4});
}

TEST_CASE("priority: a running one that lacks blocks has those of the least urgent, whoever came last",
          "[batching]") {
  // All blocks are full but the last one's, who came last and is urgent.
  const Situation all{{decoding(4, 1, 0), decoding(4, 1, 2), decoding(4, 1, 1), decoding(6, 1, 0)}, {}, 0};
  const Batch batch = all.decided("priority");
  CHECK(batch.preempted == Names{2, 1});
  CHECK(test::of_slices(batch, &Slice::request) == Names{0, 3});
  CHECK(batch.valid.steps == 1);
}

TEST_CASE("priority: whoever waits has seats and blocks of less urgent classes, if they are enough",
          "[batching]") {
  Situation all{{decoding(6, 1, 0), decoding(6, 1, 2), decoding(6, 1, 1)}, {waiting_for(8, 1)}, 100, 3};
  CHECK(all.decided("priority").preempted == Names{1});  // for its seat
  CHECK(all.decided("priority").admitted == Names{3});
  all.waiting[0].priority = 2;  // no better than the worst
  CHECK(all.decided("priority").preempted.empty());
  CHECK(all.decided("priority").admitted.empty());

  all.waiting[0].priority = 0;
  all.seats = 8, all.free_blocks = 0;
  all.waiting[0].input_tokens = all.waiting[0].known_tokens = 16;  // 4 blocks: what two of them hold
  CHECK(all.decided("priority").preempted == Names{2, 1});
  CHECK(all.decided("priority").admitted == Names{3});
  all.waiting[0].input_tokens = all.waiting[0].known_tokens = 17;
  CHECK(all.decided("priority").preempted.empty());
  CHECK(all.decided("priority").valid.wakes_on.lacks_blocks == 3);
}

TEST_CASE("priority: nobody joins in the step in which one as urgent was preempted", "[batching]") {
  const Situation all{
      {decoding(4, 1, 0), decoding(4, 1, 1)}, {waiting_for(1, 1, 1), waiting_for(1, 1, 2)}, 0};
  const Batch batch = all.decided("priority");
  CHECK(batch.preempted == Names{1});
  CHECK(batch.admitted.empty());
}
