#include "policies/routing/replica_group.h"

#include <algorithm>
#include <bit>

namespace weir {

// Leaves beyond the last replica never win.
std::size_t ReplicaGroup::less(std::size_t a, std::size_t b) const {
  if (b >= requests_.size()) return a;
  return requests_[b] < requests_[a] ? b : a;
}

void ReplicaGroup::add_replica() {
  requests_.push_back(0);
  ++with_[0];
  loads_.emplace_back();
  reports_.emplace_back();
  values_.add(0);
  const std::size_t leaves = std::bit_ceil(requests_.size());
  winners_.resize(2 * leaves);
  for (std::size_t i = 0; i < leaves; ++i) winners_[leaves + i] = static_cast<std::uint32_t>(i);
  for (std::size_t i = leaves - 1; i > 0; --i)
    winners_[i] = static_cast<std::uint32_t>(less(winners_[2 * i], winners_[2 * i + 1]));
}

void ReplicaGroup::set_outstanding_requests(std::size_t replica, std::int64_t requests) {
  const auto at = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  if (at(requests) >= with_.size()) with_.resize(at(requests) + 1);
  --with_[at(requests_[replica])];
  ++with_[at(requests)];
  most_ = std::max(most_, requests);
  while (most_ > 0 && with_[at(most_)] == 0) --most_;
  requests_[replica] = requests;
  for (std::size_t i = (winners_.size() / 2 + replica) / 2; i > 0; i /= 2)
    winners_[i] = static_cast<std::uint32_t>(less(winners_[2 * i], winners_[2 * i + 1]));
}

void ReplicaGroup::set_load(std::size_t replica, const ReplicaLoad& load, double value) {
  loads_[replica] = load;
  values_.set(replica, value);
}

}  // namespace weir
