// PRESERVE (Section 3, Algorithm 1): beside every communication what follows it is fetched, in the order of a
// breadth-first search, until the next communication or until the sum would fill the cache. The sum is that
// of the step at hand: the paper's graphs are compiled for one length, Weir's batches change.
//
// A step may take longer than without: a reader waits for all that is fetched for it, and a prefetch draws
// from the memory beside whatever runs. Window-aware it never does, but for one cause: where the first
// layer's communication is shorter than the others', what they hide is waited for there.
#include <algorithm>
#include <boost/range/iterator_range.hpp>
#include <set>
#include <stdexcept>

#include "policies/prefetch/prefetch.h"
#include "policies/prefetch/windows.h"

namespace weir {
namespace {

int prefetch_unit(std::span<const std::string> units) {
  for (std::size_t u = 0; u < units.size(); ++u)
    if (units[u] == "prefetch") return static_cast<int>(u);
  throw std::invalid_argument("preserve needs a unit \"prefetch\", which a device without a cache has not");
}

std::vector<std::size_t> predecessors(const OperatorGraph& graph, std::size_t v) {
  std::vector<std::size_t> before;
  for (const auto edge : boost::make_iterator_range(boost::in_edges(v, graph)))
    before.push_back(boost::source(edge, graph));
  return before;
}

class Preserve final : public PrefetchPolicy {
 public:
  explicit Preserve(bool window_aware) : window_aware_(window_aware) {}

  StageGraph add_prefetches(StageGraph stage, std::span<const std::string> units) const override {
    const int unit = prefetch_unit(units);
    std::vector<CommunicationWindow> windows = communication_windows(stage);
    if (window_aware_) std::erase_if(windows, [](const CommunicationWindow& w) { return !w.alone; });
    if (stage.layers > 1) leave_out_what_one_layer_fetches(windows);
    for (const CommunicationWindow& window : windows) {
      const auto number = static_cast<int>(stage.windows.size());
      stage.windows.push_back((stage.*window.communication.part)[window.communication.vertex]);
      for (const CommunicationWindow::Place& place : window.reached) add(stage, window, place, unit, number);
    }
    return stage;
  }

  void choose(Bytes capacity, std::span<const PrefetchCandidate> candidates,
              std::span<Bytes> fetched) const override {
    int window = -1;
    Bytes sum, beside;
    bool full = false;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const PrefetchCandidate& c = candidates[i];
      if (c.window != window) window = c.window, sum = Bytes(0), beside = c.beside, full = false;
      sum += c.bytes;
      full = full || !(sum < capacity);
      fetched[i] = full ? Bytes(0) : window_aware_ ? std::min(c.bytes, beside) : c.bytes;
      beside = beside - std::min(beside, fetched[i]);
    }
  }

  bool yields() const override { return window_aware_; }

 private:
  // What the first layer alone would fetch is left out: in the others nothing would hold it back.
  static void leave_out_what_one_layer_fetches(std::vector<CommunicationWindow>& windows) {
    std::set<std::size_t> carried;
    for (const CommunicationWindow& window : windows)
      for (const CommunicationWindow::Place& place : window.reached)
        if (window.communication.part == &StageGraph::block && place.part == &StageGraph::block && place.next)
          carried.insert(place.vertex);
    for (CommunicationWindow& window : windows)
      if (window.communication.part == &StageGraph::prologue)
        std::erase_if(window.reached, [&](const auto& p) { return p.next && !carried.contains(p.vertex); });
    std::erase_if(windows, [](const CommunicationWindow& w) { return w.reached.empty(); });
  }

  // One that two communications lead to, that before the first layer and that at the end of a layer, is
  // fetched by one operator: beside the former in the first layer, beside the latter in all others.
  static void add(StageGraph& stage, const CommunicationWindow& window,
                  const CommunicationWindow::Place& place, int unit, int number) {
    OperatorGraph& graph = stage.*place.part;
    std::size_t fetch = boost::num_vertices(graph);
    for (const std::size_t before : predecessors(graph, place.vertex))
      if (graph[before].kind == OperatorKind::prefetch) fetch = before;
    if (fetch == boost::num_vertices(graph)) {
      Operator op = graph[place.vertex];
      op.name = "prefetch " + op.name;
      op.kind = OperatorKind::prefetch;
      op.unit = unit;
      boost::add_vertex(op, graph);
      boost::add_edge(fetch, place.vertex, graph);
    }
    graph[fetch].window = number;
    const auto& [part, communication, _] = window.communication;
    for (const std::size_t before : predecessors(stage.*part, communication))
      if (place.next)
        stage.early.push_back({place.part, fetch, part, before});
      else
        boost::add_edge(before, fetch, graph);
  }

  bool window_aware_;
};

}  // namespace

std::shared_ptr<const PrefetchPolicy> make_preserve(Params& params) {
  return std::make_shared<Preserve>(params.flag(
      {"window_aware",
       "No more than memory delivers while the communication runs, and only where nothing else runs "
       "beside it, so that nothing waits for a prefetch or shares the memory with one."},
      false));
}

}  // namespace weir
