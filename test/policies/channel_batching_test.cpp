// Batching where the KV cache lies in several channels, and NeuPIMs' two sub-batches. Blocks are conserved
// channel by channel in batching_laws_test.cpp.
#include <catch2/catch.hpp>

#include "test/policies/naive_engine.h"
#include "test/policies/slices.h"

using namespace weir;

namespace {

// In blocks of 4 tokens; the next token of a decode wants a block if `known` is one more than a whole number.
SequenceView decode(std::int16_t channel, std::int64_t known, bool in_flight = false) {
  SequenceView view{};
  view.input_tokens = view.prefill_target = 2;
  view.output_tokens = 100;
  view.known_tokens = known;
  view.computed_tokens = known - 1;
  view.blocks = (known + 2) / 4;
  view.in_flight = in_flight;
  view.channel = channel;
  return view;
}

SequenceView prompt(std::int16_t channel, std::int64_t tokens) {
  SequenceView view{};
  view.input_tokens = view.known_tokens = view.prefill_target = tokens;
  view.output_tokens = 9;
  view.channel = channel;
  return view;
}

Batch next(std::vector<SequenceView> running, std::vector<SequenceView> waiting,
           const std::vector<std::int64_t>& free, const std::string& kind = "sub_batch_interleaving",
           Admission admission = Admission::chunk) {
  Batch batch;
  test::number(running, waiting);
  make_policy(kind, 256, 4096)->next({running, waiting, free, 100, 4, admission, 1}, batch);
  return batch;
}

std::vector<std::int32_t> scheduled(const Batch& batch) {
  return test::of_slices(batch, &Slice::request);
}

using Members = std::vector<std::int32_t>;

}  // namespace

TEST_CASE("channels: who finds no block preempts the last of its own channel", "[batching]") {
  const auto kind = GENERATE("chunked_prefill", "prefill_first", "sub_batch_interleaving");
  const std::vector<SequenceView> running{decode(1, 5), decode(0, 5), decode(1, 7), decode(0, 7),
                                          decode(1, 7, true)};
  {  // channel 1 is full; its last one is in flight, so the third goes, and channel 0 does not notice
    const Batch batch = next(running, {}, {1, 0}, kind);
    CHECK(batch.preempted == Members{2});
    CHECK(scheduled(batch) == Members{0, 1, 3});
  }
  {  // both are: the queue gets them back in the order in which they came
    const Batch batch = next(running, {}, {0, 0}, kind);
    CHECK(batch.preempted == Members{3, 2});
    CHECK(scheduled(batch) == Members{0, 1});
  }
  {  // nobody behind to take blocks from that is not in flight: it waits, the other channel runs
    const Batch batch = next({decode(1, 5), decode(0, 5), decode(1, 7, true)}, {}, {1, 0}, kind);
    CHECK(batch.preempted.empty());
    CHECK(scheduled(batch) == Members{1});
  }
}

TEST_CASE("channels: a request joins by the free or unreserved blocks of its own channel", "[batching]") {
  const auto kind = GENERATE("chunked_prefill", "sub_batch_interleaving");
  CHECK(next({}, {prompt(1, 8)}, {100, 2}, kind).admitted.size() == 1);
  CHECK(next({}, {prompt(1, 9)}, {100, 2}, kind).admitted.size() == 0);
  CHECK(next({}, {prompt(0, 9)}, {100, 2}, kind).admitted.size() == 1);
  // decode(c, 5) holds a block and may want 25 more; the prompt of 8 with 9 to generate wants 4 in all.
  const Admission reserving = Admission::sequence;
  CHECK(next({decode(0, 5)}, {prompt(0, 8)}, {28, 4}, kind, reserving).admitted.size() == 0);
  CHECK(next({decode(0, 5)}, {prompt(0, 8)}, {29, 4}, kind, reserving).admitted.size() == 1);
  CHECK(next({decode(0, 5)}, {prompt(1, 8)}, {28, 4}, kind, reserving).admitted.size() == 1);
  CHECK(next({decode(0, 5)}, {prompt(1, 8)}, {28, 3}, kind, reserving).admitted.size() == 0);
}

