// What requests find of what was computed before, request by request and step by step, as a cache finds it in
// which every block has a name.
#include <catch2/catch.hpp>
#include <numeric>

#include "sim/serving/replica/replica.h"
#include "test/policies/naive_engine.h"
#include "test/serving/in_channels.h"
#include "test/serving/named_blocks.h"
#include "test/serving/named_radix.h"

using namespace weir;

namespace {

// Requests that branch off earlier texts anywhere, in prompts and in answers.
struct Sharing {
  std::vector<Origin> origins;
  std::vector<test::NamedText> texts;
  Workload workload;
  std::vector<std::int64_t> arrivals;  // steps

  Sharing(Dice& dice, bool shares) {
    std::int64_t tick = 0;
    for (std::int64_t i = 0; i < 25; ++i) {
      const auto self = static_cast<std::int32_t>(i);
      Origin origin;
      test::NamedText text;
      if (shares && i > 0 && dice(0, 4) > 0) {
        origin.request =
            static_cast<std::int32_t>(dice(dice(0, 1) ? 0 : std::max<std::int64_t>(0, i - 3), i - 1));
        const auto& of = texts[static_cast<std::size_t>(origin.request)].tokens;
        origin.tokens = dice(0, 2) == 0 ? std::ssize(of) : dice(0, std::ssize(of));
        text.tokens.assign(of.begin(), of.begin() + origin.tokens);
        if (origin.tokens > 40) origin.tokens = 0, text.tokens.clear();
      }
      text.input = std::max<std::int64_t>(1, origin.tokens + dice(0, dice(0, 1) ? 2 : 20));
      const std::int64_t output = dice(1, 20);
      for (std::int64_t at = origin.tokens; at < text.input + output; ++at) text.tokens.push_back({self, at});
      workload.requests.push_back({Seconds(0), text.input, output});
      origins.push_back(origin);
      texts.push_back(std::move(text));
      arrivals.push_back(tick += dice(0, 8));
    }
    workload.contents = Contents(origins, workload.requests);
  }
};

struct Seen {
  std::int64_t found = 0, loaded = 0, preemptions = 0, runs = 0;
};

// Plays one workload on a replica and in the oracle, side by side.
void play(unsigned seed, PrefixCaching caching, int most_tiers, Seen& seen,
          PrefixIndex index = PrefixIndex::blocks) {
  INFO("seed " << seed);
  Dice dice(seed);
  const Sharing sharing(dice, dice(0, 9) > 0);
  const std::int64_t block_tokens = dice(1, 4), requests = dice(1, 6);
  test::NamedEngine::Limits limits{block_tokens,
                                   82 / block_tokens + dice(1, 8),
                                   requests,
                                   std::max<std::int64_t>(requests, dice(4, 60)),
                                   dice(0, 1) ? Admission::chunk : Admission::prompt,
                                   caching == PrefixCaching::shared};
  std::vector<std::shared_ptr<KvTier>> tiers;
  ReplicaPlan plan;
  if (most_tiers > 0) {
    limits.chunk_tokens = block_tokens * dice(1, 4);
    limits.loads_beside_steps = dice(0, 1) == 1;
  }
  for (std::int64_t left = most_tiers == 0 ? 0 : dice(1, most_tiers); left > 0; --left) {
    limits.tiers.push_back({dice(1, 60), dice(0, 1) == 1});
    tiers.push_back(std::make_shared<KvTier>(limits.tiers.back().chunks));
    KvTierSpec& spec = plan.spec.kv_cache.tiers.emplace_back();
    spec.chunk_tokens = limits.chunk_tokens;
    spec.stores = limits.tiers.back().answers ? KvTierSpec::Stores::all : KvTierSpec::Stores::prompt;
    spec.loads = limits.loads_beside_steps ? KvTierSpec::Loads::overlapped : KvTierSpec::Loads::stall;
  }
  plan.rank.on = std::make_shared<test::InChannels>(1);
  plan.spec.batching = make_policy("chunked_prefill", limits.requests, limits.tokens);
  plan.spec.placement = test::placement(0);
  plan.spec.kv_cache.block_tokens = block_tokens;
  plan.spec.kv_cache.admission = limits.admission;
  plan.spec.kv_cache.prefix_caching = caching;
  plan.spec.kv_cache.prefix_index = index;
  plan.kv_pools = test::pools(limits.blocks, 1, false);
  const Workload& workload = sharing.workload;
  std::vector<std::int32_t> positions(workload.requests.size());
  Recorder recorder(workload, {}, false);
  Replica* itself = nullptr;
  Replica::Events events{[](std::int32_t) {}, [](std::int32_t) {}};
  events.store = [&](const KvMove& move) { itself->stored(move); };
  Replica replica(0, plan, positions, recorder, events, workload.contents, tiers);
  itself = &replica;
  std::unique_ptr<test::NamedEngine> named;
  if (index == PrefixIndex::radix_tree)
    named = std::make_unique<test::NamedRadix>(limits, sharing.texts);
  else
    named = std::make_unique<test::NamedBlocks>(limits, sharing.texts);
  test::NamedEngine& oracle = *named;

  std::int64_t tick = 0;
  std::size_t next = 0;
  Iteration it;
  const auto count = workload.requests.size();
  std::vector<std::int64_t> computed(count);  // of prompts
  while (next < count || !replica.empty()) {
    if (replica.empty()) tick = std::max(tick, sharing.arrivals[next]);
    for (; next < count && sharing.arrivals[next] <= tick; ++next) {
      REQUIRE(replica.enqueue(static_cast<std::int32_t>(next), Seconds(static_cast<double>(tick))));
      oracle.add(static_cast<std::int32_t>(next));
    }
    const Seconds start(static_cast<double>(tick));
    REQUIRE(replica.schedule(start, it));
    std::int64_t n = replica.longest_run(it);
    if (next < count) n = std::min(n, std::max<std::int64_t>(1, sharing.arrivals[next] - tick));
    std::vector<test::NamedEngine::Slice> slices = oracle.step();
    REQUIRE(slices.size() == it.members.size());
    std::size_t chunk = 0;
    for (std::size_t i = 0; i < slices.size(); ++i) {
      REQUIRE(slices[i].request == it.members[i].request);
      const bool prompt = chunk < it.parts.chunks.size() &&
                          slices[i].tokens == it.parts.chunks[chunk].tokens &&
                          slices[i].context == it.parts.chunks[chunk].context;
      INFO("tick " << tick << " request " << slices[i].request << ": " << slices[i].tokens << " behind "
                   << slices[i].context);
      if (chunk < it.parts.chunks.size())
        UNSCOPED_INFO("here " << it.parts.chunks[chunk].tokens << " behind "
                              << it.parts.chunks[chunk].context);
      REQUIRE((prompt || slices[i].tokens == 1));
      chunk += prompt;
      const auto request = static_cast<std::size_t>(slices[i].request);
      computed[request] += std::max<std::int64_t>(
          0, std::min(slices[i].tokens, workload.requests[request].input_tokens - slices[i].context));
    }
    REQUIRE(chunk == it.parts.chunks.size());
    for (std::int64_t step = 1; step < n; ++step) {
      const auto later = oracle.step();
      REQUIRE(later.size() == slices.size());
      for (std::size_t i = 0; i < later.size(); ++i) REQUIRE(later[i].request == slices[i].request);
    }
    StepRun run;
    run.first.time = Seconds(1), run.steps = n;
    const Seconds end = start + Seconds(static_cast<double>(n));
    const std::vector<KvMove> moves = it.moves;
    if (!it.members.empty()) replica.complete(it, start, end, {run}, n);
    for (const KvMove& move : moves)
      if (!move.stalls) replica.arrived(move, end);
    REQUIRE(replica.cache().free() == oracle.free());
    tick += n;
    seen.runs += n > 1;
  }
  REQUIRE(oracle.done());
  REQUIRE(replica.cache().used() == 0);
  for (std::size_t r = 0; r < count; ++r) {
    const RequestRecord& record = recorder.record(static_cast<std::int32_t>(r));
    REQUIRE(record.status == RequestStatus::completed);
    REQUIRE(record.found_tokens == oracle.found(static_cast<std::int32_t>(r)));
    std::vector<std::int64_t> loaded(limits.tiers.size());
    if (const auto known = recorder.result().tier_tokens.find(static_cast<std::int32_t>(r));
        known != recorder.result().tier_tokens.end())
      std::ranges::copy(known->second, loaded.begin());
    REQUIRE(loaded == oracle.loaded(static_cast<std::int32_t>(r)));
    // Every prompt token is computed, found or loaded, once.
    const std::int64_t loads = std::accumulate(loaded.begin(), loaded.end(), std::int64_t{0});
    if (record.preemptions == 0) {
      REQUIRE(computed[r] + record.found_tokens + loads == record.request.input_tokens);
    }
    seen.found += record.found_tokens;
    seen.loaded += loads;
    seen.preemptions += record.preemptions;
  }
  REQUIRE(recorder.result().preemptions == oracle.preemptions());
}

}  // namespace

