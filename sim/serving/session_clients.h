#pragma once
// Clients in sessions: each sends a request when all that it waits for have been answered, and its gap is
// over. Sessions come at the arrivals of their first requests, or a fixed number at a time.
#include <functional>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

#include "workloads/workload.h"

namespace weir {

class SessionClients {
 public:
  using Send = std::function<void(std::int32_t request)>;
  using When = std::function<void(Seconds time, std::function<void()> what)>;  // at once if that is now

  // `workload` has sessions and outlives this.
  SessionClients(const Workload& workload, When when, Send send);

  void start();
  void ended(std::int32_t request);  // the client has its answer, or it was rejected

 private:
  using Due = std::pair<Seconds, std::int32_t>;  // requests that are due at one instant leave in their order

  void send_roots();
  void open_next();
  void send_at(Seconds time, std::int32_t request);
  void ring_at(Seconds time);
  void send_due();
  Seconds arrival(std::int32_t request) const {
    return workload_.requests[static_cast<std::size_t>(request)].arrival;
  }

  const Workload& workload_;
  const Sessions& sessions_;
  When when_;
  Send send_;
  struct Client {                      // of a request: a miss of the cache for it and its neighbours at once
    std::uint32_t first_awaiting = 0;  // into awaiting_, up to the next one's
    std::uint32_t awaits = 0;          // of those that it waits for, how many have not ended
  };
  std::vector<Client> clients_;         // and one behind the last one's
  std::vector<std::int32_t> awaiting_;  // those that wait for each request
  std::vector<std::uint32_t> left_;     // requests of each session that have not ended
  std::vector<std::int32_t> roots_;     // by arrival, or session by session
  std::size_t next_root_ = 0;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  // The next alarm. One at a time, but for those that were set before an earlier one: a hundred thousand of
  // SimGrid's timers lie in each other's way.
  Seconds rings_{std::numeric_limits<double>::infinity()};
  std::int64_t places_ = 0;  // free ones
  bool sending_ = false, opening_ = false;
};

}  // namespace weir
