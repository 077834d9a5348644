#include "test/step/timeline/random_step.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace weir::test {
namespace {

// Not std::uniform_real_distribution: what it yields differs between standard libraries.
bool chance(std::mt19937_64& random, double probability) {
  return uniform(random, 0, 1) < probability;
}

double value(std::mt19937_64& random, double low, double high, const RandomStep& kind) {
  const double drawn = uniform(random, low, high);
  return kind.ties ? std::ceil(4 * drawn) / 4 : drawn;
}

std::vector<StepGraph::Portion> random_portions(std::mt19937_64& random, int members,
                                                const RandomStep& kind) {
  std::vector<int> order(static_cast<std::size_t>(members));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[static_cast<std::size_t>(uniform_int(random, 0, static_cast<int>(i) - 1))]);
  const int wanted = chance(random, 0.3)   ? 1
                     : chance(random, 0.5) ? members
                                           : uniform_int(random, 1, members);
  std::vector<StepGraph::Portion> portions;
  for (int i = 0; i < wanted; ++i) {
    const double time = chance(random, 0.08) ? 0 : value(random, 0.1, 2, kind);
    portions.push_back({order[static_cast<std::size_t>(i)], Seconds(time)});
  }
  return portions;
}

StepGraph::Alternative random_way(std::mt19937_64& random, const StepGraph& graph, const RandomStep& kind) {
  StepGraph::Alternative way;
  way.unit = uniform_int(random, 0, static_cast<int>(graph.units.size()) - 1);
  const auto& unit = graph.units[static_cast<std::size_t>(way.unit)];
  if (unit.amount > 0) {
    way.portions = {{0, Seconds(value(random, 0.1, 2, kind))}};
    way.most = chance(random, 0.5) ? unit.amount : uniform(random, 0.3, 1) * unit.amount;
    way.least = chance(random, 0.3) ? way.most : uniform(random, 0.05, 1) * way.most;
  } else {
    way.portions = random_portions(random, unit.members, kind);
  }
  for (std::size_t r = 0; kind.draws && r < graph.resources.size(); ++r)
    if (chance(random, 0.4))
      way.draws.push_back({static_cast<int>(r), value(random, 0.02, chance(random, 0.1) ? 1.5 : 0.8, kind) *
                                                    graph.resources[r].capacity});
  return way;
}

void add_random_part(std::mt19937_64& random, StepGraph& graph, const RandomStep& kind, std::int64_t layers) {
  const bool unlike = kind.unlike && layers > 1 && chance(random, 0.3);
  const bool yields = kind.yields && chance(random, 0.4);
  graph.add_part("part " + std::to_string(graph.parts.size()), layers, unlike, yields);
  const int first = static_cast<int>(graph.operators.size());
  const int chains = uniform_int(random, 1, kind.most_chains);
  std::vector<std::pair<int, int>> ends;  // of the chains: first and last operator
  for (int chain = 0; chain < chains; ++chain) {
    const int start = static_cast<int>(graph.operators.size());
    const int length = uniform_int(random, 1, kind.most_operators);
    for (int i = 0; i < length; ++i) {
      std::vector<StepGraph::Alternative> ways{random_way(random, graph, kind)};
      while (kind.alternatives && ways.size() < 3 && chance(random, 0.15))
        ways.push_back(random_way(random, graph, kind));
      const std::size_t before = i > 0 ? graph.operators.back().alternatives.size() : 0;
      const bool follows = kind.followers && before > 1 && chance(random, 0.7);
      while (follows && ways.size() < before) ways.push_back(random_way(random, graph, kind));
      if (follows) ways.resize(before);
      const int op = graph.add_operator("op " + std::to_string(graph.operators.size()), ways);
      if (follows) graph.follow(op, op - 1);
      if (i > 0 && (kind.carried || chance(random, 0.85))) graph.add_edge(op - 1, op);
      if (op > first && chance(random, 0.15)) graph.add_edge(uniform_int(random, first, op - 1), op);
    }
    const int end = static_cast<int>(graph.operators.size()) - 1;
    if (layers > 1 && (kind.carried || chance(random, 0.8))) graph.add_carry(end, start);
    ends.push_back({start, end});
  }
  for (std::size_t i = 0; layers > 1 && kind.bound && i < ends.size(); ++i)
    graph.add_carry(ends[i].second, ends[(i + 1) % ends.size()].first);
  const int last = static_cast<int>(graph.operators.size()) - 1;
  while (layers > 1 && chance(random, 0.4))
    graph.add_carry(uniform_int(random, first, last), uniform_int(random, first, last));
  for (int op = first; first > 0 && op <= last; ++op)
    if (kind.carried || chance(random, 0.5)) graph.add_edge(uniform_int(random, 0, first - 1), op);
}

}  // namespace

double uniform(std::mt19937_64& random, double low, double high) {
  return low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53;
}

int uniform_int(std::mt19937_64& random, int low, int high) {
  return low + static_cast<int>(random() % static_cast<std::uint64_t>(high - low + 1));
}

StepGraph random_step(std::mt19937_64& random, const RandomStep& kind) {
  StepGraph graph;
  const int units = uniform_int(random, 1, 4), resources = uniform_int(random, 1, 3);
  for (int u = 0; u < units; ++u) {
    const std::string name = "unit " + std::to_string(u);
    if (kind.pools && chance(random, 0.25))
      graph.add_pool(name, uniform_int(random, 4, 20));
    else
      graph.add_unit(name, chance(random, 0.4) ? 1 : uniform_int(random, 2, 5));
    if (kind.draws && chance(random, 0.25))
      graph.units.back().disturbance = {uniform_int(random, 0, resources - 1), value(random, 0, 2, kind)};
  }
  for (int r = 0; r < resources; ++r)
    graph.add_resource("resource " + std::to_string(r), BytesPerSecond(uniform(random, 1, 10)));
  if (kind.layers > 0) {
    add_random_part(random, graph, kind, 1);
    add_random_part(random, graph, kind, kind.layers);
    add_random_part(random, graph, kind, 1);
  } else {
    for (int parts = uniform_int(random, 1, 4); parts > 0; --parts)
      add_random_part(random, graph, kind, chance(random, 0.4) ? 1 : uniform_int(random, 2, 6));
  }
  return graph;
}

}  // namespace weir::test