TEST_CASE("prefix cache: finds what a cache of named blocks finds, over random workloads", "[prefixes]") {
  Seen seen;
  for (unsigned seed = 0; seed < 1000; ++seed) play(seed, PrefixCaching::shared, 0, seen);
  CHECK(seen.found > 10'000);
  CHECK(seen.preemptions > 1000);
  CHECK(seen.runs > 1000);
}

TEST_CASE("radix tree: finds what a tree of written-out pages finds, over random workloads", "[prefixes]") {
  Seen seen;
  for (unsigned seed = 0; seed < 1000; ++seed)
    play(seed, PrefixCaching::shared, 0, seen, PrefixIndex::radix_tree);
  CHECK(seen.found > 10'000);
  CHECK(seen.preemptions > 1000);
  CHECK(seen.runs > 1000);
  for (unsigned seed = 0; seed < 300; ++seed)
    play(seed, PrefixCaching::shared, 2, seen, PrefixIndex::radix_tree);
  CHECK(seen.loaded > 1'000);
}

TEST_CASE("KV tiers: give what named chunks give, over random workloads", "[prefixes]") {
  Seen seen;
  for (unsigned seed = 0; seed < 1000; ++seed) play(seed, PrefixCaching::shared, 3, seen);
  CHECK(seen.loaded > 5'000);
  CHECK(seen.preemptions > 1000);
}

TEST_CASE("prefix cache: \"own\" finds a preempted request's blocks alone", "[prefixes]") {
  Seen seen;
  for (unsigned seed = 0; seed < 300; ++seed) play(seed, PrefixCaching::own, 0, seen);
  CHECK(seen.found == 0);
  CHECK(seen.preemptions > 300);
}
