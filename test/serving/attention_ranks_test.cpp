// Three ranks with requests of their own that step together, by hand and without SimGrid.
#include "sim/serving/replica/attention_ranks.h"

#include <catch2/catch.hpp>

#include "test/policies/naive_engine.h"
#include "test/serving/in_channels.h"

using namespace weir;

TEST_CASE("attention ranks: requests go to the emptiest, and steps, tokens and runs are those of all") {
  Workload workload;
  workload.requests = {
      {Seconds(0), 10, 9}, {Seconds(0), 6, 6}, {Seconds(0), 7, 2}, {Seconds(0), 12, 4}, {Seconds(0), 3, 3}};
  ReplicaPlan plan;
  plan.rank.on = std::make_shared<test::InChannels>(1);
  plan.spec.batching = make_policy("chunked_prefill", 4, 64);
  plan.spec.placement = test::placement(1);
  plan.spec.kv_cache.block_tokens = 4;
  plan.spec.parallelism.attention_data = 3;
  plan.kv_pools = test::pools(50, 1, false);
  std::vector<std::int32_t> positions(workload.requests.size()), finished;
  Recorder recorder(workload, {}, false);
  std::vector<std::unique_ptr<Replica>> three;
  for (int rank = 0; rank < 3; ++rank)
    three.push_back(std::make_unique<Replica>(
        5, plan, positions, recorder,
        Replica::Events{[&](std::int32_t request) { finished.push_back(request); }, [](std::int32_t) {}}));
  AttentionRanks ranks(std::move(three), recorder);
  CHECK(ranks.index() == 5);
  for (const std::int32_t request : {0, 1, 2, 3}) REQUIRE(ranks.assign(request).enqueue(request, Seconds(0)));
  // The first rank has it where several are alike.
  CHECK((ranks.rank_of(0) == 0 && ranks.rank_of(1) == 1 && ranks.rank_of(2) == 2 && ranks.rank_of(3) == 0));
  CHECK(&ranks.of(2) == ranks.all()[2].get());
  CHECK(ranks.outstanding_requests() == 4);
  CHECK(ranks.outstanding_tokens() == 19 + 12 + 9 + 16);

  Iteration all;
  REQUIRE(ranks.schedule(Seconds(0), all));
  CHECK(all.members.size() == 4);
  REQUIRE(all.shape.ranks.size() == 3);
  CHECK((all.shape.ranks[0].prefill_tokens == 22 && all.shape.ranks[1].prefill_tokens == 6 &&
         all.shape.ranks[2].prefill_tokens == 7));
  CHECK((all.shape.prefill_tokens == 22 && all.shape.routed == 35 && all.shape.sequences == 2));
  CHECK(all.sub_batches.empty());
  ranks.complete(all, Seconds(0), Seconds(2), {}, 1);
  CHECK(recorder.result().iterations == 1);
  CHECK(ranks.outstanding_tokens() == 56 - 35 - 4);
  CHECK(recorder.generated() == Approx(4));

  // The third rank's request ends with its second token, so that no run is longer.
  REQUIRE(ranks.schedule(Seconds(2), all));
  CHECK((all.shape.decodes == 2 && all.shape.decode_context_max == 13));
  CHECK(all.shape.routed == 3 * 2);
  CHECK(ranks.longest_run(all) == 1);
  ranks.complete(all, Seconds(2), Seconds(3), {}, 1);
  CHECK(finished == std::vector<std::int32_t>{2});
  CHECK(ranks.outstanding_requests() == 3);
  CHECK(ranks.outstanding_tokens() == 17 - 4);

  // Now that rank is idle, and the first one has a request of two tokens more.
  REQUIRE(ranks.schedule(Seconds(3), all));
  CHECK(all.members.size() == 3);
  CHECK(all.shape.ranks[2].rows() == 0);
  CHECK(ranks.longest_run(all) == 2);
  StepRun run;
  run.first.time = Seconds(1);
  run.steps = 2;
  ranks.complete(all, Seconds(3), Seconds(5), {run}, 2);
  CHECK(finished == std::vector<std::int32_t>{2, 3});
  CHECK(recorder.result().iterations == 4);
  CHECK(ranks.outstanding_tokens() == 13 - 2 * 3);
  CHECK(recorder.generated() == Approx(4 + 4 + 6));
  REQUIRE(ranks.schedule(Seconds(5), all));
  for (const auto& rank : ranks.all()) CHECK(rank->decisions() == ranks.all()[0]->decisions());
  // A request that comes meanwhile goes to the rank that has none.
  REQUIRE(ranks.assign(4).enqueue(4, Seconds(5)));
  CHECK(ranks.rank_of(4) == 2);
  CHECK(ranks.longest_run(all) == 1);
}
