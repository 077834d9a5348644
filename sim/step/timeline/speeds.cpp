// How fast what runs gets on: bandwidth shared, disturbance, progress, and the moment to look at it again.
#include <algorithm>

#include "sim/step/timeline/player.h"

namespace weir {

void Timeline::Player::update_speeds() {
  speeds_stale_ = false;
  std::ranges::fill(demand_, 0);
  bool enough = true;
  for (const Running& running : running_) {
    const int* resources = graph.draw_resources.data() + running.way->first_draw;
    for (int d = 0; d < running.way->draws; ++d) {
      if (!(running.rates[d] > BytesPerSecond(0))) continue;
      const auto r = static_cast<std::size_t>(resources[d]);
      demand_[r] += running.rates[d].value() * running.scale;
      enough &= demand_[r] <= graph.capacities[r].value();
    }
  }
  speeds_.clear();
  if (enough)
    for (const Running& running : running_) speeds_.push_back(running.scale);
  else
    share_bandwidth();
  if (graph.disturbed) disturb();
  for (std::size_t i = 0; i < running_.size(); ++i) change_velocity(running_[i], speeds_[i]);
}

void Timeline::Player::share_bandwidth() {
  flows_.clear();
  for (const Running& running : running_) {
    const auto draws = static_cast<std::size_t>(running.way->draws);
    const int* resources = graph.draw_resources.data() + running.way->first_draw;
    flows_.push_back({{resources, draws}, {running.rates, draws}, running.scale, 0});
  }
  fair_share_.share(flows_);
  for (std::size_t i = 0; i < running_.size(); ++i) speeds_.push_back(running_[i].scale * flows_[i].speed);
}

void Timeline::Player::disturb() {
  const auto by = [&](const Running& running) {
    return graph.units[static_cast<std::size_t>(running.way->unit)].disturbance;
  };
  const auto drawn = [&](std::size_t i, int resource) {  // undisturbed
    const FlatGraph::Alternative& way = *running_[i].way;
    for (int d = 0; d < way.draws; ++d)
      if (graph.draw_resources[static_cast<std::size_t>(way.first_draw + d)] == resource)
        return running_[i].rates[d].value() * speeds_[i];
    return 0.0;
  };
  slowed_.clear();
  for (std::size_t i = 0; i < running_.size(); ++i) {
    const auto [resource, most] = by(running_[i]);
    if (resource < 0) continue;
    double others = 0;
    for (std::size_t j = 0; j < running_.size(); ++j)
      if (by(running_[j]).resource != resource) others += drawn(j, resource);
    const double left = graph.capacities[static_cast<std::size_t>(resource)].value() - drawn(i, resource);
    if (others > 0) slowed_.push_back({i, 1 + most * (others < left ? others / left : 1)});
  }
  for (const auto& [i, times] : slowed_) speeds_[i] /= times;
}

void Timeline::Player::change_velocity(Running& running, double velocity) {
  if (velocity == running.velocity) return;
  catch_up(running);
  const bool slowed =
      velocity != running.scale || (running.velocity != 0 && running.velocity != running.scale);
  running.velocity = velocity;
  if (slowed && wants_causes_) add_causes(running);
  aim(running);
}

// Short of the milestone, whatever rounding says: only passing it ends what ends there.
double Timeline::Player::progress_now(const Running& running) const {
  return std::min(running.progress + running.velocity * (now_ - running.since),
                  running.milestone * (1 - 1e-15));
}

void Timeline::Player::catch_up(Running& running) {
  if (running.since < now_) advance(running, progress_now(running));
}

// Portions that ended on the way free their members, each at its own moment.
void Timeline::Player::advance(Running& running, double progress) {
  const auto& unit = graph.units[static_cast<std::size_t>(running.way->unit)];
  const double passed = now_ - running.since;
  if (unit.amount > 0) {
    held_[static_cast<std::size_t>(unit.first_member)] += running.amount * passed;
  } else {
    double* held = held_.data() + unit.first_member;
    std::uint64_t* held_now = held_members(running.way->unit);
    for (int i = 0; i < running.way->portions; ++i) {
      const double time = running.times[i].value();
      if (time <= running.progress) continue;
      const int member = graph.member_of(*running.way, i, running.layer);
      held[member] += time < progress ? (time - running.progress) / running.velocity : passed;
      if (time > progress) continue;
      held_now[member / word] &= ~bit(member);
      if (time == progress) last_on_[static_cast<std::size_t>(unit.first_member + member)].left = now_;
    }
  }
  running.progress = progress;
  running.since = now_;
}

// At the moment that may let somebody in who waits for its unit; else at the end.
void Timeline::Player::aim(Running& running) const {
  running.milestone = running.alone;
  if (running.way->portions > 1)
    for (const Waiting& waiting : queues_[static_cast<std::size_t>(running.way->unit)].waiting)
      running.milestone = std::min(running.milestone, frees(running, waiting));
  running.finish = now_ + (running.milestone - running.progress) / running.velocity;
}

// Its progress when it has let go of all members that another needs.
double Timeline::Player::frees(const Running& running, const Waiting& waiting) const {
  const auto needed = [&](int portion) {
    const int member = graph.member_of(*running.way, portion, running.layer);
    return (waiting.needs[member / word] & bit(member)) != 0;
  };
  if (needed(running.slowest)) return running.alone;
  double last = 0;
  for (int i = 0; i < running.way->portions; ++i)
    if (needed(i)) last = std::max(last, running.times[i].value());
  return last > running.progress ? last : running.alone;
}

}  // namespace weir
