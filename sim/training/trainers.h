#pragma once
// The training jobs of a plan beside its replicas, each an actor on the cluster's hosts. A step takes what it
// takes alone while its bytes, spread evenly over it, go over links and out of memories that replicas may use
// too; these share max-min, and the step ends with the last byte. Started by RunOptions::others.
#include <atomic>
#include <vector>

#include "sim/serving/platform/link_traffic.h"
#include "sim/training/train.h"

namespace weir {

class Trainers {
 public:
  // `alone`: train() of the plan. Both outlive the run; `interrupted` too, or it is null.
  Trainers(const Plan& plan, const std::vector<TrainingResult>& alone, const std::atomic<bool>* interrupted);

  bool share() const;  // anything that replicas may use: else nobody needs to play them
  void start(const Cluster& cluster, LinkTraffic& traffic);
  // By job and step, once the run is over; of jobs that were not started what they are alone.
  const std::vector<std::vector<Seconds>>& ends() const { return ends_; }

 private:
  void train(std::size_t job, std::vector<LinkFlow> flows, LinkTraffic& traffic);

  const Plan& plan_;
  const std::vector<TrainingResult>& alone_;
  const std::atomic<bool>* interrupted_;
  std::vector<std::vector<Seconds>> ends_;
};

}  // namespace weir