TEST_CASE("sub-batches: each channel's decodes are halved in order, odd ones in turn", "[batching]") {
  for (unsigned seed = 0; seed < 500; ++seed) {
    Dice dice(seed);
    const std::vector<std::int64_t> free(static_cast<std::size_t>(dice(1, 40)), 100);
    std::vector<SequenceView> running;
    for (std::int64_t n = dice(2, 200); n > 0; --n) {
      running.push_back(decode(static_cast<std::int16_t>(dice(0, std::ssize(free) - 1)), 6));
      if (dice(0, 4) == 0) running.back().in_flight = true;
    }
    const Batch batch = next(running, {}, free);
    if (batch.slices.size() < 2) {
      REQUIRE(batch.interleaving == Interleaving::none);
      continue;
    }
    REQUIRE(batch.interleaving == Interleaving::two_if_faster);
    std::vector<std::vector<int>> halves(free.size());  // of each channel, its decodes in order
    for (const Slice& slice : batch.slices)
      halves[static_cast<std::size_t>(running[static_cast<std::size_t>(slice.request)].channel)].push_back(
          slice.sub_batch);
    std::int64_t uneven = 0, whole = 0;  // first halves less second ones
    for (const std::vector<int>& channel : halves) {
      REQUIRE(std::ranges::is_sorted(channel));
      const auto first = std::ranges::count(channel, 0), second = std::ranges::count(channel, 1);
      if (channel.size() % 2 == 0) REQUIRE(first == second);
      if (channel.size() % 2 == 1) REQUIRE(first - second == (uneven++ % 2 == 0 ? 1 : -1));
      whole += first - second;
    }
    REQUIRE((whole == 0 || whole == 1));
  }
}

TEST_CASE("sub-batches: a prompt goes to the one with fewer tokens, one slice is not cut", "[batching]") {
  const std::vector<std::int64_t> free{100, 100};
  const std::vector<SequenceView> running{decode(0, 6), decode(0, 6), decode(0, 6)};
  const Batch batch = next(running, {prompt(1, 10), prompt(0, 3), prompt(0, 12), prompt(1, 4)}, free);
  REQUIRE(batch.admitted.size() == 4);
  std::vector<int> halves;
  for (const Slice& slice : batch.slices) halves.push_back(slice.sub_batch);
  // tokens: 2 and 1 | 2 and 11 | 5 and 11 | 17 and 11 | 17 and 15
  CHECK(halves == std::vector<int>{0, 0, 1, 1, 0, 0, 1});
  CHECK(batch.valid.steps == 1);
  CHECK(next({decode(0, 6)}, {}, free).interleaving == Interleaving::none);
  SequenceView fetched = decode(0, 6);
  fetched.blocks = 0, fetched.elsewhere = true;  // its KV cache comes first: nothing to compute yet
  CHECK(next({decode(0, 6)}, {fetched}, free).interleaving == Interleaving::none);
  CHECK(next({decode(0, 6)}, {prompt(0, 5)}, free).interleaving == Interleaving::two_if_faster);
}

TEST_CASE("sub-batches: on is always two, off never, best lets the step decide", "[batching]") {
  std::vector<SequenceView> running{decode(0, 6), decode(0, 6)}, nobody;
  test::number(running, nobody);
  const std::vector<std::int64_t> free{9};
  const auto with = [&](const char* interleave) {
    const Json json = {{"kind", "sub_batch_interleaving"}, {"interleave", interleave}};
    Reading reading("test");
    const auto policy = make_from(batching_policies(), Params(reading, json), {"kind", "the policy"});
    reading.finish();
    Batch batch;
    policy->next({running, {}, free, 9, 4, Admission::chunk, 1}, batch);
    CHECK(batch.valid.steps > 1);
    return batch;
  };
  CHECK(with("on").interleaving == Interleaving::two);
  CHECK(with("off").interleaving == Interleaving::none);
  CHECK(with("best").interleaving == Interleaving::two_if_faster);
}
