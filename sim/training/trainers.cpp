#include "sim/training/trainers.h"

#include <fmt/format.h>

#include <algorithm>
#include <simgrid/s4u.hpp>

#include "devices/actor/clock.h"
#include "sim/serving/platform/courier.h"
#include "sim/training/shared_links.h"

namespace weir {
namespace sg4 = simgrid::s4u;

Trainers::Trainers(const Plan& plan, const std::vector<TrainingResult>& alone,
                   const std::atomic<bool>* interrupted)
    : plan_(plan), alone_(alone), interrupted_(interrupted) {
  for (const TrainingResult& result : alone) ends_.push_back(result.run.ends);
}

bool Trainers::share() const {
  return std::ranges::any_of(plan_.training, has_training_flows);
}

void Trainers::start(const Cluster& cluster, LinkTraffic& traffic) {
  for (std::size_t j = 0; j < plan_.training.size(); ++j) {
    std::vector<LinkFlow> flows = training_flows(plan_.training[j], cluster);
    if (flows.empty()) continue;
    ends_[j].clear();
    sg4::Actor::create(fmt::format("training {}", j), cluster.device(plan_.training[j].places[0][0]),
                       [this, j, flows = std::move(flows), &traffic] { train(j, flows, traffic); });
  }
}

// A step that is profiled has a CPU by itself, and no batches to send.
void Trainers::train(std::size_t job, std::vector<LinkFlow> flows, LinkTraffic& traffic) {
  const std::vector<Seconds>& alone = alone_[job].run.ends;
  std::size_t step = 0;
  if (plan_.training[job].spec.runtime->profiles()) {
    sg4::this_actor::sleep_until(alone[0].value());
    ends_[job].push_back(now());
    step = 1;
  }
  traffic.transfer_begins(flows, now(), LinkTraffic::By::others);
  for (; step < alone.size() && !(interrupted_ && interrupted_->load()); ++step) {
    const Seconds time = alone[step] - (step > 0 ? alone[step - 1] : Seconds(0));
    for (LinkFlow& flow : flows) flow.at_least = time;
    Sending beside(flows);
    sg4::this_actor::sleep_for(time.value());
    beside.wait(&traffic);
    ends_[job].push_back(now());
  }
  traffic.transfer_ends(flows, LinkTraffic::By::others);
}

}  // namespace weir
