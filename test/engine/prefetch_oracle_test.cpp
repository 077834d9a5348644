// PRESERVE against every set of prefetches there is, on random graphs of up to twelve operators played on
// the step timeline.
#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <optional>

#include "sim/app/reproduce/kernels.h"
#include "test/engine/played_step.h"
#include "test/engine/random_stage.h"
#include "test/engine/random_step.h"
#include "test/policies/make_policy.h"

namespace weir::test {
namespace {

std::shared_ptr<const PrefetchPolicy> preserve(bool window_aware) {
  const Json json = {{"kind", "preserve"}, {"window_aware", window_aware}};
  Reading reading("test");
  auto policy = make_from(prefetch_policies(), Params(reading, json), {"kind", "which"});
  reading.finish();
  return policy;
}

// Places prefetches as PRESERVE does, and fetches as it does or what the test says.
class Told final : public PrefetchPolicy {
 public:
  explicit Told(bool window_aware) : preserve_(preserve(window_aware)) {}
  StageGraph add_prefetches(StageGraph placed, std::span<const std::string> units) const override {
    return preserve_->add_prefetches(std::move(placed), units);
  }
  void choose(Bytes capacity, std::span<const PrefetchCandidate> candidates,
              std::span<Bytes> fetched) const override {
    count = candidates.size();
    if (set) {
      for (std::size_t i = 0; i < candidates.size(); ++i)
        fetched[i] = *set >> i & 1 ? candidates[i].bytes : Bytes(0);
      return;
    }
    preserve_->choose(capacity, candidates, fetched);
    std::map<int, Bytes> sums;
    for (std::size_t i = 0; i < candidates.size(); ++i) sums[candidates[i].window] += fetched[i];
    for (const auto& [_, sum] : sums) CHECK(sum < capacity);
  }

  bool yields() const override { return preserve_->yields(); }

  std::optional<unsigned> set;    // none: as PRESERVE
  mutable std::size_t count = 0;  // of candidates, when last asked

 private:
  std::shared_ptr<const PrefetchPolicy> preserve_;
};

// The same kernels on a device whose memory or cache is another one.
class Altered final : public Device {
 public:
  Altered(std::shared_ptr<const Device> device, const std::function<void(DeviceSpec&)>& change)
      : device_(std::move(device)), spec_(device_->spec()) {
    change(spec_);
  }
  const DeviceSpec& spec() const override { return spec_; }
  KernelCost cost(const Operator& op, const BatchShape& batch, const CollectiveModel& links) const override {
    return device_->cost(op, batch, links);
  }
  AffineKernelCost decode_attention(const Operator& op, const BatchShape& batch) const override {
    return device_->decode_attention(op, batch);
  }

 private:
  std::shared_ptr<const Device> device_;
  DeviceSpec spec_;
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

using Change = std::function<void(DeviceSpec&)>;

class Player {
 public:
  explicit Player(
      const Case& c, bool window_aware = false, const Change& change = [](DeviceSpec&) {})
      : batch_(c.batch), told_(std::make_shared<Told>(window_aware)) {
    ReplicaSpec replica = replica_on("h100_sxm", "nvlink4_switch", "");
    replica.on = std::make_shared<Altered>(catalog_device("l2_npu", {{"l2_mb", c.l2_mb}}), change);
    replica.links = {.name = "ring",
                     .shape = LinkShape::ring,
                     .bandwidth = BytesPerSecond(1e9 * c.links_gb_per_s),
                     .latency = Seconds(5e-6),
                     .latency_once = true};
    replica.collectives = make_collectives(replica.links, "");
    replica.engine = {};
    without_ = std::make_unique<StepModel>(replica, place(replica, c.stage), false);
    replica.prefetch = told_;
    model_ = std::make_unique<StepModel>(replica, place(replica, c.stage), false);
  }
  StepCost preserve() { return played(std::nullopt); }
  StepCost only(unsigned set) { return played(set); }
  StepCost none() { return only(0); }
  StepCost without() { return without_->step({batch_}); }  // a policy of prefetches
  std::size_t candidates() const { return told_->count; }  // after the first step

 private:
  StepCost played(std::optional<unsigned> set) {
    told_->set = set;
    return model_->step({batch_});
  }
  BatchShape batch_;
  std::shared_ptr<Told> told_;
  std::unique_ptr<StepModel> model_, without_;
};

constexpr double rounding = 1 + 1e-9;

using Step = std::function<StepCost(Player&)>;

// Where this makes the step longer than without prefetches: what it takes for it not to.
struct Causes {
  bool slower = false, eviction = false, sharing = false, waiting = false;

