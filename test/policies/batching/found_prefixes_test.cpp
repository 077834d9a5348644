// Prefixes that waiting requests find, by a table, and the batches that are made of them.
#include <catch2/catch.hpp>
#include <map>

#include "policies/batching/prefixes.h"
#include "test/policies/batching/moment.h"

using namespace weir;
using namespace weir::test;

namespace {

class TablePrefixes final : public Prefixes {
 public:
  std::map<std::int32_t, Found> found;                                  // by name
  std::map<std::pair<std::int32_t, std::int32_t>, std::int64_t> alike;  // of a later and an earlier one
  std::int64_t given_up = 0;                                            // by each that gives way
  std::vector<std::int64_t> gone;                                       // as it was asked
  Found find(const SequenceView& waiting, std::int64_t blocks_gone) override {
    gone.push_back(blocks_gone);
    return found[waiting.request];
  }
  void admit(const SequenceView&) override {}
  std::int64_t begin_alike(const SequenceView& one, const SequenceView& other) const override {
    const auto at = alike.find({one.request, other.request});
    return at == alike.end() ? 0 : at->second;
  }
  std::int64_t give_up(const SequenceView&) override { return given_up; }
};

}  // namespace

TEST_CASE("found prefixes: blocks that are held cost none, and found tokens are not computed", "[batching]") {
  // 40 tokens in 10 blocks, 24 of them found, of which 5 blocks are held: 5 blocks more.
  TablePrefixes prefixes;
  prefixes.found[0] = {24, 5, false};
  Moment moment{.waiting = {new_prompt(40, 9)}, .free = {5}, .prefixes = &prefixes};
  CHECK(of_slices(moment.decided("chunked_prefill"), &Slice::tokens) == Tokens{16});
  moment.free = {4};
  CHECK(moment.decided("chunked_prefill").admitted.empty());
  // Where some of it comes from another memory this step has one token: 25 of them in 7 blocks, 2 more.
  prefixes.found[0].comes = true;
  moment.free = {2};
  CHECK(of_slices(moment.decided("chunked_prefill"), &Slice::tokens) == Tokens{1});
  moment.free = {1};
  CHECK(moment.decided("chunked_prefill").admitted.empty());
}

TEST_CASE("found prefixes: each is asked with the blocks of its channel that went to this batch",
          "[batching]") {
  TablePrefixes prefixes;
  // A block for the decode in channel 1, none for that in channel 0; then 2 blocks for the first prompt.
  const Moment moment{.running = {one_decode(8, 90, 13, 0, 1), one_decode(8, 90, 10, 0, 0)},
                      .waiting = {new_prompt(8, 9, 0, 1), new_prompt(5, 9, 0, 1), new_prompt(5, 9, 0, 0)},
                      .free = {20, 30},
                      .prefixes = &prefixes};
  CHECK(moment.decided("chunked_prefill").admitted == Names{2, 3, 4});
  CHECK(prefixes.gone == Tokens{1, 3, 0});
}

TEST_CASE("found prefixes: one that gives way frees those of its blocks that no other holds", "[batching]") {
  // The first decode takes one of the freed blocks; the prompt needs another.
  TablePrefixes prefixes;
  const Moment moment{.running = {one_decode(4, 90, 5, 0), one_decode(4, 90, 6, 2)},
                      .waiting = {new_prompt(3, 1, 1)},
                      .free = {0},
                      .prefixes = &prefixes};
  prefixes.given_up = 2;
  CHECK(moment.decided("priority").admitted == Names{2});
  prefixes.given_up = 1;
  CHECK(moment.decided("priority").admitted.empty());
  CHECK(prefixes.gone.front() == 1);
  CHECK(prefixes.gone.back() == 1);
}

TEST_CASE("longest_prefix_match: 32 tokens are little, and 32 in common are alike", "[batching]") {
  TablePrefixes prefixes;
  const Moment moment{.waiting = {new_prompt(60, 1), new_prompt(50, 1), new_prompt(40, 1)},
                      .tokens = 1000,
                      .prefixes = &prefixes};
  const auto order = [&](std::int64_t first_finds, std::int64_t second_finds, std::int64_t alike) {
    prefixes.found[0] = {first_finds, 0, false};
    prefixes.found[1] = {second_finds, 0, false};
    prefixes.alike[{1, 0}] = alike;
    return moment.decided("longest_prefix_match").admitted;
  };
  CHECK(order(0, 32, 32) == Names{0, 2, 1});  // it waits for the first one
  CHECK(order(0, 33, 32) == Names{1, 0, 2});
  CHECK(order(0, 32, 31) == Names{1, 0, 2});
  CHECK(order(32, 0, 40) == Names{0, 2, 1});
  CHECK(order(33, 0, 40) == Names{0, 1, 2});  // the first one is computed already
}

TEST_CASE("found prefixes: a reservation is less by the blocks that are held", "[batching]") {
  // The first ends with 40 + 9 - 1 tokens: 12 blocks, 5 of them held. It takes 7 of 10 and leaves 3.
  TablePrefixes prefixes;
  prefixes.found[0] = {24, 5, false};
  Moment moment{.waiting = {new_prompt(40, 9), new_prompt(9, 4)},
                .free = {10},
                .admission = Admission::sequence,
                .prefixes = &prefixes};
  CHECK(moment.decided("chunked_prefill").admitted == Names{0, 1});  // 9 + 4 - 1: 3 blocks
  moment.waiting[1] = new_prompt(10, 4);
  CHECK(moment.decided("chunked_prefill").admitted == Names{0});
}
