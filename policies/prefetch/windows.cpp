#include "policies/prefetch/windows.h"

#include <algorithm>
#include <boost/graph/breadth_first_search.hpp>
#include <boost/range/iterator_range.hpp>

#include "models/llm/parts/rewrite.h"

namespace weir {
namespace {

// Calls back with every vertex in the order of a breadth-first search, the first one too.
template <class Action>
class Visit : public boost::default_bfs_visitor {
 public:
  explicit Visit(const Action& action) : action_(&action) {}
  void examine_vertex(std::size_t v, const OperatorGraph&) const { (*action_)(v); }

 private:
  const Action* action_;
};

template <class Action>
void search(const OperatorGraph& graph, std::size_t from, const Action& action) {
  boost::breadth_first_search(graph, from, boost::visitor(Visit<Action>(action)));
}

// Algorithm 1's search from one communication. A residual leads past the next one: what waits for that one
// as well is left out, as the paper's graph of calls has it.
std::vector<std::size_t> reached_from(const OperatorGraph& graph, std::size_t communication) {
  std::vector<std::size_t> order;
  search(graph, communication, [&](std::size_t v) { order.push_back(v); });
  std::vector<bool> later(boost::num_vertices(graph));
  for (const std::size_t v : order)
    if (v != communication && is_collective(graph[v]) && !later[v])
      search(graph, v, [&](std::size_t after) { later[after] = true; });
  std::erase_if(order, [&](std::size_t v) {
    const KernelKind kind = graph[v].kind();
    return later[v] ||
           !(kind == KernelKind::gemm || kind == KernelKind::grouped_gemm || kind == KernelKind::attention);
  });
  return order;
}

// Other chunks of the communication's own kernel are before it on the link.
bool is_alone(const OperatorGraph& graph, std::size_t communication) {
  std::vector<bool> ordered(boost::num_vertices(graph));
  for (std::size_t v = 0; v < ordered.size(); ++v) ordered[v] = is_collective(graph[v]) && graph[v].end < 1;
  search(graph, communication, [&](std::size_t v) { ordered[v] = true; });
  for (std::size_t from = 0; from < ordered.size(); ++from)
    if (!ordered[from])
      search(graph, from, [&](std::size_t v) { ordered[from] = ordered[from] || v == communication; });
  return std::ranges::all_of(ordered, std::identity());
}

}  // namespace

std::vector<CommunicationWindow> communication_windows(const StageGraph& stage) {
  static const OperatorGraph nothing;
  std::vector<CommunicationWindow> windows;
  // The windows of a part and what follows it; `known` is what those in the part itself are already.
  const auto add = [&](std::size_t part, std::size_t next, bool known) {
    const OperatorGraph& own = stage.parts[part].operators;
    const OperatorGraph both =
        one_after_the_other(own, next < stage.parts.size() ? stage.parts[next].operators : nothing);
    const std::size_t boundary = boost::num_vertices(own);
    for (std::size_t v = 0; v < boundary; ++v) {
      if (!is_collective(both[v]) || both[v].end < 1) continue;
      CommunicationWindow window{{part, v}, {}, is_alone(own, v)};
      // A fetch for the next part starts with what the communication waits for in its own.
      const bool first = boost::in_degree(v, own) == 0;
      for (const std::size_t r : reached_from(both, v))
        if (r < boundary && !known)
          window.reached.push_back({part, r});
        else if (r >= boundary && !first)
          window.reached.push_back({next, r - boundary, true});
      if (!window.reached.empty()) windows.push_back(std::move(window));
    }
  };
  for (std::size_t part = 0; part < stage.parts.size(); ++part) {
    const bool repeats = stage.parts[part].times > 1;
    if (repeats) add(part, part, false);
    add(part, part + 1, repeats);
  }
  return windows;
}

}  // namespace weir
