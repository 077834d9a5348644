#include "sim/step/timeline/step_graph.h"

#include <boost/dynamic_bitset.hpp>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

namespace weir {
namespace {

template <class T>
int append(std::vector<T>& list, T item) {
  list.push_back(std::move(item));
  return static_cast<int>(list.size()) - 1;
}

template <class T>
bool has(const std::vector<T>& list, int index) {
  return index >= 0 && index < static_cast<int>(list.size());
}

using Problems = std::vector<std::string>;

void check_serial(const StepGraph::Unit& unit, const StepGraph::Alternative& way, const std::string& subject,
                  Problems& out) {
  std::vector<bool> named(static_cast<std::size_t>(unit.members), false);
  if (way.portions.empty()) out.push_back(subject + " names no member of unit " + unit.name);
  for (const auto& portion : way.portions) {
    if (portion.member < 0 || portion.member >= unit.members) {
      out.push_back(subject + " wants member " + std::to_string(portion.member) + " of unit " + unit.name +
                    ", which has " + std::to_string(unit.members));
    } else if (named[static_cast<std::size_t>(portion.member)]) {
      out.push_back(subject + " names member " + std::to_string(portion.member) + " twice");
    } else {
      named[static_cast<std::size_t>(portion.member)] = true;
    }
  }
}

void check_pool(const StepGraph::Unit& unit, const StepGraph::Alternative& way, const std::string& subject,
                Problems& out) {
  if (way.portions.size() != 1 || way.portions[0].member != 0)
    out.push_back(subject + " must have one portion, of member 0, on pool " + unit.name);
  if (way.turns) out.push_back(subject + " cannot turn on pool " + unit.name);
  if (!(way.least > 0 && way.least <= way.most))
    out.push_back(subject + " must take an amount with 0 < least <= most");
  if (!(way.most <= unit.amount))
    out.push_back(subject + " wants up to " + std::to_string(way.most) + " of pool " + unit.name +
                  ", which has " + std::to_string(unit.amount));
}

void check_draws(const StepGraph& graph, const StepGraph::Alternative& way, const std::string& subject,
                 Problems& out) {
  for (std::size_t i = 0; i < way.draws.size(); ++i) {
    if (!has(graph.resources, way.draws[i].resource))
      out.push_back(subject + " draws from a resource that does not exist");
    for (std::size_t j = 0; j < i; ++j)
      if (way.draws[i].resource == way.draws[j].resource) out.push_back(subject + " names a resource twice");
  }
}

void check_operators(const StepGraph& graph, Problems& out) {
  int part = 0;
  std::map<int, bool> ranked;  // by unit
  for (const auto& op : graph.operators) {
    const std::string subject = "operator " + op.name;
    if (!has(graph.parts, op.part) || op.part < part)
      out.push_back(subject + " is out of order of the parts");
    part = op.part;
    if (op.alternatives.empty()) out.push_back(subject + " has nowhere to run");
    // The player keeps the chosen one of every instance in a byte.
    if (op.alternatives.size() > 100) out.push_back(subject + " has more than 100 alternatives");
    for (const auto& way : op.alternatives) {
      if (!has(graph.units, way.unit)) {
        out.push_back(subject + " wants a unit that does not exist");
        continue;
      }
      const auto& unit = graph.units[static_cast<std::size_t>(way.unit)];
      unit.amount > 0 ? check_pool(unit, way, subject, out) : check_serial(unit, way, subject, out);
      if (op.rank >= 0 && (unit.amount > 0 || op.alternatives.size() > 1))
        out.push_back(subject + " has a rank, and a choice or a pool");
      if ((op.rank >= 0) != ranked.insert({way.unit, op.rank >= 0}).first->second)
        out.push_back(subject + " and others of unit " + unit.name + " differ in having a rank");
      check_draws(graph, way, subject, out);
    }
  }
}

// Sorted, because a training step has thousands of followers and edges.
std::vector<std::pair<int, int>> edges_of_layers(const StepGraph& graph) {
  std::vector<std::pair<int, int>> edges;
  for (const auto& edge : graph.edges)
    if (!edge.next_layer) edges.emplace_back(edge.from, edge.to);
  std::ranges::sort(edges);
  return edges;
}

void check_followers(const StepGraph& graph, Problems& out) {
  const bool any = std::ranges::any_of(graph.operators, [](const auto& op) { return op.follows != -1; });
  const auto edges = any ? edges_of_layers(graph) : std::vector<std::pair<int, int>>();
  for (int op = 0; op < std::ssize(graph.operators); ++op) {
    const auto& follower = graph.operators[static_cast<std::size_t>(op)];
    if (follower.follows == -1) continue;
    if (!has(graph.operators, follower.follows) ||
        graph.operators[static_cast<std::size_t>(follower.follows)].part != follower.part ||
        graph.operators[static_cast<std::size_t>(follower.follows)].alternatives.size() !=
            follower.alternatives.size() ||
        !std::ranges::binary_search(edges, std::pair(follower.follows, op)))
      out.push_back("operator " + follower.name +
                    " must follow one of its part with as many alternatives that it waits for");
  }
}

void check_edges(const StepGraph& graph, Problems& out) {
  for (const auto& edge : graph.edges) {
    if (!has(graph.operators, edge.from) || !has(graph.operators, edge.to)) {
      out.push_back("an edge joins operators that do not exist");
      continue;
    }
    const auto& from = graph.operators[static_cast<std::size_t>(edge.from)];
    const auto& to = graph.operators[static_cast<std::size_t>(edge.to)];
    const std::string which = "the edge from " + from.name + " to " + to.name;
    if (edge.next_layer && from.part != to.part)
      out.push_back(which + " leaves its part, but is to the next layer");
    if (from.part > to.part) out.push_back(which + " goes back to an earlier part");
  }
}

// Edges between layers and between parts point forwards, so a cycle lies inside one layer.
void check_cycles(const StepGraph& graph, Problems& out) {
  std::vector<int> pending(graph.operators.size(), 0), ready;
  std::vector<std::vector<int>> next(graph.operators.size());
  for (const auto& edge : graph.edges) {
    if (edge.next_layer) continue;
    ++pending[static_cast<std::size_t>(edge.to)];
    next[static_cast<std::size_t>(edge.from)].push_back(edge.to);
  }
  for (std::size_t op = 0; op < pending.size(); ++op)
    if (pending[op] == 0) ready.push_back(static_cast<int>(op));
  while (!ready.empty()) {
    const auto op = static_cast<std::size_t>(ready.back());
    ready.pop_back();
    for (const int to : next[op])
      if (--pending[static_cast<std::size_t>(to)] == 0) ready.push_back(to);
  }
  std::string stuck;
  for (std::size_t op = 0; op < pending.size(); ++op)
    if (pending[op] > 0) stuck += (stuck.empty() ? "" : ", ") + graph.operators[op].name;
  if (!stuck.empty()) out.push_back("a cycle: each of these waits for another: " + stuck);
}

using Set = boost::dynamic_bitset<>;

// The operators that come after each one in its layer or in a later part, itself included.
std::vector<Set> all_later(const StepGraph& graph) {
  const std::size_t size = graph.operators.size();
  std::vector<Set> later(size, Set(size));
  std::vector<std::vector<std::size_t>> before(size);
  std::vector<int> pending(size, 0);  // successors whose set is not complete
  for (const auto& edge : graph.edges) {
    if (edge.next_layer) continue;
    before[static_cast<std::size_t>(edge.to)].push_back(static_cast<std::size_t>(edge.from));
    ++pending[static_cast<std::size_t>(edge.from)];
  }
  std::vector<std::size_t> complete;
  for (std::size_t op = 0; op < size; ++op)
    if (pending[op] == 0) complete.push_back(op);
  while (!complete.empty()) {
    const std::size_t op = complete.back();
    complete.pop_back();
    later[op].set(op);
    for (const std::size_t from : before[op]) {
      later[from] |= later[op];
      if (--pending[from] == 0) complete.push_back(from);
    }
  }
  return later;
}

bool all_of_layer_before_next(const StepGraph& graph, const std::vector<Set>& later) {
  const std::size_t size = graph.operators.size();
  std::vector<Set> next(size, Set(size));  // of the next layer, what waits for each operator
  for (const auto& edge : graph.edges)
    if (edge.next_layer)
      for (std::size_t op = 0; op < size; ++op)
        if (later[op][static_cast<std::size_t>(edge.from)])
          next[op] |= later[static_cast<std::size_t>(edge.to)];
  for (std::size_t a = 0; a < size; ++a) {
    const int part = graph.operators[a].part;
    if (graph.parts[static_cast<std::size_t>(part)].layers == 1) continue;
    for (std::size_t b = 0; b < size; ++b)
      if (graph.operators[b].part == part && !next[a][b]) return false;
  }
  return true;
}

}  // namespace

int StepGraph::add_unit(std::string name, int members, Disturbance disturbance) {
  return append(units, Unit{std::move(name), members, 0, disturbance});
}

int StepGraph::add_pool(std::string name, double amount) {
  return append(units, Unit{std::move(name), 1, amount, {}});
}

int StepGraph::add_resource(std::string name, BytesPerSecond capacity) {
  return append(resources, Resource{std::move(name), capacity});
}

int StepGraph::add_part(std::string name, std::int64_t layers, bool unlike, bool yields) {
  return append(parts, Part{std::move(name), layers, unlike, yields});
}

int StepGraph::add_operator(std::string name, std::vector<Alternative> alternatives) {
  const int part = static_cast<int>(parts.size()) - 1;
  return append(operators, Operator{std::move(name), part, std::move(alternatives)});
}

void StepGraph::follow(int op, int followed) {
  add_edge(followed, op);
  operators[static_cast<std::size_t>(op)].follows = followed;
}

void StepGraph::add_edge(int from, int to) {
  edges.push_back({from, to, false});
}

void StepGraph::add_carry(int from, int to) {
  edges.push_back({from, to, true});
}

std::vector<std::string> StepGraph::problems() const {
  Problems out;
  std::int64_t instances = 0;
  for (const auto& part : parts) {
    if (part.layers < 1) out.push_back("part " + part.name + " must have at least one layer");
    std::int64_t size = 0;
    for (const auto& op : operators) size += &parts[0] + op.part == &part;
    if (part.layers > 0 && size > 0 && part.layers > (std::numeric_limits<int>::max() - instances) / size)
      out.push_back("part " + part.name + " has too many layers");
    else
      instances += size * part.layers;
  }
  for (const auto& unit : units)
    if (unit.members < 1 || !(unit.amount >= 0) || std::isinf(unit.amount))
      out.push_back("unit " + unit.name + " must have members, or a positive finite amount");
  for (const auto& unit : units) {
    const auto& [resource, most] = unit.disturbance;
    if (resource != -1 && (!has(resources, resource) || !(most >= 0) || std::isinf(most)))
      out.push_back("unit " + unit.name +
                    " is disturbed by a resource that does not exist, or without measure");
  }
  for (const auto& resource : resources)
    if (!(resource.capacity.value() >= 0) || std::isinf(resource.capacity.value()))
      out.push_back("resource " + resource.name + " must have a capacity that is finite and not negative");
  if (!out.empty()) return out;
  check_operators(*this, out);
  check_followers(*this, out);
  check_edges(*this, out);
  if (out.empty()) check_cycles(*this, out);
  return out;
}

bool StepGraph::serial() const {
  for (const auto& op : operators)
    if (op.alternatives.size() != 1) return false;
  const std::vector<Set> later = all_later(*this);
  const auto take_turns = [&](const Operator& a, const Operator& b) {
    const auto& unit = units[static_cast<std::size_t>(a.alternatives[0].unit)];
    return a.alternatives[0].unit == b.alternatives[0].unit && unit.members == 1 && unit.amount == 0;
  };
  for (std::size_t a = 0; a < operators.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      if (!later[a][b] && !later[b][a] && !take_turns(operators[a], operators[b])) return false;
  return all_of_layer_before_next(*this, later);
}

}  // namespace weir
