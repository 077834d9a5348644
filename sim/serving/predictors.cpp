#include "sim/serving/predictors.h"

#include <fmt/format.h>

namespace weir {

std::unique_ptr<StepTimes> Predictors::times_for(const ReplicaPlan& plan) {
  const Predictor predictor = plan.spec.batching->predictor();
  if (predictor == Predictor::none) return nullptr;
  ExactTimes exact(plan.rank, plan.stages[0]);
  if (predictor == Predictor::exact) return std::make_unique<ExactTimes>(std::move(exact));
  auto learned = std::make_unique<ProfiledTimes>(std::move(exact));
  learners_.push_back(learned.get());
  return learned;
}

// The first replica's reason stands for all of them.
void Predictors::tell(RunResult& result) const {
  std::string why;
  std::size_t untrained = 0;
  for (const ProfiledTimes* learner : learners_) {
    result.predictions.push_back(learner->errors());
    const std::string lacking = learner->lacking();
    if (!lacking.empty()) ++untrained;
    if (why.empty()) why = lacking;
  }
  if (untrained > 0)
    result.notes.push_back(fmt::format(
        "predictor learned: {} of {} replicas never trained and asked the kernels to the end; only "
        "steps with prompts are learned from, and batches seen were {}",
        untrained, learners_.size(), why));
}

}  // namespace weir