  Causes(const Case& c, const Step& step) {
    Player player(c);
    const StepCost cost = step(player);
    slower = cost.time > player.none().time * rounding;
    if (!slower) return;
    const auto heals = [&](const Change& change) {
      Player other(c, false, change);
      return step(other).time <= other.none().time * rounding;
    };
    eviction = cost.prefetch.evicted > Bytes(0) &&
               heals([](DeviceSpec& d) { d.cache->capacity = 1e9 * d.cache->capacity; });
    sharing = heals(
        [](DeviceSpec& d) { d.memory_bandwidth = 1e9 * d.memory_bandwidth; });  // the kernels' times stay
    waiting = heals([](DeviceSpec& d) { d.cache->fill = 1e9 * d.cache->fill; });
  }
};

}  // namespace

TEST_CASE("prefetch oracle: Algorithm 1 is never better than the best set of prefetches, and near it",
          "[engine]") {
  std::mt19937_64 random(17);
  double worst = 1, sum = 0;
  std::size_t graphs = 0, most = 0;
  for (int round = 0; round < 400; ++round) {
    const Case c(random);
    Player player(c);
    Seconds best = player.none().time;
    const Seconds ours = player.preserve().time;
    const std::size_t candidates = player.candidates();
    if (candidates == 0) continue;
    for (unsigned set = 1; set < 1u << candidates; ++set) best = std::min(best, player.only(set).time);
    CAPTURE(round);
    CHECK(best <= ours * rounding);
    worst = std::max(worst, ours / best);
    sum += ours / best, ++graphs, most = std::max(most, candidates);
  }
  CHECK((graphs > 200 && most >= 8));
  CHECK(sum / static_cast<double>(graphs) < 1.015);  // 1.012
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
    CHECK(player.none().time.value() == Approx(player.without().time.value()).epsilon(1e-12));
  }
}

TEST_CASE("prefetch oracle: a step that prefetches make longer is so by eviction, or by sharing the memory",
          "[engine]") {
  std::mt19937_64 random(17);
  int longer = 0, evicted = 0;
  for (int round = 0; round < 400; ++round) {
    const Case c(random);
    CAPTURE(round);
    const Causes algorithm(c, [](Player& p) { return p.preserve(); });
    if (algorithm.slower) {
      ++longer;
      CHECK_FALSE(algorithm.eviction);  // it stops short of the capacity
      CHECK((algorithm.sharing && algorithm.waiting));
    }
    const Causes everything(c, [](Player& p) { return p.only(~0u); });
    if (everything.slower) CHECK((everything.eviction || everything.sharing || everything.waiting));
    evicted += everything.eviction;
  }
  CHECK((longer > 50 && evicted > 10));
}

TEST_CASE("prefetch oracle: window-aware, no step is longer than without prefetches", "[engine]") {
  std::mt19937_64 random(17);
  int shorter = 0;
  for (int round = 0; round < 800; ++round) {
    const Case c(random);
    Player player(c, true);
    const Seconds none = player.none().time, aware = player.preserve().time;
    CAPTURE(round);
    CHECK(aware <= none * rounding);
    shorter += aware < 0.95 * none;
  }
  CHECK(shorter > 50);
}

// What is left: one prefetch stands for all layers, and the first one's may start beside a shorter
// all-reduce.
TEST_CASE("prefetch oracle: window-aware, the first layer waits where its all-reduce is a shorter one",
          "[engine]") {
  std::mt19937_64 random(1);
  Case c(random);
  c.l2_mb = 150, c.links_gb_per_s = 100;
  c.batch = BatchShape{};
  c.batch.decodes = c.batch.sequences = c.batch.decode_context_sum =
      2048;  // the matrix is bound by arithmetic
  c.batch.decode_context_max = 1;
  Operator embedding, reduce, matrix;
  embedding.bytes_per_row = Bytes(1024);
  reduce.kind = OperatorKind::all_reduce;
  reduce.devices = 8;
  matrix.kind = OperatorKind::gemm;
  matrix.weights = matrix.activations = DataType::int8;
  matrix.in_features = matrix.out_features = 8192;
  const auto excess = [&](double first_bytes) {
    c.stage = StageGraph{};
    reduce.bytes_per_row = Bytes(first_bytes);
    boost::add_vertex(embedding, c.stage.prologue);
    boost::add_edge(0, boost::add_vertex(reduce, c.stage.prologue), c.stage.prologue);
    reduce.bytes_per_row = Bytes(8192);
    boost::add_vertex(matrix, c.stage.block);
    boost::add_edge(0, boost::add_vertex(reduce, c.stage.block), c.stage.block);
    c.stage.layers = 2;
    Player player(c, true);
    return (player.preserve().time - player.none().time).value();
  };
  CHECK(excess(64) > 1e-6);
  CHECK(excess(8192) <= 1e-12);
}

}  // namespace weir::test
