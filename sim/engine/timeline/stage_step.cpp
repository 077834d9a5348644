#include "sim/engine/timeline/stage_step.h"

#include <algorithm>
#include <boost/range/iterator_range.hpp>
#include <stdexcept>

namespace weir {
namespace {

enum Resource { memory, link, to_host, from_host, host_memory };

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
  return part[vertex].kind == OperatorKind::prefetch;
}

bool is_first(const StageGraph& stage, std::size_t part, std::size_t vertex) {
  const OperatorGraph& operators = stage.parts[part].operators;
  const auto before = boost::make_iterator_range(boost::in_edges(vertex, operators));
  return !is_early(stage, part, vertex) && std::ranges::all_of(before, [&](const auto& edge) {
    return is_prefetch(operators, boost::source(edge, operators));
  });
}

// What a prefetch is for starts without it: it reads what is there, line by line, and the rest as it comes.
// So it ends no sooner, which is for whoever waits for it to wait for; true if nobody of its part does.
bool add_prefetch(StepGraph& step, const OperatorGraph& part, int first, std::size_t fetch) {
  const std::size_t reader = boost::target(*boost::out_edges(fetch, part).first, part);
  for (const auto edge : boost::make_iterator_range(boost::out_edges(reader, part)))
    step.add_edge(first + static_cast<int>(fetch), first + static_cast<int>(boost::target(edge, part)));
  return boost::out_degree(reader, part) == 0;
}

std::vector<StepGraph::Draw> draws_of(OperatorKind kind) {
  const BytesPerSecond none(0);
  if (kind == OperatorKind::onload) return {{from_host, none}, {host_memory, none}};
  if (is_host_transfer(kind)) return {{to_host, none}, {host_memory, none}};
  if (kind == OperatorKind::decode_attention) return {{memory, none}, {host_memory, none}};
  return {{memory, none}, {link, none}};
}

Ends add_operators(StepGraph& step, const StageGraph& stage, std::size_t part) {
  const OperatorGraph& source = stage.parts[part].operators;
  Ends ends;
  const int first = static_cast<int>(step.operators.size());
  for (const auto vertex : boost::make_iterator_range(boost::vertices(source))) {
    StepGraph::Alternative way{source[vertex].unit,   {}, draws_of(source[vertex].kind), 0, 0,
                               source[vertex].rotates};
    const auto unit = static_cast<std::size_t>(way.unit);
    const int members = unit < step.units.size() ? step.units[unit].members : 1;  // else: for problems()
    const int only = source[vertex].member;
    for (int member = std::max(only, 0); member < (only < 0 ? members : only + 1); ++member)
      way.portions.push_back({member, Seconds(0)});
    const int op = step.add_operator(source[vertex].name, {std::move(way)});
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

}  // namespace

StageStep stage_step(std::span<const StageGraph> chains, const std::vector<DeviceUnit>& units,
                     const StepBandwidths& bandwidths) {
  StageStep step;
  step.chains.resize(chains.size());
  for (const DeviceUnit& unit : units)
    step.graph.add_unit(unit.name, unit.members,
                        unit.slowed_by_reads > 0 ? Disturbance{memory, unit.slowed_by_reads} : Disturbance{});
  step.graph.add_resource("memory", bandwidths.memory);
  step.graph.add_resource("link", bandwidths.link);
  step.graph.add_resource("to host", bandwidths.host);
  step.graph.add_resource("from host", bandwidths.host);
  step.graph.add_resource("host memory", bandwidths.host_memory);
  const std::span<const Part> parts = chains.empty() ? std::span<const Part>() : chains[0].parts;
  for (const StageGraph& chain : chains)
    if (!std::ranges::equal(chain.parts, parts, {}, &Part::times, &Part::times))
      throw std::invalid_argument("chains of one step differ in their parts");

  std::vector<std::vector<int>> before(chains.size());  // what ends the last part of each chain so far
  for (std::size_t part = 0; part < parts.size(); ++part) {
    step.graph.add_part(parts[part].name, parts[part].times);
    for (std::size_t c = 0; c < chains.size(); ++c) {
      step.chains[c].push_back(static_cast<int>(step.graph.operators.size()));
      const Ends ends = add_operators(step.graph, chains[c], part);
      for (const int to : ends.first) {
        for (const int from : before[c]) step.graph.add_edge(from, to);
        for (const int from : ends.last) step.graph.add_carry(from, to);
      }
      if (!ends.last.empty()) before[c] = ends.last;
    }
  }
  for (std::size_t c = 0; c < chains.size(); ++c) add_early(step.graph, chains[c], step.chains[c]);
  return step;
}

void set_cost(Timeline& timeline, const StepGraph& graph, int op, const KernelCost& cost) {
  std::ranges::fill(timeline.times(op), cost.time);
  const auto rate = [&](int resource) {
    if (cost.time <= Seconds(0)) return BytesPerSecond(0);
    const Bytes bytes = resource == memory ? cost.memory : resource == link ? cost.link : cost.host;
    const BytesPerSecond withheld = resource == memory ? cost.withheld : BytesPerSecond(0);
    return std::min(bytes / cost.time + withheld,
                    graph.resources[static_cast<std::size_t>(resource)].capacity);
  };
  const auto& draws = graph.operators[static_cast<std::size_t>(op)].alternatives[0].draws;
  const std::span<BytesPerSecond> rates = timeline.rates(op);
  for (std::size_t i = 0; i < draws.size(); ++i) rates[i] = rate(draws[i].resource);
}

}  // namespace weir
