#include "sim/step/timeline/flat_graph.h"

#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

namespace weir {
namespace {

template <class T>
int size(const std::vector<T>& list) {
  return static_cast<int>(list.size());
}

void refuse_problems(const StepGraph& graph) {
  std::string all;
  for (const std::string& problem : graph.problems()) all += (all.empty() ? "" : "; ") + problem;
  if (!all.empty()) throw std::invalid_argument("step graph: " + all);
}

}  // namespace

FlatGraph::FlatGraph(const StepGraph& graph) {
  refuse_problems(graph);
  for (const auto& unit : graph.units) {
    units.push_back({members, unit.members, unit.amount, unit.disturbance, false, {}});
    disturbed |= unit.disturbance.resource >= 0;
    members += unit.members;
  }
  for (const auto& op : graph.operators) names.push_back(op.name);
  for (const auto& resource : graph.resources) capacities.push_back(resource.capacity);
  for (int part = 0; part < size(graph.parts); ++part) add_part(graph, part);
  for (const Operator& op : operators) find_undrawable(op), find_staying(op);
  for (const Operator& op : operators) {
    chooses |= op.alternatives > 1;
    if (op.follows < 0) continue;
    operators[static_cast<std::size_t>(op.follows)].followed = followed = true;
  }
  for (const Part& part : parts) by_instance |= part.unlike;
  for (const Unit& unit : units) by_instance |= unit.turns;
  add_successors(graph);
}

void FlatGraph::add_part(const StepGraph& graph, int index) {
  const auto& described = graph.parts[static_cast<std::size_t>(index)];
  Part part;
  part.layers = described.layers;
  part.unlike = described.unlike;
  part.yields = described.yields;
  part.ranks_per_layer = described.ranks_per_layer;
  part.first_operator = part.anchor = size(operators);
  part.first_instance = instances;
  const auto first_time = size(times), first_rate = size(rates);
  for (int op = part.first_operator; op < size(graph.operators); ++op) {
    const auto& source = graph.operators[static_cast<std::size_t>(op)];
    if (source.part != index) break;
    operators.push_back({.part = index,
                         .local = part.operators++,
                         .first_alternative = size(alternatives),
                         .alternatives = size(source.alternatives),
                         .rank = source.rank,
                         .follows = source.follows});
    for (const auto& way : source.alternatives) add_alternative(way);
    if (source.rank >= 0)
      units[static_cast<std::size_t>(source.alternatives[0].unit)].ranked_operators.push_back(
          size(operators) - 1);
  }
  if (part.unlike) {  // every layer starts with what was described
    part.time_stride = size(times) - first_time;
    part.rate_stride = size(rates) - first_rate;
    const std::vector<Seconds> layer_times(times.begin() + first_time, times.end());
    const std::vector<BytesPerSecond> layer_rates(rates.begin() + first_rate, rates.end());
    for (std::int64_t layer = 1; layer < part.layers; ++layer) {
      times.insert(times.end(), layer_times.begin(), layer_times.end());
      rates.insert(rates.end(), layer_rates.begin(), layer_rates.end());
    }
  }
  instances += part.operators * static_cast<int>(part.layers);
  part.first_waits.assign(static_cast<std::size_t>(part.operators), 0);
  part.next_waits = part.first_waits;
  parts.push_back(std::move(part));
}

void FlatGraph::find_staying(const Operator& op) {
  for (int a = op.first_alternative; a < op.first_alternative + op.alternatives; ++a) {
    const Alternative& way = alternatives[static_cast<std::size_t>(a)];
    if (way.turns == 0 && units[static_cast<std::size_t>(way.unit)].turns)
      parts[static_cast<std::size_t>(op.part)].staying.push_back(a);
  }
}

void FlatGraph::find_undrawable(const Operator& op) {
  const Part& part = parts[static_cast<std::size_t>(op.part)];
  for (int a = op.first_alternative; a < op.first_alternative + op.alternatives; ++a) {
    const Alternative& way = alternatives[static_cast<std::size_t>(a)];
    for (int d = 0; d < way.draws; ++d) {
      const int resource = draw_resources[static_cast<std::size_t>(way.first_draw + d)];
      if (capacities[static_cast<std::size_t>(resource)].value() > 0) continue;
      for (std::int64_t layer = 0; layer < (part.unlike ? part.layers : 1); ++layer)
        undrawable_.push_back(static_cast<std::size_t>(way.first_rate + d + layer * part.rate_stride));
    }
  }
}

void FlatGraph::check_values() const {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  bool right = true;
  for (const Seconds time : times) right &= time.value() >= 0 && time.value() < infinity;
  for (const BytesPerSecond rate : rates) right &= rate.value() >= 0 && rate.value() < infinity;
  for (const std::size_t i : undrawable_) right &= rates[i].value() == 0;
  if (!right) refuse_values();
}

void FlatGraph::refuse_values() const {
  std::string all;
  for (std::size_t op = 0; op < operators.size(); ++op) {
    const auto& part = parts[static_cast<std::size_t>(operators[op].part)];
    for (int a = 0; a < operators[op].alternatives; ++a) {
      const auto& way = alternatives[static_cast<std::size_t>(operators[op].first_alternative + a)];
      for (std::int64_t layer = 0; layer < (part.unlike ? part.layers : 1); ++layer) {
        for (int i = 0; i < way.portions; ++i)
          if (const double t = times_of(way, part, layer)[i].value(); !(t >= 0) || std::isinf(t))
            all += "; operator " + names[op] + " takes " + std::to_string(t) + " s";
        for (int i = 0; i < way.draws; ++i) {
          const double rate = rates_of(way, part, layer)[i].value();
          const int resource = draw_resources[static_cast<std::size_t>(way.first_draw + i)];
          if (!(rate >= 0) || std::isinf(rate))
            all += "; operator " + names[op] + " draws " + std::to_string(rate) + " bytes/s";
          else if (rate > 0 && capacities[static_cast<std::size_t>(resource)].value() == 0)
            all += "; operator " + names[op] + " draws from a resource of no capacity";
        }
      }
    }
  }
  throw std::invalid_argument("step" + all.substr(1));
}

void FlatGraph::add_alternative(const StepGraph::Alternative& way) {
  Unit& unit = units[static_cast<std::size_t>(way.unit)];
  unit.turns |= way.turns;
  alternatives.push_back({way.unit, size(portion_members), size(way.portions), size(draw_resources),
                          size(way.draws), size(times), size(rates), way.least, way.most,
                          way.turns ? unit.members : 0});
  for (const auto& portion : way.portions) {
    portion_members.push_back(portion.member);
    times.push_back(portion.time);
  }
  for (const auto& draw : way.draws) {
    draw_resources.push_back(draw.resource);
    rates.push_back(draw.rate);
  }
}

void FlatGraph::add_successors(const StepGraph& graph) {
  enum Kind { next, carry, leave };
  std::vector<std::vector<int>> out[3];
  for (auto& lists : out) lists.resize(operators.size());
  std::vector<int> inner_waits(operators.size(), 0);
  for (const auto& edge : graph.edges) {
    const auto from = static_cast<std::size_t>(edge.from), to = static_cast<std::size_t>(edge.to);
    const bool inside = operators[from].part == operators[to].part;
    out[edge.next_layer ? carry : inside ? next : leave][from].push_back(edge.to);
    Part& part = parts[static_cast<std::size_t>(operators[to].part)];
    const auto local = static_cast<std::size_t>(operators[to].local);
    part.first_waits[local] += !edge.next_layer;
    part.next_waits[local] += inside;
    inner_waits[to] += inside && !edge.next_layer;
  }
  for (std::size_t op = 0; op < operators.size(); ++op) {
    int* firsts[] = {&operators[op].first_next, &operators[op].first_carry, &operators[op].first_leave};
    for (int kind = next; kind <= leave; ++kind) {
      *firsts[kind] = size(successors);
      successors.insert(successors.end(), out[kind][op].begin(), out[kind][op].end());
    }
    operators[op].end = size(successors);
  }
  for (std::size_t op = operators.size(); op-- > 0;)
    if (inner_waits[op] == 0)
      parts[static_cast<std::size_t>(operators[op].part)].anchor = static_cast<int>(op);
  for (Part& part : parts) {
    for (int local = 0; local < part.operators; ++local) {
      const auto i = static_cast<std::size_t>(local);
      if (part.first_waits[i] == 0) part.first_roots.push_back(part.first_operator + local);
      if (part.next_waits[i] == 0) part.next_roots.push_back(part.first_operator + local);
    }
  }
}

}  // namespace weir
