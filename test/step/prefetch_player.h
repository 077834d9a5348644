#pragma once
// Random stages of up to twelve operators with prefetches, played on the step timeline with the sets of them
// that a test says. Shared by the tests of the oracle and of why a step takes longer.
#include <functional>
#include <map>
#include <optional>

#include "sim/studies/validation/kernels.h"
#include "test/policies/make_policy.h"
#include "test/step/played_step.h"
#include "test/step/random_stage.h"
#include "test/step/timeline/random_step.h"

namespace weir::test {

inline std::shared_ptr<const PrefetchPolicy> policy(const Json& json) {
  return policy_of(prefetch_policies(), json);
}

const Json algorithm_1 = {{"kind", "preserve"}},
           window_aware = {{"kind", "preserve"}, {"window_aware", true}}, oracle = {{"kind", "oracle"}};

// Places prefetches as a policy does, and fetches as it does or what the test says.
class Told final : public PrefetchPolicy {
 public:
  explicit Told(const Json& json) : policy_(policy(json)) {}
  StageGraph add_prefetches(StageGraph placed, std::span<const Unit> units) const override {
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

inline Rank replica_of(const Case& c) {
  Rank replica = replica_on("h100_sxm", "nvlink4_switch", "");
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
    Rank replica = replica_of(c);
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

}  // namespace weir::test
