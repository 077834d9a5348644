// A replica carries out whatever batch a policy decides, by the names in it, and refuses what it cannot do.
// Driven without SimGrid.
#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>

#include "sim/serving/replica/replica.h"
#include "test/serving/in_channels.h"

using namespace weir;

namespace {

using Decide = std::function<void(const ServingView&, Batch&)>;

class Deciding final : public BatchingPolicy {
 public:
  explicit Deciding(Decide decide) : decide_(std::move(decide)) {}
  void next(const ServingView& view, Batch& batch) const override { decide_(view, batch); }
  bool serves(const Request&, std::int64_t, std::int64_t) const override { return true; }
  std::int64_t max_batch_requests() const override { return 100; }
  std::int64_t max_batch_tokens() const override { return 100000; }

 private:
  Decide decide_;
};

constexpr std::int64_t block_tokens = 4;

// One replica in blocks of 4 tokens, all of whose requests wait from the beginning.
class Served {
 public:
  Served(Decide decide, std::vector<Request> requests, std::int64_t blocks, int channels = 1,
         int spare_channel = -1, const char* placement = "round_robin") {
    workload_.requests = std::move(requests);
    positions_.resize(workload_.requests.size(), -1);
    plan_.rank.on = std::make_shared<test::InChannels>(channels);
    plan_.spec.placement = test::make_policy(placement_policies(), placement);
    plan_.spec.batching = std::make_shared<Deciding>(std::move(decide));
    plan_.spec.kv_cache.block_tokens = block_tokens;
    plan_.kv_pools = test::pools(blocks, channels, false);
    plan_.kv_pools.spare_channel = spare_channel;
    recorder_.emplace(workload_, std::nullopt, false);
    replica_.emplace(0, plan_, positions_, *recorder_,
                     Replica::Events{[](std::int32_t) {}, [](std::int32_t) {}});
    for (std::size_t r = 0; r < workload_.requests.size(); ++r)
      replica_->enqueue(static_cast<std::int32_t>(r), now_);
  }

  void swap(std::int64_t blocks) {
    plan_.spec.kv_cache.preemption = Preemption::swap;
    plan_.spec.kv_cache.prefix_caching = PrefixCaching::none;
    plan_.swap_blocks = blocks;
  }
  void step() {
    now_ += Seconds(1);
    replica_->schedule(now_, iteration_);
    for (const KvMove& move : iteration_.moves) replica_->arrived(move, now_);
    if (!iteration_.members.empty()) replica_->complete(iteration_, now_, now_ + Seconds(1), {}, 1);
  }
  std::int64_t run() {  // how far the next batch would go
    replica_->schedule(now_ += Seconds(1), iteration_);
    return replica_->longest_run(iteration_);
  }
  const Replica& replica() const { return *replica_; }
  const Iteration& iteration() const { return iteration_; }
  const std::vector<RequestRecord>& records() { return recorder_->result().requests; }

 private:
  Workload workload_;
  std::vector<std::int32_t> positions_;
  ReplicaPlan plan_;
  std::optional<Recorder> recorder_;
  std::optional<Replica> replica_;
  Iteration iteration_;
  Seconds now_{0};
};

void run_all(const ServingView& view, Batch& batch) {
  for (const SequenceView& sequence : view.running)
    if (!sequence.in_flight) batch.slices.push_back({sequence.request, sequence.pending()});
}

}  // namespace

TEST_CASE("named requests: a policy that admits the newest first has it so", "[engine]") {
  const auto newest_first = [](const ServingView& view, Batch& batch) {
    run_all(view, batch);
    if (view.running.size() >= 2 || view.waiting.empty()) return;
    const SequenceView& newest = view.waiting.back();
    batch.admitted.push_back(newest.request);
    batch.slices.push_back({newest.request, newest.pending()});
  };
  Served served(newest_first, std::vector<Request>(6, {Seconds(0), 10, 3}), 100);
  while (!served.replica().empty()) served.step();
  const std::vector<RequestRecord>& records = served.records();
  for (std::size_t r = 0; r + 1 < records.size(); ++r) CHECK(records[r].scheduled > records[r + 1].scheduled);
  for (const RequestRecord& record : records) CHECK(record.status == RequestStatus::completed);
  CHECK(served.replica().cache().used() == 0);
}

