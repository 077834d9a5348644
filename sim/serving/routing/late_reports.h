#pragma once
// Replicas tell of their KV caches and queues, and a router hears everything later by a fixed time: what was
// told at t is known from t + delay on.
#include <deque>
#include <vector>

#include "policies/routing/replica_group.h"
#include "sim/serving/replica/replica_listener.h"
#include "sim/serving/routing/text_table.h"

namespace weir {

class LateReports {
 public:
  explicit LateReports(Seconds delay) : delay_(delay) {}

  // Somebody with a KV cache of so many blocks tells for a replica, which may have several of these.
  int add_cache(std::int32_t replica, std::int64_t blocks);
  void waiting(int cache, std::int64_t requests, Seconds now) { tell({now, cache, queue, requests}); }
  void used(int cache, std::int64_t blocks, Seconds now) { tell({now, cache, usage, blocks}); }
  void kept(int cache, std::int32_t text, std::int64_t blocks, Seconds now) {
    tell({now, cache, text, blocks});
  }

  // Everything told until `now` less the delay is known then; `changed` is called with each replica whose
  // report() has changed.
  template <class Changed>
  void hear(Seconds now, Changed changed) {
    for (; !told_.empty() && told_.front().at + delay_ <= now; told_.pop_front())
      if (apply(told_.front())) changed(caches_[static_cast<std::size_t>(told_.front().cache)].replica);
  }
  ReplicaReport report(std::int32_t replica) const;
  // Calls it with replicas that keep blocks of a text, and with the end of the last of these; once for each
  // of their caches.
  template <class Visit>
  void each(std::int32_t text, Visit visit) const {
    table_.each(text, [&](const auto& entry) {
      if (entry.value > 0) visit(caches_[static_cast<std::size_t>(entry.replica)].replica, entry.value);
    });
  }

 private:
  static constexpr std::int32_t queue = -1, usage = -2;
  struct Told {
    Seconds at;
    std::int32_t cache;
    std::int32_t what;  // a text, or one of these
    std::int64_t value;
  };
  struct Cache {
    std::int32_t replica;
    std::int64_t blocks, used = 0, waiting = 0;
  };
  void tell(const Told& told) { told_.push_back(told); }
  bool apply(const Told& told);

  Seconds delay_;
  std::deque<Told> told_;
  std::vector<Cache> caches_;
  std::vector<std::vector<int>> of_replica_;  // caches
  TextTable<std::int64_t> table_;             // ends, by text and cache
};

}  // namespace weir
