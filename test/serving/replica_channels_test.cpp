// A replica whose device keeps KV caches in several channels, driven without SimGrid through random serving
// histories: requests that arrive, preemption, sub-batches, runs of many steps at once.
#include <catch2/catch.hpp>
#include <numeric>

#include "sim/serving/replica/replica.h"
#include "test/policies/naive_engine.h"
#include "test/serving/in_channels.h"

using namespace weir;

namespace {

void check_parts(const Iteration& it, int channels) {
  std::int64_t sum = 0;
  for (const DecodeContext& c : it.shape.contexts) {
    sum += c.tokens;
    REQUIRE((c.channel >= 0 && c.channel < channels));
  }
  REQUIRE(std::ssize(it.shape.contexts) == (channels > 1 ? it.shape.decodes : 0));
  if (channels > 1) REQUIRE(sum == it.shape.decode_context_sum);
  if (it.sub_batches.empty()) return;
  REQUIRE(it.sub_batches.size() == 2);
  const BatchShape &a = it.sub_batches[0], &b = it.sub_batches[1];
  REQUIRE((a.tokens() > 0 && b.tokens() > 0));
  REQUIRE(a.decodes + b.decodes == it.shape.decodes);
  REQUIRE(a.prefill_tokens + b.prefill_tokens == it.shape.prefill_tokens);
  REQUIRE(a.prefill.size() + b.prefill.size() == it.shape.prefill.size());
  REQUIRE(a.contexts.size() + b.contexts.size() == it.shape.contexts.size());
  REQUIRE(a.decode_context_sum + b.decode_context_sum == it.shape.decode_context_sum);
  REQUIRE(std::max(a.decode_context_max, b.decode_context_max) == it.shape.decode_context_max);
  REQUIRE(a.sequences + b.sequences == it.shape.sequences);
}

struct Outcome {
  std::int64_t preemptions = 0, steps = 0, runs = 0, interleaved = 0;
  std::vector<double> finished;
};

Outcome play(unsigned seed, bool fast_forward) {
  Dice dice(seed);
  const auto channels = static_cast<int>(dice(1, 5));
  ReplicaPlan plan;
  ReplicaSpec& spec = plan.spec;
  plan.rank.on = std::make_shared<test::InChannels>(channels);
  spec.batching = make_policy(dice(0, 1) ? "sub_batch_interleaving" : "chunked_prefill", dice(1, 12), 200);
  spec.placement = test::placement(dice(0, test::placements - 1));
  spec.kv_cache.block_tokens = 4;
  spec.kv_cache.preemption = dice(0, 1) ? Preemption::swap : Preemption::recompute;
  spec.kv_cache.admission = static_cast<Admission>(dice(0, 2));
  plan.swap_blocks = std::int64_t{1} << 40;
  plan.mha = {.embedding = 1024, .heads = 8};
  const bool spread = spec.placement->spreads_layers();
  const std::int64_t each = dice(8, 30) * (spread ? channels : 1);
  plan.kv_pools = test::pools(each, channels, spread);
  Workload workload;
  for (std::int64_t n = dice(1, 40); n > 0; --n)
    workload.requests.push_back({Seconds(0), dice(1, 40), dice(1, 60)});
  std::vector<std::int32_t> positions(workload.requests.size());
  Recorder recorder(workload, {}, false);
  Outcome outcome;
  Replica replica(0, plan, positions, recorder, {[](std::int32_t) {}, [](std::int32_t) {}});
  for (std::size_t r = 0; r < workload.requests.size(); ++r)
    replica.enqueue(static_cast<std::int32_t>(r), Seconds(0));
  const auto conserved = [&] {
    const auto free = replica.cache().free_by_channel();
    for (const std::int64_t blocks : free) REQUIRE((blocks >= 0 && blocks <= each));
    REQUIRE(std::accumulate(free.begin(), free.end(), replica.cache().used()) ==
            each * std::ssize(plan.kv_pools.blocks));
  };
  Iteration it;
  while (!replica.empty()) {
    const Seconds start(static_cast<double>(outcome.steps));
    REQUIRE(replica.schedule(start, it));
    check_parts(it, channels);
    conserved();
    for (const KvMove& move : it.moves) replica.arrived(move, start);
    if (it.members.empty()) continue;
    outcome.interleaved += !it.sub_batches.empty();
    const std::int64_t n = fast_forward ? replica.longest_run(it) : 1;
    StepRun run;
    run.first.time = Seconds(1), run.steps = n;
    replica.complete(it, start, start + Seconds(static_cast<double>(n)), {run}, n);
    outcome.steps += n, outcome.runs += n > 1;
    conserved();
  }
  for (const std::int64_t blocks : replica.cache().free_by_channel()) REQUIRE(blocks == each);
  for (const RequestRecord& record : recorder.result().requests) {
    REQUIRE(record.status != RequestStatus::unfinished);
    outcome.finished.push_back(record.finished.value());
    outcome.preemptions += record.preemptions;
  }
  return outcome;
}

}  // namespace

TEST_CASE("channels: blocks are conserved in each, and a fast-forwarded run changes nothing", "[engine]") {
  std::int64_t preemptions = 0, runs = 0, interleaved = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    INFO("seed " << seed);
    const Outcome fast = play(seed, true), slow = play(seed, false);
    REQUIRE(fast.finished == slow.finished);
    REQUIRE(fast.steps == slow.steps);
    preemptions += fast.preemptions, runs += fast.runs, interleaved += fast.interleaved;
  }
  CHECK(preemptions > 100);
  CHECK(runs > 500);
  CHECK(interleaved > 1000);
}
