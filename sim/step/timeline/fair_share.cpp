#include "sim/step/timeline/fair_share.h"

#include <algorithm>

namespace weir {
namespace {

constexpr double tie = 1 + 1e-12;  // resources that fill up this close to each other fill up together

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

}  // namespace

FairShare::FairShare(std::vector<BytesPerSecond> capacities)
    : used_(capacities.size(), 0), load_(capacities.size(), 0) {
  for (const BytesPerSecond capacity : capacities) capacity_.push_back(capacity.value());
}

void FairShare::measure(std::span<Flow> flows) {
  dominant_.assign(flows.size(), 0.0);
  for (std::size_t f = 0; f < flows.size(); ++f)
    for (std::size_t d = 0; d < flows[f].resources.size(); ++d)
      if (flows[f].rates[d].value() > 0)
        dominant_[f] = std::max(
            dominant_[f], flows[f].rates[d].value() * flows[f].scale / capacity_[at(flows[f].resources[d])]);
}

void FairShare::add_load(const Flow& flow, double dominant) {
  for (std::size_t d = 0; d < flow.resources.size(); ++d)
    load_[at(flow.resources[d])] += flow.rates[d].value() * flow.scale / dominant;
}

bool FairShare::saturated(const Flow& flow, double level) const {
  for (std::size_t d = 0; d < flow.resources.size(); ++d) {
    const std::size_t r = at(flow.resources[d]);
    if (flow.rates[d].value() > 0 && capacity_[r] - used_[r] <= level * tie * load_[r]) return true;
  }
  return false;
}

void FairShare::settle(Flow& flow, double speed) {
  flow.speed = speed;
  for (std::size_t d = 0; d < flow.resources.size(); ++d)
    used_[at(flow.resources[d])] += flow.rates[d].value() * flow.scale * speed;
}

void FairShare::share(std::span<Flow> flows) {
  std::fill(used_.begin(), used_.end(), 0.0);
  measure(flows);
  std::size_t rising = 0;
  for (std::size_t f = 0; f < flows.size(); ++f) {
    flows[f].speed = 1;
    rising += dominant_[f] > 0;
  }
  for (double reached = 0; rising > 0; rising -= stopping_.size()) {
    // Summed afresh each round: subtracting what stopped would leave rounding where nothing is.
    std::fill(load_.begin(), load_.end(), 0.0);
    double full_speed = infinity, full_resource = infinity;
    for (std::size_t f = 0; f < flows.size(); ++f) {
      if (dominant_[f] == 0) continue;
      full_speed = std::min(full_speed, dominant_[f]);
      add_load(flows[f], dominant_[f]);
    }
    for (std::size_t r = 0; r < capacity_.size(); ++r)
      if (load_[r] > 0) full_resource = std::min(full_resource, (capacity_[r] - used_[r]) / load_[r]);
    reached = std::max(reached, std::min(full_speed, full_resource));  // rounding must not let it fall
    stopping_.clear();
    for (std::size_t f = 0; f < flows.size(); ++f)
      if (dominant_[f] > 0 && (dominant_[f] <= reached || saturated(flows[f], reached)))
        stopping_.push_back(f);
    for (const std::size_t f : stopping_) {
      settle(flows[f], std::min(1.0, reached / dominant_[f]));
      dominant_[f] = 0;
    }
  }
}

}  // namespace weir