TEST_CASE("named requests: whoever is named joins, gives way or computes, in any order and all at once",
          "[engine]") {
  std::int64_t preemptions = 0, overtaken = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    INFO("seed " << seed);
    Dice dice(seed);
    const auto anyone = [&](const ServingView& view, Batch& batch) {
      for (const SequenceView& sequence : view.running)
        if (dice(0, 19) == 0) batch.preempted.push_back(sequence.request);
      for (const SequenceView& sequence : view.waiting) {
        if (dice(0, 3) != 0) continue;
        overtaken += sequence.request != view.waiting[batch.admitted.size()].request;
        batch.admitted.insert(batch.admitted.begin() + dice(0, std::ssize(batch.admitted)), sequence.request);
        if (dice(0, 2) != 0) batch.slices.push_back({sequence.request, dice(1, sequence.pending())});
      }
      for (const SequenceView& sequence : view.running)
        if (std::ranges::find(batch.preempted, sequence.request) == batch.preempted.end() && dice(0, 4) != 0)
          batch.slices.push_back({sequence.request, dice(1, sequence.pending())});
      std::ranges::reverse(batch.slices);
    };
    std::vector<Request> requests;
    for (std::int64_t n = dice(1, 20); n > 0; --n) requests.push_back({Seconds(0), dice(1, 20), dice(1, 10)});
    Served served(anyone, requests, 1000);
    while (!served.replica().empty()) {
      served.step();
      std::int64_t tokens = 0;
      for (const PrefillChunk& chunk : served.iteration().shape.prefill) tokens += chunk.tokens;
      REQUIRE(tokens + served.iteration().shape.decodes == served.iteration().shape.tokens());
    }
    for (const RequestRecord& record : served.records()) {
      REQUIRE(record.status == RequestStatus::completed);
      preemptions += record.preemptions;
    }
    REQUIRE(served.replica().cache().used() == 0);
  }
  CHECK(preemptions > 500);
  CHECK(overtaken > 500);
}

TEST_CASE("named requests: what cannot be done is refused, with the request's name", "[engine]") {
  // Requests 0 and 1 run, 2 waits; 100 blocks, of which the two hold three each.
  struct Wrong {
    const char* why;
    std::vector<Slice> slices = {};
    std::vector<std::int32_t> admitted = {}, preempted = {};
    std::vector<Move> moves = {};
  };
  const std::vector<Wrong> wrong = {
      {"computes request 2, which does not run", {{2, 1}}},
      {"computes request 99, which does not run", {{99, 1}}},
      {"computes request -1, which does not run", {{-1, 1}}},
      {"computes request 0, which has not so many tokens", {{0, 1}, {0, 1}}},
      {"computes request 0, which has not so many tokens", {{0, 2}}},
      {"computes request 1, which has not so many tokens", {{1, 0}}},
      {"computes request 0, which is in a third sub-batch", {{0, 1, 2}}},
      {"computes request 1, which does not run", {{1, 1}}, {}, {1}},
      {"preempts request 1, which does not run", {}, {}, {1, 1}},
      {"preempts request 2, which does not run", {}, {}, {2}},
      {"preempts request 2, which does not run", {}, {2}, {2}},
      {"admits request 2, which does not wait", {}, {2, 2}},
      {"admits request 0, which does not wait", {}, {0}},
      {"admits request 1, which does not wait", {}, {1}, {1}},
      {"moves request 0, which has no other memory", {}, {}, {}, {{0, KvMemory::dealt}}},
      {"moves request 2, which does not run", {}, {}, {}, {{2, KvMemory::dealt}}},
      {"promised KV blocks that are not free", {{2, 1000}}, {2}},
  };
  for (const Wrong& decision : wrong) {
    INFO(decision.why);
    int asked = 0;
    const auto first_well = [&](const ServingView&, Batch& batch) {
      batch.admitted = {0, 1};
      batch.slices = {{1, 9}, {0, 9}};
      if (asked++ == 0) return;
      batch.slices = decision.slices, batch.admitted = decision.admitted;
      batch.preempted = decision.preempted, batch.moves = decision.moves;
      batch.interleaving = Interleaving::two;
    };
    Served served(first_well, {{Seconds(0), 9, 5}, {Seconds(0), 9, 5}, {Seconds(0), 1000, 5}}, 100);
    served.step();
    REQUIRE(served.replica().cache().used() == 6);
    CHECK_THROWS_WITH(served.step(), Catch::Contains("a batching policy") && Catch::Contains(decision.why));
  }
}

