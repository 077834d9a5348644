#pragma once
// Alike replicas as a router sees them: each of them may take a request, or none. Their loads lie beside each
// other, under a tree of who has less, so that neither a change nor the least of thousands costs a walk
// through all.
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir {

class ReplicaGroup {
 public:
  virtual ~ReplicaGroup() = default;
  std::size_t size() const { return requests_.size(); }
  // Queued or running.
  std::int64_t outstanding_requests(std::size_t replica) const { return requests_[replica]; }
  // The replica with the fewest of them, the first of equals.
  std::size_t fewest_requests() const { return winners_[1]; }
  // Prompt and output tokens still to compute of these. Asks the replica, which counts the steps of its run.
  virtual std::int64_t outstanding_tokens(std::size_t replica) const = 0;

 protected:
  void add_replica();  // with nothing to do
  void set_outstanding_requests(std::size_t replica, std::int64_t requests);

 private:
  std::size_t less(std::size_t a, std::size_t b) const;

  std::vector<std::int64_t> requests_;
  // A heap-shaped tree over the replicas, in as many leaves as a power of two has: 1 is the root, 2 i and
  // 2 i + 1 the children of i.
  std::vector<std::uint32_t> winners_;
};

}  // namespace weir
