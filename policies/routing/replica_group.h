#pragma once
// Alike replicas as a router sees them: each of them may take a request, or none. Their loads lie beside each
// other, under trees of who has less, so that neither a change nor the least of thousands costs a walk
// through all.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "policies/routing/least_loads.h"

namespace weir {

// A replica's load by the router's own count: the requests that it sent there and that have not ended.
struct ReplicaLoad {
  std::int64_t requests = 0;
  std::int64_t prompt_tokens = 0;  // of those without a first token, less what they were to find there
  std::int64_t blocks = 0;         // full ones of all their prompts; one that several begin with counts once
};

// A replica's own words, some time ago.
struct ReplicaReport {
  std::int64_t waiting = 0;  // requests that its scheduler has not admitted
  double kv_used = 0;        // share of its KV blocks that requests hold
};

class ReplicaGroup {
 public:
  explicit ReplicaGroup(std::int64_t block_tokens = 1) : block_tokens_(block_tokens) {}
  virtual ~ReplicaGroup() = default;
  std::size_t size() const { return requests_.size(); }
  std::int64_t block_tokens() const { return block_tokens_; }  // of their KV caches
  // Queued or running.
  std::int64_t outstanding_requests(std::size_t replica) const { return requests_[replica]; }
  // The replica with the fewest of them, the first of equals; and how many the one with the most has.
  std::size_t fewest_requests() const { return winners_[1]; }
  std::int64_t most_requests() const { return most_; }
  // Prompt and output tokens still to compute of these. Asks the replica, which counts the steps of its run.
  virtual std::int64_t outstanding_tokens(std::size_t replica) const = 0;

  // Where the policy asks for loads (RoutingNeeds): what it made of them as well.
  const ReplicaLoad& load(std::size_t replica) const { return loads_[replica]; }
  const LeastLoads& values() const { return values_; }
  // Where it asks for reports.
  const ReplicaReport& report(std::size_t replica) const { return reports_[replica]; }

 protected:
  void add_replica();  // with nothing to do
  void set_outstanding_requests(std::size_t replica, std::int64_t requests);
  void set_load(std::size_t replica, const ReplicaLoad& load, double value);
  void set_report(std::size_t replica, const ReplicaReport& report) { reports_[replica] = report; }

 private:
  std::size_t less(std::size_t a, std::size_t b) const;

  std::int64_t block_tokens_;
  std::vector<std::int64_t> requests_;
  // A heap-shaped tree over the replicas, in as many leaves as a power of two has: 1 is the root, 2 i and
  // 2 i + 1 the children of i.
  std::vector<std::uint32_t> winners_;
  std::vector<std::int64_t> with_{0};  // how many replicas have so many requests
  std::int64_t most_ = 0;
  std::vector<ReplicaLoad> loads_;
  std::vector<ReplicaReport> reports_;
  LeastLoads values_;
};

}  // namespace weir