TEST_CASE("named requests: a KV cache moves where the policy says, if it is not there already", "[engine]") {
  std::vector<Batch> decisions(4);
  decisions[0].admitted = {0};
  decisions[0].slices = {{0, 9}};
  decisions[1].moves = {{0, KvMemory::dealt}};
  decisions[2].moves = decisions[3].moves = {{0, KvMemory::spare}};
  std::size_t asked = 0;
  Served served([&](const ServingView&, Batch& batch) { batch = decisions.at(asked++); },
                {{Seconds(0), 9, 50}}, 10, 2, 1);
  const auto free = [&] {
    const auto by_channel = served.replica().cache().free_by_channel();
    return std::vector(by_channel.begin(), by_channel.end());  // the host's, the device's own
  };
  served.step();
  CHECK(free() == std::vector<std::int64_t>{10, 7});
  served.step();
  CHECK(free() == std::vector<std::int64_t>{7, 10});
  served.step();  // it has come when the step ends
  CHECK(free() == std::vector<std::int64_t>{10, 7});
  CHECK_THROWS_WITH(served.step(), Catch::Contains("moves request 0, which has no other memory"));
}

TEST_CASE("preemption: what finds no swap space is computed again, and who returns leaves his", "[engine]") {
  std::vector<Batch> decisions(4);
  decisions[0].admitted = {0, 1, 2};
  decisions[0].slices = {{0, 9}, {1, 9}, {2, 9}};
  decisions[1].preempted = {0, 1};  // 3 blocks each
  decisions[2].admitted = {0};
  decisions[2].slices = {{0, 1}};  // whose KV cache comes first
  decisions[3].preempted = {2};
  std::size_t asked = 0;
  std::int64_t to_compute = -1;
  Served served(
      [&](const ServingView& view, Batch& batch) {
        for (const SequenceView& sequence : view.waiting)
          if (sequence.request == 1) to_compute = sequence.pending();
        batch = decisions.at(asked++);
      },
      std::vector<Request>(3, {Seconds(0), 9, 50}), 100);
  served.swap(5);
  const auto moved = [&] {
    std::vector<std::pair<std::int32_t, bool>> all;  // the request, and whether it goes to the host
    for (const KvMove& move : served.iteration().moves) all.emplace_back(move.request, move.to.in_host);
    return all;
  };
  using Moved = std::vector<std::pair<std::int32_t, bool>>;
  served.step();
  CHECK(moved() == Moved{});
  served.step();
  CHECK(moved() == Moved{{0, true}});
  served.step();
  CHECK(to_compute == 10);  // all of request 1: its prompt and the token that it had
  CHECK(moved() == Moved{{0, false}});
  served.step();
  CHECK(moved() == Moved{{2, true}});
}

TEST_CASE("validity: a batch runs for as many steps as it says, by default one, and as the placement holds",
          "[engine]") {
  const auto steps = [](std::int64_t said, int channels, const char* placement, std::size_t waiting) {
    int asked = 0;
    const auto decide = [&](const ServingView&, Batch& batch) {
      if (asked++ == 0) batch.admitted = {0};
      batch.slices = {{0, asked == 1 ? 9 : 1}};
      if (asked > 1 && said > 0) batch.valid.steps = said;
    };
    Served served(decide, std::vector<Request>(1 + waiting, {Seconds(0), 9, 50}), 100, channels, -1,
                  placement);
    served.step();
    served.step();
    return served.iteration().steps;
  };
  CHECK(steps(0, 1, "round_robin", 1) == 1);
  CHECK(steps(7, 1, "round_robin", 1) == 7);
  CHECK(steps(Validity::unlimited, 1, "round_robin", 1) == Validity::unlimited);
  CHECK(steps(7, 3, "round_robin", 1) == 1);  // who waits may find room elsewhere in the next step
  CHECK(steps(7, 3, "round_robin", 0) == 7);
  CHECK(steps(7, 3, "random", 1) == 7);
  CHECK(steps(7, 3, "layer_wise", 1) == 7);
}

TEST_CASE("validity: a run ends with its batch's, a request's end or the last free block", "[engine]") {
  const auto longest = [](std::int64_t said, std::int64_t output, std::int64_t blocks) {
    int asked = 0;
    const auto decide = [&](const ServingView&, Batch& batch) {
      if (asked++ == 0) batch.admitted = {0};
      batch.slices = {{0, asked == 1 ? 9 : 1}};
      batch.valid.steps = asked == 1 ? 1 : said;
    };
    Served served(decide, {{Seconds(0), 9, output}}, blocks);
    served.step();
    return served.run();
  };
  CHECK(longest(7, 50, 100) == 7);
  CHECK(longest(7, 6, 100) == 5);  // the first of six came out of the prompt
  CHECK(longest(7, 50, 3) == 3);   // 9 tokens are in 3 blocks of 4: three more have room
  CHECK(longest(1, 50, 100) == 1);
}
