// Laws of every batching policy over random scenarios: NaiveEngine checks each decision and throws where one
// cannot be carried out (budget, seats, micro-batches, KV blocks, chunks, decodes of one token,
// repeatability); here we look at whole runs.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "test/policies/dice.h"
#include "test/policies/naive_engine.h"

using namespace weir;

namespace {

NaiveScenario random_scenario(const std::string& kind, unsigned seed, std::int64_t channels = 1) {
  Dice dice(seed);
  NaiveScenario s;
  s.kind = kind;
  s.channels = channels;
  s.max_batch_requests = dice(1, 9);
  s.max_batch_tokens = s.max_batch_requests + dice(0, dice(0, 1) ? 8 : 60);
  s.block_tokens = std::int64_t{1} << dice(0, 3);
  // Tight enough to preempt; now and then large enough for v0's watermark of a hundredth.
  s.total_blocks = dice(0, 2) ? dice(4, 40) : dice(100, 450);
  s.total_blocks = std::max<std::int64_t>(4, s.total_blocks / channels);
  s.admission = static_cast<Admission>(dice(0, 2));
  s.pipeline_stages = static_cast<int>(dice(0, 1) ? 1 : dice(2, 4));
  s.swap = dice(0, 2) == 0;
  const std::int64_t requests = dice(1, 25), gap = dice(0, 12);
  const std::int64_t longest = std::max<std::int64_t>(2, s.total_blocks * s.block_tokens / dice(1, 6));
  for (std::int64_t i = 0, tick = 0; i < requests; ++i) {
    s.arrivals.push_back(tick += dice(0, gap));
    s.inputs.push_back(dice(1, longest));
    s.outputs.push_back(dice(1, std::min<std::int64_t>(60, longest)));
  }
  if (kind == "adaptive_chunk_interleaving") s.keys = {{"min_prompt_tokens", dice(1, 40)}};
  if (kind == "asymmetric_pipelining") s.channels = 1, s.swap = false, s.own_blocks = dice(1, s.total_blocks);
  if (kind == "shortest_first") s.keys = {{"by", dice(0, 1) ? "prompt" : "remaining"}};
  if (kind == "priority")
    for (std::int64_t i = 0, classes = dice(1, 4); i < requests; ++i)
      s.priorities.push_back(static_cast<std::int32_t>(dice(1, classes)));
  return s;
}

bool several_classes(const NaiveScenario& s) {
  return std::ranges::adjacent_find(s.priorities, std::not_equal_to()) != s.priorities.end();
}

// More than so many preemptions and swaps in one channel's and in several channels' scenarios, which reach
// the cases meant; 0: the policy reserves and never preempts. One that has no row is held to the laws alone.
struct Reached {
  std::int64_t preemptions, preemptions_in_channels, swaps, swaps_in_channels;
};
const std::map<std::string, Reached> reached = {
    {"static", {0, 0, 0, 0}},
    {"orca", {0, 0, 0, 0}},
    {"prefill_first", {300, 120, 100, 30}},
    {"chunked_prefill", {300, 120, 100, 30}},
    {"sub_batch_interleaving", {300, 120, 100, 30}},
    {"adaptive_chunk_interleaving", {300, 120, 100, 30}},
    {"asymmetric_pipelining", {60, 60, 100, 30}},  // the others preempt at once
    {"shortest_first", {300, 120, 100, 30}},
    {"priority", {3000, 1000, 1000, 300}},  // for those that wait as well
};

}  // namespace

TEST_CASE("batching: every request that fits alone ends, and no decision breaks a law", "[batching]") {
  const std::int64_t channels = GENERATE(1, 2, 5);
  for (const auto& entry : batching_policies()) {
    std::int64_t preemptions = 0, repeats = 0, blocked = 0, rejected = 0, swaps = 0;
    for (unsigned seed = 0; seed < 1500; ++seed) {
      const NaiveScenario scenario = random_scenario(entry.name, seed, channels);
      INFO("seed " << seed << ": " << scenario.text());
      NaiveEngine engine(scenario);
      engine.run();
      for (std::size_t r = 0; r < scenario.inputs.size(); ++r) {
        rejected += engine.outcomes[r].rejected;
        REQUIRE((engine.outcomes[r].rejected || engine.outcomes[r].generated == scenario.outputs[r]));
      }
      REQUIRE((may_overtake(entry.name) || std::ranges::is_sorted(engine.admission_order)));
      std::ranges::sort(engine.admission_order);
      REQUIRE(std::ranges::adjacent_find(engine.admission_order) == engine.admission_order.end());
      preemptions += engine.preemptions;
      swaps += scenario.swap ? engine.preemptions : std::min(engine.moves_in, engine.moves_out);
      repeats += engine.repeats_checked;
      blocked += engine.blocked_arrivals_checked;
      if (scenario.admission == Admission::sequence && !several_classes(scenario))
        REQUIRE(engine.preemptions == 0);
    }
    INFO(entry.name << ", " << channels << " channels: " << preemptions << " preemptions, " << swaps
                    << " swaps");
    const auto known = reached.find(entry.name);
    if (known == reached.end()) continue;
    const auto& [in_one, in_several, swaps_in_one, swaps_in_several] = known->second;
    const std::int64_t preempted = channels == 1 ? in_one : in_several,
                       swapped = channels == 1 ? swaps_in_one : swaps_in_several;
    CHECK((preempted ? preemptions > preempted : preemptions == 0));
    CHECK((swapped ? swaps > swapped : swaps == 0));
    CHECK(repeats > 1000);
    CHECK((blocked > 100 || may_overtake(entry.name)));  // any arrival may change their decisions
    CHECK(rejected > 100);
  }
}

TEST_CASE("batching: the same snapshot gives the same batch, whatever was asked before", "[batching]") {
  for (const auto& entry : batching_policies())
    for (unsigned seed = 0; seed < 50; ++seed) {
      const NaiveScenario scenario = random_scenario(entry.name, seed);
      NaiveEngine engine(scenario);
      const auto make = [&] {
        return make_policy(scenario.kind, scenario.max_batch_requests, scenario.max_batch_tokens,
                           scenario.keys);
      };
      const auto used = make();
      do {
        Batch a, b, c;
        used->next(engine.view(), a);
        used->next(engine.view(), b);
        make()->next(engine.view(), c);
        for (const Batch* other : {&b, &c}) {
          REQUIRE(a.slices.size() == other->slices.size());
          REQUIRE(a.preempted == other->preempted);
          REQUIRE(a.admitted == other->admitted);
          REQUIRE(a.valid.steps == other->valid.steps);
        }
      } while (engine.step());
    }
}
