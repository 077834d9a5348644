// PRESERVE against every set of prefetches there is, on random graphs of up to twelve operators played on
// the step timeline; and why a step takes longer with prefetches than without.
#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <optional>

#include "sim/app/reproduce/kernels.h"
#include "sim/engine/timeline/stage_step.h"
#include "test/engine/played_step.h"
#include "test/engine/random_stage.h"
#include "test/engine/random_step.h"
#include "test/policies/make_policy.h"

namespace weir::test {
namespace {

std::shared_ptr<const PrefetchPolicy> policy(const Json& json) {
  Reading reading("test");
  auto made = make_from(prefetch_policies(), Params(reading, json), {"kind", "which"});
  reading.finish();
  return made;
}

const Json algorithm_1 = {{"kind", "preserve"}},
           window_aware = {{"kind", "preserve"}, {"window_aware", true}}, oracle = {{"kind", "oracle"}};

// Places prefetches as a policy does, and fetches as it does or what the test says.
class Told final : public PrefetchPolicy {
 public:
  explicit Told(const Json& json) : policy_(policy(json)) {}
  StageGraph add_prefetches(StageGraph placed, std::span<const std::string> units) const override {
    return policy_->add_prefetches(std::move(placed), units);
  }
  void choose(const PrefetchView& view, std::span<Bytes> fetched) const override {
    count = view.candidates.size();
    if (set)
      for (std::size_t i = 0; i < count; ++i)
        fetched[i] = *set >> i & 1 ? view.candidates[i].bytes : Bytes(0);
    else
      policy_->choose(view, fetched);
    std::map<int, Bytes> sums;
    took = 0, fits = true;
    for (std::size_t i = 0; i < count; ++i) {
      sums[view.candidates[i].window] += fetched[i];
      if (fetched[i] > Bytes(0)) took |= 1u << i;
    }
    for (const auto& [_, sum] : sums) fits = fits && (sum < view.capacity || sum == Bytes(0));
  }
  bool yields() const override { return policy_->yields(); }

  std::optional<unsigned> set;  // none: as the policy
  // What was last fetched, of how many, and whether every window of it leaves room in the cache.
  mutable unsigned took = 0;
  mutable std::size_t count = 0;
  mutable bool fits = true;

 private:
  std::shared_ptr<const PrefetchPolicy> policy_;
};

struct Case {
  StageGraph stage;
  BatchShape batch;
  double l2_mb, links_gb_per_s;

  explicit Case(std::mt19937_64& random) {
    stage = random_stage(random, 12, 8);
    batch.decodes = batch.sequences = 1 << uniform_int(random, 0, 11);
    batch.decode_context_max = 1 + uniform_int(random, 0, 40000) / batch.decodes;
    batch.decode_context_sum = batch.decodes * batch.decode_context_max;
    l2_mb = uniform_int(random, 1, 150);
    links_gb_per_s = uniform_int(random, 10, 400);
  }
};

ReplicaSpec replica_of(const Case& c) {
  ReplicaSpec replica = replica_on("h100_sxm", "nvlink4_switch", "");
  replica.on = catalog_device("l2_npu", {{"l2_mb", c.l2_mb}});
  replica.links = {.name = "ring",
                   .shape = LinkShape::ring,
                   .bandwidth = BytesPerSecond(1e9 * c.links_gb_per_s),
                   .latency = Seconds(5e-6),
                   .latency_once = true};
  replica.collectives = make_collectives(replica.links, "");
  replica.engine = {};
  return replica;
}

class Player {
 public:
  explicit Player(const Case& c, const Json& json = algorithm_1)
      : batch_(c.batch), told_(std::make_shared<Told>(json)) {
    ReplicaSpec replica = replica_of(c);
    without_ = std::make_unique<StepModel>(replica, place(replica, c.stage), false);
    replica.prefetch = told_;
    model_ = std::make_unique<StepModel>(replica, place(replica, c.stage), false);
  }
  Seconds chosen() { return played(std::nullopt); }  // by the policy
  Seconds only(unsigned set) { return played(set); }
  Seconds none() { return only(0); }
  Seconds without() { return without_->step({batch_}).time; }  // a policy of prefetches
  // After a step.
  std::size_t candidates() const { return told_->count; }
  unsigned took() const { return told_->took; }
  bool fits() const { return told_->fits; }

