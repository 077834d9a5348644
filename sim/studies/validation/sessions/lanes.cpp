#include "sim/studies/validation/sessions/lanes.h"

#include <algorithm>
#include <map>

namespace weir {
namespace {

constexpr double longest_gap_s = 60;

// A conversation with its sub-agents.
struct Tree {
  std::vector<std::size_t> requests;                   // by start
  std::map<std::string, std::vector<std::size_t>> of;  // each conversation's
  std::string root;
};

class LaneBuilder {
 public:
  explicit LaneBuilder(const RecordedRun& run) : run_(run), all_(run.requests) {
    lanes_.waits.resize(all_.size());
    lanes_.at_start.resize(all_.size());
  }

  Lanes build() {
    std::map<std::string, std::size_t> known;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const auto [tree, fresh] = known.try_emplace(all_[i].root(), trees_.size());
      if (fresh) trees_.push_back({.requests = {}, .of = {}, .root = all_[i].root()});
      trees_[tree->second].requests.push_back(i);
      trees_[tree->second].of[all_[i].conversation].push_back(i);
    }
    for (std::size_t i = 0; i < trees_.size(); ++i) {
      if (i < static_cast<std::size_t>(run_.lanes)) {
        for (const std::size_t request : trees_[i].requests) lanes_.at_start[request] = 1;
        at_end_.push_back(i);
      } else {
        follow(i);
      }
      wait_inside(trees_[i]);
    }
    for (const std::size_t tree : at_end_) lanes_.last.push_back(last_of(trees_[tree]));
    return std::move(lanes_);
  }

 private:
  std::size_t last_of(const Tree& tree) const {
    return *std::ranges::max_element(tree.requests, {}, [&](std::size_t i) { return all_[i].end_s; });
  }

  Waiting waiting(std::vector<std::size_t> after, double start_s) const {
    double end_s = 0;
    for (const std::size_t i : after) end_s = std::max(end_s, all_[i].end_s);
    return {std::move(after), std::clamp(start_s - end_s, 0.0, longest_gap_s)};
  }

  // The lane's next conversation, behind all that the one before still did.
  void follow(std::size_t tree) {
    const std::size_t first = trees_[tree].requests.front();
    const double start_s = all_[first].start_s;
    std::size_t* nearest = nullptr;
    double nearest_end_s = 0;
    for (std::size_t& lane : at_end_)
      if (const double end_s = all_[last_of(trees_[lane])].end_s;
          end_s <= start_s && (!nearest || end_s > nearest_end_s)) {
        nearest = &lane;
        nearest_end_s = end_s;
      }
    if (!nearest) return at_end_.push_back(tree);  // rows of the lane's last one are missing
    std::vector<std::size_t> ends;
    for (const auto& [name, requests] : trees_[*nearest].of) ends.push_back(requests.back());
    lanes_.waits[first] = waiting(std::move(ends), start_s);
    *nearest = tree;
  }

  void wait_inside(const Tree& tree) {
    for (const auto& [name, requests] : tree.of) {
      const bool sub_agent = all_[requests.front()].sub_agent();
      if (sub_agent) start_from_parent(tree, requests.front());
      for (std::size_t k = 1; k < requests.size(); ++k) {
        const RecordedRequest &before = all_[requests[k - 1]], &now = all_[requests[k]];
        std::vector<std::size_t> after = {requests[k - 1]};
        if (!sub_agent)
          for (const auto& [other, theirs] : tree.of)
            if (other != name && all_[theirs.front()].start_s >= before.start_s &&
                all_[theirs.back()].end_s <= now.start_s)
              after.push_back(theirs.back());
        lanes_.waits[requests[k]] = waiting(std::move(after), now.start_s);
      }
    }
  }

  void start_from_parent(const Tree& tree, std::size_t first) {
    const auto parent = tree.of.find(tree.root);
    if (parent == tree.of.end()) return;
    const double start_s = all_[first].start_s;
    std::optional<std::size_t> ended;
    for (const std::size_t i : parent->second)
      if (all_[i].end_s <= start_s && (!ended || all_[i].end_s > all_[*ended].end_s)) ended = i;
    if (ended) lanes_.waits[first] = waiting({*ended}, start_s);
  }

  const RecordedRun& run_;
  const std::vector<RecordedRequest>& all_;
  Lanes lanes_;
  std::vector<Tree> trees_;          // by their first start
  std::vector<std::size_t> at_end_;  // of each lane, its last tree
};

}  // namespace

Lanes lanes_of(const RecordedRun& run) {
  return LaneBuilder(run).build();
}

}  // namespace weir
