#include "sim/step/stage_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/range/iterator_range.hpp>
#include <stdexcept>

namespace weir {
namespace {

struct Ends {
  std::vector<int> first, last;  // operators that wait for none of their part; for which none of it waits
};

// The operators that are early do not wait for what ends the part before; for what they do.
void add_early(StepGraph& step, const StageGraph& stage, const StageStep::Chain& first) {
  for (const StageGraph::Early& early : stage.early) {
    const int from = first[early.after_part] + static_cast<int>(early.after),
              to = first[early.part] + static_cast<int>(early.op);
    early.part == early.after_part ? step.add_carry(from, to) : step.add_edge(from, to);
  }
}

bool is_early(const StageGraph& stage, std::size_t part, std::size_t vertex) {
  return std::ranges::any_of(stage.early,
                             [&](const auto& early) { return early.part == part && early.op == vertex; });
}

bool is_prefetch(const OperatorGraph& part, std::size_t vertex) {
  return part[vertex].as<Prefetch>() != nullptr;
}

bool is_first(const StageGraph& stage, std::size_t part, std::size_t vertex) {
  const OperatorGraph& operators = stage.parts[part].operators;
  const auto before = boost::make_iterator_range(boost::in_edges(vertex, operators));
  return !is_early(stage, part, vertex) && std::ranges::all_of(before, [&](const auto& edge) {
    return is_prefetch(operators, boost::source(edge, operators));
  });
}

// The reader of a prefetch starts without it: it reads what is there, line by line, and the rest as it comes.
// It cannot end sooner than the prefetch, so that its successors wait for both; true if it has none in its
// part.
bool add_prefetch(StepGraph& step, const OperatorGraph& part, int first, std::size_t fetch) {
  const std::size_t reader = boost::target(*boost::out_edges(fetch, part).first, part);
  for (const auto edge : boost::make_iterator_range(boost::out_edges(reader, part)))
    step.add_edge(first + static_cast<int>(fetch), first + static_cast<int>(boost::target(edge, part)));
  return boost::out_degree(reader, part) == 0;
}

// Until costs are set each draws what its unit withholds from others.
std::vector<StepGraph::Draw> draws_of(const Unit& unit, std::span<const Resource> resources) {
  std::vector<StepGraph::Draw> draws;
  for (const Port& port : unit.ports)
    draws.push_back(
        {port.resource, port.withheld * resources[static_cast<std::size_t>(port.resource)].bandwidth});
  return draws;
}

// A step counts so many at most (KernelCost::moved).
void check_ports(std::span<const Unit> units, std::span<const Resource> resources) {
  if (resources.size() > most_resources)
    throw std::invalid_argument(fmt::format("a machine has {} resources; a step counts {} at most",
                                            resources.size(), most_resources));
  for (const Unit& unit : units)
    for (const Port& port : unit.ports)
      if (port.resource < 0 || port.resource >= std::ssize(resources))
        throw std::invalid_argument(unit.name + " has a port to a resource that is not there");
}

const Unit& unit_of(const Operator& op, std::span<const Unit> units) {
  if (op.unit < 0 || op.unit >= std::ssize(units))
    throw std::invalid_argument(op.name + " is placed on a unit that is not there");
  const Unit& unit = units[static_cast<std::size_t>(op.unit)];
  if (!unit.runs(op.kind()))
    throw std::invalid_argument(
        fmt::format("{} is placed on unit {}, which does not run it", op.name, unit.name));
  return unit;
}

// The timeline slows a unit beside a full stream of others on one resource.
Disturbance disturbance_of(const Unit& unit) {
  Disturbance slowed;
  for (const Port& port : unit.ports) {
    if (port.slowed == 0) continue;
    if (slowed.resource >= 0)
      throw std::invalid_argument(unit.name + " is slowed on two resources; the timeline knows one");
    slowed = {port.resource, port.slowed};
  }
  return slowed;
}

bool has_unlike_layers(const Part& part) {
  const auto all = boost::make_iterator_range(boost::vertices(part.operators));
  return part.times > 1 &&
         std::ranges::any_of(all, [&](const auto v) { return differs_by_layer(part.operators[v]); });
}

Ends add_operators(StepGraph& step, const StageGraph& stage, std::size_t part, std::span<const Unit> units,
                   std::span<const Resource> resources) {
  const OperatorGraph& source = stage.parts[part].operators;
  Ends ends;
  const int first = static_cast<int>(step.operators.size());
  for (const auto vertex : boost::make_iterator_range(boost::vertices(source))) {
    const Operator& placed = source[vertex];
    const Unit& unit = unit_of(placed, units);
    StepGraph::Alternative way{placed.unit, {}, draws_of(unit, resources), 0, 0, placed.rotates};
    const int only = placed.member;
    for (int member = std::max(only, 0); member < (only < 0 ? unit.members : only + 1); ++member)
      way.portions.push_back({member, Seconds(0)});
    const int op = step.add_operator(placed.name, {std::move(way)});
    if (is_first(stage, part, vertex)) ends.first.push_back(op);
    if (boost::out_degree(vertex, source) == 0) ends.last.push_back(op);
  }
  for (const auto vertex : boost::make_iterator_range(boost::vertices(source)))
    if (is_prefetch(source, vertex) && add_prefetch(step, source, first, vertex))
      ends.last.push_back(first + static_cast<int>(vertex));
  for (const auto edge : boost::make_iterator_range(boost::edges(source)))
    if (!is_prefetch(source, boost::source(edge, source)))
      step.add_edge(first + static_cast<int>(boost::source(edge, source)),
                    first + static_cast<int>(boost::target(edge, source)));
  return ends;
}

// LayerTurns of all chains, one after the other. Prefetches have a unit of their own.
void rank_operators(StepGraph& step, const OperatorGraph& part, const std::vector<int>& firsts,
                    const Alternation& how) {
  const LayerTurns turns = turns_of(part, how);
  const int chains = static_cast<int>(firsts.size());
  step.parts.back().ranks_per_layer = chains * turns.all;
  for (int c = 0; c < chains; ++c)
    for (std::size_t v = 0; v < turns.of.size(); ++v)
      if (!is_prefetch(part, v))
        step.operators[static_cast<std::size_t>(firsts[static_cast<std::size_t>(c)]) + v].rank =
            chains * (turns.of[v] + c * how.behind) + c;
}

}  // namespace

StageStep stage_step(std::span<const StageGraph> chains, std::span<const Unit> units,
                     std::span<const Resource> resources, const Alternation* alternation) {
  check_ports(units, resources);
  StageStep step;
  step.chains.resize(chains.size());
  for (const Unit& unit : units) step.graph.add_unit(unit.name, unit.members, disturbance_of(unit));
  for (const Resource& resource : resources) step.graph.add_resource(resource.name, resource.bandwidth);
  const std::span<const Part> parts = chains.empty() ? std::span<const Part>() : chains[0].parts;
  for (const StageGraph& chain : chains)
    if (!std::ranges::equal(chain.parts, parts, {}, &Part::times, &Part::times))
      throw std::invalid_argument("chains of one step differ in their parts");

  std::vector<std::vector<int>> before(chains.size());  // what ends the last part of each chain so far
  for (std::size_t part = 0; part < parts.size(); ++part) {
    step.graph.add_part(parts[part].name, parts[part].times, has_unlike_layers(parts[part]));
    for (std::size_t c = 0; c < chains.size(); ++c) {
      step.chains[c].push_back(static_cast<int>(step.graph.operators.size()));
      const Ends ends = add_operators(step.graph, chains[c], part, units, resources);
      for (const int to : ends.first) {
        for (const int from : before[c]) step.graph.add_edge(from, to);
        for (const int from : ends.last) step.graph.add_carry(from, to);
      }
      if (!ends.last.empty()) before[c] = ends.last;
    }
    std::vector<int> firsts;
    for (const StageStep::Chain& chain : step.chains) firsts.push_back(chain.back());
    if (alternation) rank_operators(step.graph, parts[part].operators, firsts, *alternation);
  }
  for (std::size_t c = 0; c < chains.size(); ++c) add_early(step.graph, chains[c], step.chains[c]);
  return step;
}

void set_cost(Timeline& timeline, const StepGraph& graph, int op, const KernelCost& cost,
              std::int64_t layer) {
  std::ranges::fill(timeline.times(op, 0, layer), cost.time);
  const auto& draws = graph.operators[static_cast<std::size_t>(op)].alternatives[0].draws;
  const std::span<BytesPerSecond> rates = timeline.rates(op, 0, layer);
  for (std::size_t i = 0; i < draws.size(); ++i) {
    const auto resource = static_cast<std::size_t>(draws[i].resource);
    rates[i] = cost.time > Seconds(0) ? std::min(cost.moved[resource] / cost.time + draws[i].rate,
                                                 graph.resources[resource].capacity)
                                      : BytesPerSecond(0);
  }
}

}  // namespace weir
