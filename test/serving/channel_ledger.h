#pragma once
// What a replica holds in which channel, or in all together where layers go round them, worked out anew from
// what it says that it computes: whose blocks lie where, which KV has not arrived. check() compares that with
// the replica's own count. Requests are told apart by their tokens alone, which is all that a placement
// policy sees: request r has from r * most_outputs tokens on.
#include <map>
#include <utility>
#include <vector>

#include "sim/serving/replica/replica.h"

namespace weir::test {

constexpr std::int64_t most_outputs = 64;
constexpr std::int32_t request_of(std::int64_t tokens) {
  return static_cast<std::int32_t>(tokens / most_outputs);
}

// Remembers what a policy was shown the last time, and where it put whom.
class RememberedPlacement final : public ChannelPlacementPolicy {
 public:
  explicit RememberedPlacement(std::shared_ptr<const ChannelPlacementPolicy> policy)
      : policy_(std::move(policy)) {}
  Validity place(const PlacementView& view, std::span<PlacedRequest> requests) const override {
    const Validity valid = policy_->place(view, requests);
    for (const PlacedRequest& r : requests) channel_[request_of(r.tokens)] = r.channel;
    asked_ = true;
    placed_.assign(view.placed.begin(), view.placed.end());
    free_.assign(view.free_blocks.begin(), view.free_blocks.end());
    return valid;
  }
  bool spreads_layers() const override { return policy_->spreads_layers(); }
  bool asked() const { return std::exchange(asked_, false); }  // since the last time
  const std::vector<PlacedRequest>& placed() const { return placed_; }
  const std::vector<std::int64_t>& free() const { return free_; }
  int channel(std::int32_t request) const { return channel_.at(request); }

 private:
  std::shared_ptr<const ChannelPlacementPolicy> policy_;
  mutable std::map<std::int32_t, int> channel_;
  mutable bool asked_ = false;
  mutable std::vector<PlacedRequest> placed_;
  mutable std::vector<std::int64_t> free_;
};

class ChannelLedger {
 public:
  ChannelLedger(const Replica& replica, const RememberedPlacement& placement, Recorder& recorder)
      : replica_(replica), placement_(placement), recorder_(recorder) {}

  void enqueued(std::int32_t request, std::int64_t known, std::int64_t computed);
  void scheduled(const Iteration& iteration);
  void arrived(std::int32_t request) { requests_.at(request).awaited = false; }  // its KV
  void completed(const Iteration& iteration, std::int64_t steps);
  void released(std::int32_t request) { requests_.erase(request); }  // what was handed over

  std::int64_t preemptions() const { return preemptions_; }

 private:
  struct Entry {
    std::int64_t known = 0, computed = 0, prefill_target = 0;
    std::int64_t blocks = 0;
    int channel = -1;  // waits
    bool awaited = false, decoding = false;
    bool left = false;  // its request; the blocks are still held
    std::int32_t preemptions = 0;
  };
  int channels() const { return static_cast<int>(replica_.plan().kv_pools.of_channel.size()); }
  std::size_t pool_of(const Entry& entry) const;
  std::vector<std::int64_t> free() const;
  void check_placement() const;
  void see_preemptions();
  void admit(std::int32_t request, Entry& entry);
  void hold(Entry& entry, std::int64_t tokens);
  void check() const;

  const Replica& replica_;
  const RememberedPlacement& placement_;
  Recorder& recorder_;
  std::map<std::int32_t, Entry> requests_;
  std::int64_t preemptions_ = 0;
};

}  // namespace weir::test
