#include "sim/app/play.h"

#include "sim/app/child_process.h"
#include "sim/app/output/writers.h"
#include "sim/training/trainers.h"

namespace weir {
namespace {

std::string without_training(Plan plan) {
  plan.training.clear();
  const RunResult result = simulate(plan, {});
  return headline(summary_json({plan, result, measure(result, plan.scenario.slo)})).dump();
}

// Null: interrupted.
Json outcome_of(Children& child, const std::atomic<bool>* interrupted) {
  while (!(interrupted && interrupted->load()))
    for (const auto& [number, ended] : child.wait(std::chrono::milliseconds(100))) {
      if (!ended.error.empty()) throw std::runtime_error("replicas without training: " + ended.error);
      return parse_json(ended.output, "replicas without training");
    }
  return {};
}

}  // namespace

Played play(const Plan& plan, RunOptions options) {
  Played played;
  played.trained = train(plan);
  for (const TrainingResult& result : played.trained) played.alone.push_back(result.run.ends.back());
  if (!plan.scenario.serves()) return played;
  Trainers trainers(plan, played.trained, options.interrupted);
  Children child;  // beside this process
  if (trainers.share()) {
    child.start(0, [&] { return without_training(plan); });
    options.others = [&](const Cluster& cluster, LinkTraffic& traffic) { trainers.start(cluster, traffic); };
  }
  played.served = simulate(plan, options);
  for (std::size_t j = 0; j < played.trained.size(); ++j) played.trained[j].run.ends = trainers.ends()[j];
  if (trainers.share()) played.served_alone = outcome_of(child, options.interrupted);
  return played;
}

}  // namespace weir
