#include "test/step/training/training_path.h"

#include "test/step/training/random_training.h"

namespace weir::test {
namespace {

// By step and operator.
using TimesOfSteps = std::vector<std::vector<Seconds>>;

TimesOfSteps of_all_operators(const TrainingPlan& plan) {
  const auto steps = static_cast<std::size_t>(plan.graph.parts.front().layers);
  return TimesOfSteps(steps, std::vector<Seconds>(plan.graph.operators.size()));
}

}  // namespace

// Edges of a step lead from operators to later ones, so that one pass a step is enough.
std::vector<Seconds> ends_on_longest_paths(const TrainingPlan& plan,
                                           const std::vector<OperatorRecord>& trace) {
  TimesOfSteps takes = of_all_operators(plan), end = takes;
  for (const OperatorRecord& record : trace)
    takes[static_cast<std::size_t>(record.layer)][static_cast<std::size_t>(record.op)] = alone(plan, record);
  std::vector<std::vector<const StepGraph::Edge*>> into(plan.graph.operators.size());
  for (const StepGraph::Edge& edge : plan.graph.edges)
    into[static_cast<std::size_t>(edge.to)].push_back(&edge);
  std::vector<Seconds> steps;
  for (std::size_t i = 0; i < takes.size(); ++i) {
    for (std::size_t op = 0; op < into.size(); ++op) {
      Seconds begin;
      for (const StepGraph::Edge* edge : into[op]) {
        const auto from = static_cast<std::size_t>(edge->from);
        if (!edge->next_layer)
          begin = std::max(begin, end[i][from]);
        else if (i > 0)
          begin = std::max(begin, end[i - 1][from]);
      }
      end[i][op] = begin + takes[i][op];
    }
    steps.push_back(end[i][static_cast<std::size_t>(plan.ends[0])]);
  }
  return steps;
}

std::vector<Seconds> ends_of_steps(const TrainingPlan& plan, const std::vector<OperatorRecord>& trace) {
  std::vector<Seconds> ends;
  for (const OperatorRecord& record : trace)
    if (record.op == plan.ends[0]) ends.push_back(record.finish);
  return ends;
}

}  // namespace weir::test
