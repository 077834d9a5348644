// A router knows what replicas held a while ago, and what it sent them.
#include "sim/serving/routing/router_knowledge.h"

#include <catch2/catch.hpp>
#include <set>

#include "sim/serving/replica/replica.h"
#include "test/policies/naive_engine.h"
#include "test/serving/in_channels.h"
#include "test/serving/routing/branching_texts.h"

using namespace weir;
using namespace weir::test;

namespace {

// Replicas that play a workload without SimGrid, each at its own pace, and the router that sends to them.
class Played {
 public:
  Played(unsigned seed, Seconds delay)
      : dice_(seed),
        w_(branching(dice_, 40)),
        recorder_(w_, {}, false),
        delay_(delay),
        knows_({.loads = true, .draws = true, .reports = delay}, w_.contents, w_.requests.size(), true) {
    block_tokens_ = dice_(1, 4);
    const auto replicas = static_cast<std::int32_t>(dice_(1, dice_(0, 9) == 0 ? 20 : 4));
    for (std::int32_t i = 0; i < replicas; ++i) {
      ReplicaPlan& plan = plans_.emplace_back();
      plan.rank.on = std::make_shared<test::InChannels>(1);
      const std::int64_t requests = dice_(1, 6);
      plan.spec.batching =
          make_policy("chunked_prefill", requests, std::max<std::int64_t>(requests, dice_(6, 60)));
      plan.spec.placement = test::placement(0);
      plan.spec.kv_cache.block_tokens = block_tokens_;
      plan.kv_pools = test::pools(100 / block_tokens_ + dice_(1, 8), 1, false);
    }
    positions_.resize(plans_.size(), std::vector<std::int32_t>(w_.requests.size()));
    for (std::int32_t i = 0; i < replicas; ++i) {
      const auto at = static_cast<std::size_t>(i);
      knows_.add_replica(i, block_tokens_);
      Rank& rank = ranks_.emplace_back();
      rank.replica = std::make_unique<Replica>(
          i, plans_[at], positions_[at], recorder_,
          Replica::Events{[this, i](std::int32_t request) {
                            knows_.ended(request,
                                         w_.requests[static_cast<std::size_t>(request)].input_tokens);
                            active_[i].erase(request);
                            ++ended;
                          },
                          [](std::int32_t) {}},
          w_.contents);
      rank.replica->tell(knows_.listener(i, plans_[at].kv_pools.blocks[0]));
    }
  }

  void play() {
    const auto count = static_cast<std::int32_t>(w_.requests.size());
    for (std::int32_t next = 0; next < count || ended < count;) {
      now_ += Seconds(static_cast<double>(dice_(0, 3)) / 4);
      if (next < count && dice_(0, 1) == 0 && may_send(next)) {
        check(next);
        send(next++);
      }
      for (std::size_t i = 0; i < ranks_.size(); ++i) step(i);
    }
    now_ += delay_;
    check(count - 1);
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      const ReplicaLoad load = knows_.load(static_cast<std::int32_t>(i));
      CHECK((load.prompt_tokens == 0 && load.blocks == 0));
    }
  }
  std::int64_t ended = 0, kept = 0, shared = 0, outdated = 0;

 private:
  struct Said {  // what a replica held for each request, and said of itself
    Seconds at;
    std::vector<std::int64_t> found;
    std::int64_t used;
  };
  struct Rank {
    std::unique_ptr<Replica> replica;
    Iteration it;
    Seconds until{-1};
    std::vector<Said> said;
  };

  // Nobody begins with an answer that there is not yet.
  bool may_send(std::int32_t request) {
    for (Origin o = w_.contents.origin(request); o.request >= 0; o = w_.contents.origin(o.request)) {
      const RequestRecord& author = recorder_.record(o.request);
      if (o.tokens > author.request.input_tokens && author.finished < Seconds(0)) return false;
    }
    return true;
  }
  // One decision, or its end.
  void step(std::size_t i) {
    Rank& rank = ranks_[i];
    Replica& replica = *rank.replica;
    if (rank.until < Seconds(0)) {
      if (replica.empty() || !replica.schedule(now_, rank.it)) return;
      rank.until = now_ + Seconds(static_cast<double>(dice_(0, 2)) / 4);
      return;
    }
    if (rank.until > now_) return;
    const auto before = ended;
    const bool prompts = rank.it.shape.prefill_tokens > 0;
    StepRun run;
    replica.complete(rank.it, now_, now_, {run}, 1);
    rank.until = Seconds(-1);
    if (prompts || ended > before) rank.said.push_back(says(replica));
  }
  // The cache itself says so; answers that are being written are not told.
  Said says(Replica& replica) {
    Said said{now_, {}, replica.cache().used()};
    auto& runs = const_cast<KvCache&>(replica.cache()).held_blocks();
    for (std::int32_t r = 0; r < std::ssize(w_.requests); ++r) {
      std::set<Block> there;
      for (const Block& block : blocks_of(w_.contents, r, full_blocks(r), block_tokens_)) {
        const RequestRecord& author = recorder_.record(block.first);
        const bool told =
            author.finished >= Seconds(0) || block.second < author.request.input_tokens / block_tokens_;
        if (told && block.second < runs.end_of_text(block.first)) there.insert(block);
      }
      std::vector<KvBlocks::Piece> pieces;
      TextPath path(w_.contents, block_tokens_);
      const std::int64_t found = runs.find(path(r, full_blocks(r)), 0, KvBlocks::Look::engine, pieces);
      const std::int64_t n = beginning_in(there, blocks_of(w_.contents, r, full_blocks(r), block_tokens_));
      REQUIRE(n == std::ssize(there));  // who has a block has those before it
      REQUIRE(n <= found);
      said.found.push_back(n);
    }
    return said;
  }
  std::int64_t full_blocks(std::int32_t r) const {
    return w_.requests[static_cast<std::size_t>(r)].input_tokens / block_tokens_;
  }

