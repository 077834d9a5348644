#pragma once
// Traffic of the cluster's links: every flow's bytes are laid on each link of its route, evenly over the time
// that the flow took, and so are those of collectives in closed form where flows may cross the same links.
// Transfers of KV caches say when they come and go, so that such a collective knows when it is not alone.
#include <functional>
#include <map>
#include <simgrid/s4u/Host.hpp>
#include <utility>
#include <vector>

#include "sim/serving/platform/cluster.h"
#include "sim/serving/record/recorder.h"

namespace weir {

class LinkTraffic {
 public:
  explicit LinkTraffic(Recorder& recorder) : recorder_(recorder) {}
  void carried(const std::vector<LinkFlow>& flows, Seconds from, Seconds to);
  // Until all of them have arrived, over links that nobody else uses.
  Seconds alone(const std::vector<LinkFlow>& flows);

  // Devices whose collectives, or whose steps, go over the links of these flows. `joined` is called when the
  // first transfer comes to them; to a group of steps only those of others than replicas do, which say
  // themselves when they send.
  using Group = std::size_t;
  enum class Of { collectives, steps };
  enum class By { replicas, others };
  Group add_group(const std::vector<LinkFlow>& flows, std::function<void()> joined, Of of = Of::collectives);
  // Since when a transfer has been on one of its links; null: none is.
  std::optional<Seconds> shared_since(Group group) const { return groups_[group].shared_since; }
  bool beside_others(Group group) const { return groups_[group].by_others > 0; }
  void transfer_begins(const std::vector<LinkFlow>& flows, Seconds now, By by = By::replicas);
  void transfer_ends(const std::vector<LinkFlow>& flows, By by = By::replicas);
  void stop_recording() { recording_ = false; }  // requests are over

 private:
  struct Way {
    std::vector<std::size_t> links;  // the recorder's numbers
    Seconds latency;
  };
  struct Watched {
    std::function<void()> joined;
    Of of;
    std::int64_t transfers = 0;  // on its links; one that crosses several counts for each
    std::int64_t by_others = 0;  // of them
    std::optional<Seconds> shared_since;
  };
  const Way& way(const LinkFlow& flow);
  bool heard(Group group, By by) const { return by == By::others || groups_[group].of == Of::collectives; }
  template <class Do>
  void for_each_link(const std::vector<LinkFlow>& flows, const Do& what);

  Recorder& recorder_;
  bool recording_ = true;
  std::map<std::pair<simgrid::s4u::Host*, simgrid::s4u::Host*>, Way> ways_;
  std::map<std::string, std::size_t> links_;  // by name: the recorder's number
  std::vector<Watched> groups_;
  std::vector<std::vector<Group>> groups_on_;  // each link
};

}  // namespace weir