 private:
  Seconds played(std::optional<unsigned> set) {
    told_->set = set;
    return model_->step({batch_}).time;
  }
  BatchShape batch_;
  std::shared_ptr<Told> told_;
  std::unique_ptr<StepModel> model_, without_;
};

constexpr double rounding = 1 + 1e-9;

// What a device may be spared, to see what makes a step longer with prefetches than without.
struct Spared {
  bool eviction = false;  // the cache holds everything
  bool sharing =
      false;  // the memory has bandwidth for all at once; kernels and prefetches take what they took
  bool stream = false;  // every prefetch has a stream for itself
  bool units = false;   // and every other operator a unit, on links with bandwidth for all
};

StageGraph on_units_of_their_own(StageGraph placed, const Spared& spared, std::vector<DeviceUnit>& units) {
  for (OperatorGraph* part : {&placed.prologue, &placed.block, &placed.epilogue})
    for (const auto v : boost::make_iterator_range(boost::vertices(*part))) {
      if (!((*part)[v].kind == OperatorKind::prefetch ? spared.stream : spared.units)) continue;
      (*part)[v].unit = static_cast<int>(units.size());
      units.push_back({"its own"});
    }
  return placed;
}

// The step with a set of Algorithm 1's prefetches.
Seconds played(Case c, unsigned set, const Spared& spared) {
  if (spared.eviction) c.l2_mb = 1e6;
  ReplicaSpec replica = replica_of(c);
  const auto told = std::make_shared<Told>(algorithm_1);
  told->set = set;
  replica.prefetch = told;
  const StageGraph placed = place(replica, c.stage);
  const DeviceSpec& device = replica.on->spec();
  std::vector<DeviceUnit> units = device.units;
  const StageGraph spread = on_units_of_their_own(placed, spared, units);
  const StageStep step = stage_step({&spread, 1}, units, (spared.sharing ? 1e9 : 1) * device.cache->fill,
                                    (spared.units ? 1e9 : 1) * replica.links.bandwidth);
  Timeline timeline(step.graph);
  const auto fill = [&](const OperatorGraph& part, int first) {
    const std::vector<bool> elsewhere = Prefetched::covered(part);
    for (std::size_t v = 0; v < elsewhere.size(); ++v)
      if (!elsewhere[v])
        set_cost(timeline, step.graph, first + static_cast<int>(v),
                 replica.on->cost(part[v], c.batch, *replica.collectives));
  };
  fill(placed.prologue, step.chains[0].prologue);
  if (placed.layers > 0) fill(placed.block, step.chains[0].block);
  fill(placed.epilogue, step.chains[0].epilogue);
  Prefetched(replica, step, placed).fill(timeline, step.graph, {&c.batch, 1});
  return timeline.evaluate().total;
}

bool longer(const Case& c, unsigned set, const Spared& spared = {}) {
  return played(c, set, spared) > played(c, 0, spared) * rounding;
}

}  // namespace

TEST_CASE("prefetch oracle: the policy takes the best set there is, and Algorithm 1 is near it", "[engine]") {
  std::mt19937_64 random(17);
  double worst = 1, sum = 0;
  std::size_t graphs = 0, most = 0;
  for (int round = 0; round < 400; ++round) {
    const Case c(random);
    Player player(c), policy(c, oracle);
    Seconds best = player.none();
    const std::size_t candidates = player.candidates();
    if (candidates == 0) continue;
    for (unsigned set = 1; set < 1u << candidates; ++set)
      if (const Seconds time = player.only(set); player.fits()) best = std::min(best, time);
    const Seconds ours = player.chosen();
    CAPTURE(round);
    CHECK(player.fits());
    CHECK(policy.chosen().value() == Approx(best.value()).epsilon(1e-9));
    CHECK(policy.fits());
    CHECK(best <= ours * rounding);
    worst = std::max(worst, ours / best);
    sum += ours / best, ++graphs, most = std::max(most, candidates);
  }
  CHECK((graphs > 200 && most >= 8));
  CHECK(sum / static_cast<double>(graphs) < 1.009);  // 1.0083
  // 1.127 in round 103: of five candidates it takes the first two and stops at the third, which would fill
  // the cache; the best set has the fifth as well.
  CHECK(worst < 1.13);
}

TEST_CASE("prefetch oracle: prefetches of which nothing is fetched change nothing", "[engine]") {
  std::mt19937_64 random(19);
  for (int round = 0; round < 200; ++round) {
    const Case c(random);
    Player player(c);
    CAPTURE(round);
    CHECK(player.none().value() == Approx(player.without().value()).epsilon(1e-12));
  }
}

TEST_CASE("prefetch oracle: every step that Algorithm 1 makes longer is so by sharing the memory",
          "[engine]") {
  std::mt19937_64 random(17);
  int slower = 0;
  for (int round = 0; round < 400; ++round) {
    const Case c(random);
    Player player(c);
    const Seconds ours = player.chosen();
    CAPTURE(round);
    CHECK(played(c, player.took(), {}).value() == Approx(ours.value()).epsilon(1e-12));
    if (!longer(c, player.took())) continue;
    ++slower;
    CHECK(longer(c, player.took(), {.eviction = true}));  // it stops short of the capacity
    CHECK_FALSE(longer(c, player.took(), {.sharing = true}));
  }
  CHECK(slower > 50);
}

TEST_CASE("prefetch oracle: fetching everything makes steps longer by eviction or by sharing the memory",
          "[engine]") {
  std::mt19937_64 random(17);
  int slower = 0, evicted = 0;
  for (int round = 0; round < 800; ++round) {
    const Case c(random);
    if (!longer(c, ~0u)) continue;
    CAPTURE(round);
    const bool eviction = !longer(c, ~0u, {.eviction = true}), sharing = !longer(c, ~0u, {.sharing = true});
    CHECK((eviction || sharing));
    CHECK_FALSE(longer(c, ~0u, {.eviction = true, .sharing = true}));
    // Nothing but these, the one stream, and the order in which units serve can be: spared all, it hides.
    CHECK_FALSE(longer(c, ~0u, {.eviction = true, .sharing = true, .stream = true, .units = true}));
    ++slower, evicted += eviction;
  }
  CHECK((slower > 100 && evicted > 50));
}

namespace {

Operator matrix(int features) {
  Operator op;
  op.kind = OperatorKind::gemm;
  op.weights = op.activations = DataType::int8;
  op.in_features = op.out_features = features;
  return op;
}

Operator all_reduce(double bytes_per_row) {
  Operator op;
  op.kind = OperatorKind::all_reduce;
  op.devices = 8;
  op.bytes_per_row = Bytes(bytes_per_row);
  return op;
}

Operator elementwise(double bytes_per_row) {
  Operator op;
  op.bytes_per_row = Bytes(bytes_per_row);
  return op;
}

// 150 MB of L2, links of 100 GB/s, decodes of one token each; the stage is the caller's.
Case case_of(std::int64_t decodes) {
  std::mt19937_64 random(1);
  Case c(random);
  c.stage = StageGraph{};
  c.l2_mb = 150, c.links_gb_per_s = 100;
  c.batch = BatchShape{};
  c.batch.decodes = c.batch.sequences = c.batch.decode_context_sum = decodes;
  c.batch.decode_context_max = 1;
  return c;
}

}  // namespace

// Two communications at once: the large matrix behind the one is fetched first and used last; what follows
// the small matrix behind the other waits for both.
TEST_CASE("prefetch oracle: a third cause is the order in which the stream of prefetches serves",
          "[engine]") {
  Case c = case_of(16);
  OperatorGraph& graph = c.stage.prologue;
  enum { first, second, small, norm, large, third };
  for (const Operator& op :
       {all_reduce(64), all_reduce(64), matrix(256), elementwise(256), matrix(11000), all_reduce(262144)})
    boost::add_vertex(op, graph);
  for (const auto& [from, to] : {std::pair(first, large), std::pair(second, small), std::pair(second, norm),
                                 std::pair(norm, large), std::pair(small, third)})
    boost::add_edge(static_cast<std::size_t>(from), static_cast<std::size_t>(to), graph);
  Player player(c);
  player.chosen();
  REQUIRE(player.took() == 3);
  CHECK(longer(c, 3));
  CHECK(longer(c, 3, {.eviction = true, .sharing = true}));
  CHECK_FALSE(longer(c, 3, {.stream = true}));
  Player aware(c, window_aware);
  CHECK(aware.chosen() <= aware.none() * rounding);
}

TEST_CASE("prefetch oracle: window-aware, no step is longer than without prefetches", "[engine]") {
  std::mt19937_64 random(17);
  int shorter = 0;
  for (int round = 0; round < 800; ++round) {
    const Case c(random);
    Player player(c, window_aware);
    const Seconds none = player.none(), aware = player.chosen();
    CAPTURE(round);
    CHECK(aware <= none * rounding);
    shorter += aware < 0.95 * none;
  }
  CHECK(shorter > 50);
}

// What is left: one prefetch stands for all layers, and the first one's may go on after a shorter all-reduce.
TEST_CASE("prefetch oracle: window-aware, the first layer shares where its all-reduce is a shorter one",
          "[engine]") {
  const auto excess = [&](double first_bytes) {
    Case c = case_of(2048);  // so that the matrix is bound by arithmetic
    boost::add_vertex(elementwise(1024), c.stage.prologue);
    boost::add_edge(0, boost::add_vertex(all_reduce(first_bytes), c.stage.prologue), c.stage.prologue);
    for (const Operator& op : {elementwise(8192), matrix(8192), all_reduce(8192)})
      if (const auto added = boost::add_vertex(op, c.stage.block); added > 0)
        boost::add_edge(added - 1, added, c.stage.block);
    c.stage.layers = 2;
    Player player(c, window_aware);
    return (player.chosen() - player.none()).value();
  };
  CHECK(excess(64) > 1e-6);
  CHECK(excess(8192) <= 1e-12);
}

}  // namespace weir::test
