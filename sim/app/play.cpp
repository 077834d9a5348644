#include "sim/app/play.h"

#include "sim/training/trainers.h"

namespace weir {

Played play(const Plan& plan, RunOptions options) {
  Played played;
  played.trained = train(plan);
  for (const TrainingResult& result : played.trained) played.alone.push_back(result.run.ends.back());
  if (!plan.scenario.serves()) return played;
  Trainers trainers(plan, played.trained, options.interrupted);
  if (trainers.share())
    options.others = [&](const Cluster& cluster, LinkTraffic& traffic) { trainers.start(cluster, traffic); };
  played.served = simulate(plan, options);
  for (std::size_t j = 0; j < played.trained.size(); ++j) played.trained[j].run.ends = trainers.ends()[j];
  return played;
}

}  // namespace weir
