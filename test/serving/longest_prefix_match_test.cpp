// SGLang's order of those who wait: who finds most of its prompt first, and of those who begin alike one at a
// time.
#include <catch2/catch.hpp>

#include "sim/serving/replica/replica.h"
#include "test/policies/naive_engine.h"
#include "test/serving/in_channels.h"

using namespace weir;

namespace {

struct Prompt {
  Origin origin;
  std::int64_t input;
};

// The order in which they are scheduled on a replica with a radix tree, as many at a time as there are seats;
// the first runs when the others come.
std::vector<std::int32_t> order_of(const std::vector<Prompt>& prompts, std::int64_t seats) {
  Workload workload;
  std::vector<Origin> origins;
  for (const Prompt& prompt : prompts) {
    workload.requests.push_back({Seconds(0), prompt.input, 3});
    origins.push_back(prompt.origin);
  }
  workload.contents = Contents(origins, workload.requests);
  ReplicaPlan plan;
  plan.rank.on = std::make_shared<test::InChannels>(1);
  plan.spec.batching = make_policy("longest_prefix_match", seats, 100'000);
  plan.spec.placement = test::placement(0);
  plan.spec.kv_cache.block_tokens = 1;
  plan.spec.kv_cache.prefix_index = PrefixIndex::radix_tree;
  plan.kv_pools = test::pools(100'000, 1, false);
  std::vector<std::int32_t> positions(prompts.size()), order;
  Recorder recorder(workload, {}, false);
  Replica replica(0, plan, positions, recorder, {[](std::int32_t) {}, [](std::int32_t) {}},
                  workload.contents);
  const auto count = static_cast<std::int32_t>(prompts.size());
  REQUIRE(replica.enqueue(0, Seconds(0)));
  Iteration iteration;
  for (double now = 0; !replica.empty() || now < 2; ++now) {
    if (now == 1)
      for (std::int32_t i = 1; i < count; ++i) REQUIRE(replica.enqueue(i, Seconds(now)));
    REQUIRE(replica.schedule(Seconds(now), iteration));
    StepRun run;
    run.first.time = Seconds(1), run.steps = 1;
    replica.complete(iteration, Seconds(now), Seconds(now + 1), {run}, 1);
    for (std::int32_t i = 0; i < count; ++i)
      if (recorder.record(i).scheduled == Seconds(now)) order.push_back(i);
  }
  return order;
}

using Order = std::vector<std::int32_t>;

}  // namespace

TEST_CASE("longest_prefix_match: who finds most of its prompt is scheduled first, of equals who came first") {
  CHECK(order_of({{{}, 100}, {{}, 500}, {{0, 40}, 200}, {{0, 90}, 200}, {{0, 40}, 50}}, 1) ==
        Order{0, 3, 2, 4, 1});
}

TEST_CASE("longest_prefix_match: of those who begin alike and find little one goes first, the others last") {
  // The second and the third begin with 300 tokens that nobody has computed; with 31 they are not held back.
  CHECK(order_of({{{}, 100}, {{}, 400}, {{1, 300}, 400}, {{}, 50}}, 3) == Order{0, 1, 3, 2});
  CHECK(order_of({{{}, 100}, {{}, 400}, {{1, 31}, 400}, {{}, 50}}, 3) == Order{0, 1, 2, 3});
}

TEST_CASE("longest_prefix_match: among more than 128 who wait it is first come first served") {
  for (const std::size_t waiting : {128u, 129u}) {
    std::vector<Prompt> prompts(1 + waiting, {{}, 100});
    prompts.back() = {{0, 90}, 200};
    const Order order = order_of(prompts, 1);
    CHECK((order[1] == static_cast<std::int32_t>(waiting)) == (waiting == 128));
  }
}

TEST_CASE("contents: what two texts have in common is where the later one leaves") {
  std::vector<Request> requests(5, {Seconds(0), 100, 50});
  const Contents contents({{}, {0, 80}, {0, 30}, {1, 90}, {}}, requests);
  CHECK(contents.common(1, 0) == 80);
  CHECK(contents.common(3, 0) == 80);
  CHECK(contents.common(1, 3) == 90);
  CHECK(contents.common(3, 2) == 30);
  CHECK(contents.common(2, 3) == 30);
  CHECK(contents.common(4, 3) == 0);
}
