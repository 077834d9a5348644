#pragma once
// Moves data over SimGrid links on behalf of actors that do not wait for it. Jobs of one Courier go one after
// another, as a communication stream does; a CourierPool sends as many at once as asked.
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <simgrid/s4u/Comm.hpp>
#include <simgrid/s4u/Semaphore.hpp>
#include <string>
#include <vector>

#include "models/latency/collectives.h"
#include "sim/serving/platform/link_traffic.h"

namespace weir {

// Flows that are under way from now on.
class Sending {
 public:
  explicit Sending(std::vector<LinkFlow> flows);
  // Blocks the calling actor until all have arrived; `traffic` hears of them.
  void wait(LinkTraffic* traffic);

 private:
  std::vector<LinkFlow> flows_;
  Seconds start_;
  std::vector<simgrid::s4u::CommPtr> comms_;
  std::vector<simgrid::s4u::ActorPtr> paced_;  // that receive those with a rate
};
void send_and_wait(std::vector<LinkFlow> flows, LinkTraffic* traffic);
// A KV cache, or a part of one: collectives over the same links hear of it.
void transfer_and_wait(const std::vector<LinkFlow>& flows, LinkTraffic& traffic);

// Plays a collective's rounds over its ranks; blocks. The oracle of the closed forms, and slow.
void play_collective(const std::vector<std::vector<Message>>& rounds,
                     const std::vector<simgrid::s4u::Host*>& ranks, LinkTraffic* traffic = nullptr);

class Courier {
 public:
  enum class Carries { activations, kv_caches };
  // Starts its actor; failed: called while an exception of arrived() is being handled.
  Courier(const std::string& name, simgrid::s4u::Host* host, Carries what, LinkTraffic& traffic,
          std::function<void()> failed);
  // Not before `start`.
  void send(std::vector<LinkFlow> flows, std::function<void()> arrived, Seconds start = Seconds(0));
  bool idle() const { return !busy_ && jobs_.empty(); }

 private:
  struct Job {
    std::vector<LinkFlow> flows;
    std::function<void()> arrived;
    Seconds start;
  };
  std::deque<Job> jobs_;
  bool busy_ = false;
  simgrid::s4u::SemaphorePtr work_;
};

// For KV caches. What arrives at one instant is told in the order in which it was sent: SimGrid's own order
// is that of addresses in memory.
class CourierPool {
 public:
  CourierPool(simgrid::s4u::Host* host, LinkTraffic& traffic, std::function<void()> failed)
      : host_(host), traffic_(traffic), failed_(std::move(failed)) {}
  void send(std::vector<LinkFlow> flows, std::function<void()> what, Seconds start = Seconds(0));
  std::int64_t under_way() const { return sent_ - told_; }

 private:
  simgrid::s4u::Host* host_;
  LinkTraffic& traffic_;
  std::function<void()> failed_;
  std::vector<std::unique_ptr<Courier>> couriers_;
  std::int64_t sent_ = 0, told_ = 0;
  std::map<std::int64_t, std::function<void()>> arrived_;  // and not told
};

}  // namespace weir
