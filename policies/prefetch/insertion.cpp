#include "policies/prefetch/insertion.h"

#include <boost/range/iterator_range.hpp>
#include <set>
#include <stdexcept>
#include <utility>

namespace weir {
namespace {

int prefetch_unit(std::span<const Unit> units) {
  const int unit = unit_running(units, KernelKind::prefetch);
  if (unit < 0)
    throw std::invalid_argument(
        "prefetches need a unit \"prefetch\", which a device without a cache has not");
  return unit;
}

std::vector<std::size_t> predecessors(const OperatorGraph& graph, std::size_t v) {
  std::vector<std::size_t> before;
  for (const auto edge : boost::make_iterator_range(boost::in_edges(v, graph)))
    before.push_back(boost::source(edge, graph));
  return before;
}

// A prefetch that only the first layer of a part would wait for is left out: in the other layers nothing
// holds it back.
void leave_out_what_one_layer_fetches(const StageGraph& stage, std::vector<CommunicationWindow>& windows) {
  using Place = CommunicationWindow::Place;
  const auto repeats = [&](const Place& place) { return place.next && stage.parts[place.part].times > 1; };
  std::set<std::pair<std::size_t, std::size_t>> carried;  // part, vertex
  for (const CommunicationWindow& window : windows)
    for (const Place& place : window.reached)
      if (repeats(place) && window.communication.part == place.part)
        carried.insert({place.part, place.vertex});
  for (CommunicationWindow& window : windows)
    std::erase_if(window.reached, [&](const Place& place) {
      return repeats(place) && window.communication.part != place.part &&
             !carried.contains({place.part, place.vertex});
    });
  std::erase_if(windows, [](const CommunicationWindow& w) { return w.reached.empty(); });
}

// One that two communications lead to, that before the first layer and that at the end of a layer, is
// fetched by one operator: beside the former in the first layer, beside the latter in all others.
void add(StageGraph& stage, const CommunicationWindow& window, const CommunicationWindow::Place& place,
         int unit, int number) {
  OperatorGraph& graph = stage.parts[place.part].operators;
  std::size_t fetch = boost::num_vertices(graph);
  for (const std::size_t before : predecessors(graph, place.vertex))
    if (graph[before].as<Prefetch>()) fetch = before;
  if (fetch == boost::num_vertices(graph)) {
    Operator op = graph[place.vertex];
    op.name = "prefetch " + op.name;
    op.kernel = Prefetch();
    op.unit = unit;
    boost::add_vertex(op, graph);
    boost::add_edge(fetch, place.vertex, graph);
  }
  std::get<Prefetch>(graph[fetch].kernel).window = number;
  const auto& [part, communication, _] = window.communication;
  for (const std::size_t before : predecessors(stage.parts[part].operators, communication))
    if (place.next)
      stage.early.push_back({place.part, fetch, part, before});
    else
      boost::add_edge(before, fetch, graph);
}

}  // namespace

StageGraph insert_prefetches(StageGraph stage, std::span<const Unit> units,
                             std::vector<CommunicationWindow> windows) {
  const int unit = prefetch_unit(units);
  leave_out_what_one_layer_fetches(stage, windows);
  for (const CommunicationWindow& window : windows) {
    const auto number = static_cast<int>(stage.windows.size());
    stage.windows.push_back(stage.parts[window.communication.part].operators[window.communication.vertex]);
    for (const CommunicationWindow::Place& place : window.reached) add(stage, window, place, unit, number);
  }
  return stage;
}

}  // namespace weir