  void check(std::int32_t request) {
    knows_.changed(now_);
    const auto holders =
        holders_by_replica(knows_, request, w_.requests[static_cast<std::size_t>(request)].input_tokens);
    for (std::int32_t i = 0; i < std::ssize(ranks_); ++i) {
      const auto& said = ranks_[static_cast<std::size_t>(i)].said;
      const Said* heard = nullptr;
      for (const Said& s : said)
        if (s.at + delay_ <= now_) heard = &s;
      const std::int64_t tokens = heard ? heard->found[static_cast<std::size_t>(request)] * block_tokens_ : 0;
      std::set<Block> active;
      std::int64_t prompt_tokens = 0;
      for (const auto& [r, missing] : active_[i]) {
        for (const Block& b : blocks_of(w_.contents, r, full_blocks(r), block_tokens_)) active.insert(b);
        if (recorder_.record(r).first_token < Seconds(0)) prompt_tokens += missing;
      }
      const std::int64_t in_common =
          beginning_in(active, blocks_of(w_.contents, request, full_blocks(request), block_tokens_));
      const auto holder = holders.find(i);
      REQUIRE((holder == holders.end() ? 0 : holder->second.tokens) == tokens);
      REQUIRE((holder == holders.end() ? 0 : holder->second.shared_blocks) == in_common);
      REQUIRE(knows_.load(i).blocks == std::ssize(active));
      REQUIRE(knows_.load(i).prompt_tokens == prompt_tokens);
      const double total = static_cast<double>(ranks_[static_cast<std::size_t>(i)].replica->cache().total());
      REQUIRE(knows_.report(i).kv_used == (heard ? static_cast<double>(heard->used) / total : 0));
      kept += tokens > 0;
      shared += in_common > 0;
      outdated += heard && heard != &said.back();
    }
  }
  void send(std::int32_t request) {
    const auto to = static_cast<std::int32_t>(dice_(0, std::ssize(ranks_) - 1));
    const std::int64_t input = w_.requests[static_cast<std::size_t>(request)].input_tokens;
    const auto holders = holders_by_replica(knows_, request, input);
    const std::int64_t found = holders.contains(to) ? holders.at(to).tokens : 0;
    knows_.sent(request, input, to, found);
    active_[to][request] = input - found;
    REQUIRE(ranks_[static_cast<std::size_t>(to)].replica->enqueue(request, now_));
  }

  Dice dice_;
  Workload w_;
  Recorder recorder_;
  Seconds delay_;
  RouterKnowledge knows_;
  std::int64_t block_tokens_ = 1;
  std::deque<ReplicaPlan> plans_;
  std::vector<std::vector<std::int32_t>> positions_;
  std::deque<Rank> ranks_;
  std::map<std::int32_t, std::map<std::int32_t, std::int64_t>>
      active_;  // by replica: prompt tokens to compute
  Seconds now_{0};
};

}  // namespace

TEST_CASE("router: knows what replicas held so long ago and what it sent them, over random workloads",
          "[routing]") {
  std::int64_t kept = 0, shared = 0, outdated = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    INFO("seed " << seed);
    Played played(seed, Seconds(static_cast<double>(seed % 4) * 0.75));
    played.play();
    kept += played.kept;
    shared += played.shared;
    outdated += played.outdated;
  }
  CHECK(kept > 3000);
  CHECK(shared > 3000);
  CHECK(outdated > 3000);
}

TEST_CASE("router: what a replica tells at t is known at t + delay, and not before", "[routing]") {
  LateReports reports(Seconds(0.05));
  const int cache = reports.add_cache(3, 10);
  const auto known = [&](double now) {
    std::int64_t end = 0;
    reports.hear(Seconds(now), [](std::int32_t replica) { CHECK(replica == 3); });
    reports.each(7, [&](std::int32_t replica, std::int64_t blocks) {
      CHECK(replica == 3);
      end = blocks;
    });
    return end;
  };
  reports.kept(cache, 7, 5, Seconds(1));
  reports.used(cache, 4, Seconds(1));
  reports.kept(cache, 7, 2, Seconds(2));
  reports.waiting(cache, 6, Seconds(2));
  reports.kept(cache, 7, 0, Seconds(3));
  CHECK(known(1.0499) == 0);
  CHECK(reports.report(3).kv_used == 0);
  CHECK(known(1.0501) == 5);
  CHECK(reports.report(3).kv_used == 0.4);
  CHECK(known(2.0499) == 5);
  CHECK(reports.report(3).waiting == 0);
  CHECK(known(2.0501) == 2);
  CHECK(reports.report(3).waiting == 6);
  CHECK(known(3.0499) == 2);
  CHECK(known(3.0501) == 0);
}
