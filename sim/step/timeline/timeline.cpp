#include "sim/step/timeline/timeline.h"

#include <stdexcept>
#include <string>
#include <utility>

#include "sim/step/timeline/player.h"

namespace weir {
namespace {

const FlatGraph::Alternative& find_way(const FlatGraph& graph, int op, int alternative, std::int64_t layer) {
  if (op < 0 || op >= static_cast<int>(graph.operators.size()))
    throw std::out_of_range("the step has no operator " + std::to_string(op));
  const auto& found = graph.operators[static_cast<std::size_t>(op)];
  if (alternative < 0 || alternative >= found.alternatives)
    throw std::out_of_range("operator " + std::to_string(op) + " has no alternative " +
                            std::to_string(alternative));
  if (layer < 0 || layer >= graph.parts[static_cast<std::size_t>(found.part)].layers)
    throw std::out_of_range("operator " + std::to_string(op) + " has no layer " + std::to_string(layer));
  return graph.alternatives[static_cast<std::size_t>(found.first_alternative + alternative)];
}

}  // namespace

Timeline::Timeline(const StepGraph& graph, PlacementPolicy policy)
    : player_(std::make_unique<Player>(graph, std::move(policy))) {}
Timeline::~Timeline() = default;
Timeline::Timeline(Timeline&&) noexcept = default;
Timeline& Timeline::operator=(Timeline&&) noexcept = default;

std::span<Seconds> Timeline::times(int op, int alternative, std::int64_t layer) {
  FlatGraph& graph = player_->graph;
  const auto& way = find_way(graph, op, alternative, layer);
  const auto& part =
      graph.parts[static_cast<std::size_t>(graph.operators[static_cast<std::size_t>(op)].part)];
  return {graph.times.data() + way.first_time + layer * part.time_stride,
          static_cast<std::size_t>(way.portions)};
}

std::span<BytesPerSecond> Timeline::rates(int op, int alternative, std::int64_t layer) {
  FlatGraph& graph = player_->graph;
  const auto& way = find_way(graph, op, alternative, layer);
  const auto& part =
      graph.parts[static_cast<std::size_t>(graph.operators[static_cast<std::size_t>(op)].part)];
  return {graph.rates.data() + way.first_rate + layer * part.rate_stride,
          static_cast<std::size_t>(way.draws)};
}

const StepResult& Timeline::evaluate(const EvaluateOptions& options) {
  return player_->evaluate(options);
}

}  // namespace weir
