#pragma once
// When requests come: `arrivals` of a workload. Pure: a process holds what the scenario says and fills a
// workload.
#include "sim/core/catalog.h"
#include "sim/core/rng.h"
#include "workloads/workload.h"

namespace weir {

class ArrivalProcess {
 public:
  explicit ArrivalProcess(Params& params);  // reads what every kind may take
  virtual ~ArrivalProcess() = default;

  std::int64_t warmup_requests() const { return warmup_requests_; }
  std::optional<std::int64_t> max_in_flight() const { return max_in_flight_; }
  virtual bool needs_a_trace() const { return false; }
  // Sets every arrival, in ascending order, and the workload's traffic; the requests (or sessions) come in
  // the order of their trace (but a warm batch draws its own from them). Throws ConfigError with pointers
  // relative to `arrivals`.
  virtual void schedule(Workload& workload, Rng& rng) const = 0;

 protected:
  // For a kind that keeps a number of its own in flight.
  void refuse_max_in_flight(Params& params) const;

 private:
  std::int64_t warmup_requests_;
  std::optional<std::int64_t> max_in_flight_;
};

const Catalog<ArrivalProcess>& arrival_processes();

}  // namespace weir
