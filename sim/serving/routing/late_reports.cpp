#include "sim/serving/routing/late_reports.h"

namespace weir {

int LateReports::add_cache(std::int32_t replica, std::int64_t blocks) {
  const auto at = static_cast<std::size_t>(replica);
  if (at >= of_replica_.size()) of_replica_.resize(at + 1);
  of_replica_[at].push_back(static_cast<int>(caches_.size()));
  caches_.push_back({replica, blocks});
  return static_cast<int>(caches_.size()) - 1;
}

bool LateReports::apply(const Told& told) {
  Cache& cache = caches_[static_cast<std::size_t>(told.cache)];
  if (told.what < 0) {
    (told.what == queue ? cache.waiting : cache.used) = told.value;
    return true;
  }
  std::int32_t entry = table_.find(told.what, told.cache);
  if (told.value == 0) {
    if (entry >= 0) table_.erase(entry);
    return false;
  }
  if (entry < 0) entry = table_.add(told.what, told.cache);
  table_[entry].value = told.value;
  return false;
}

ReplicaReport LateReports::report(std::int32_t replica) const {
  ReplicaReport report;
  std::int64_t used = 0, blocks = 0;
  for (const int i : of_replica_[static_cast<std::size_t>(replica)]) {
    const Cache& cache = caches_[static_cast<std::size_t>(i)];
    report.waiting += cache.waiting;
    used += cache.used;
    blocks += cache.blocks;
  }
  if (blocks > 0) report.kv_used = static_cast<double>(used) / static_cast<double>(blocks);
  return report;
}

}  // namespace weir
