// Operators queue for units, and choose between them where they may.
#include <algorithm>
#include <bit>
#include <stdexcept>

#include "sim/step/timeline/player.h"

namespace weir {
namespace {
constexpr double enough = 1 - 1e-12;  // of an amount that is the rest of sums
constexpr double clearly = 1 - 1e-9;  // sooner, and not by rounding
}  // namespace

void Timeline::Player::enqueue(const Waiting& arrived) {
  const int unit = arrived.way->unit;
  Queue& queue = queues_[static_cast<std::size_t>(unit)];
  queue.waiting.push_back(arrived);
  // Ready at the same moment: in order of part, layer, index, though an operator of no time may have let it
  // in late.
  const auto stays_before = [&](const Waiting& earlier) {
    if (earlier.yields != arrived.yields) return arrived.yields;
    return earlier.ready < arrived.ready || earlier.id < arrived.id;
  };
  for (std::size_t i = queue.waiting.size() - 1; i > 0; --i) {
    Waiting& earlier = queue.waiting[i - 1];
    if (stays_before(earlier)) break;
    std::swap(earlier, queue.waiting[i]);
  }
  aim_at_portions(unit);
  unit_changed(unit);
}

// Somebody new waits for members of this unit.
void Timeline::Player::aim_at_portions(int unit) {
  for (Running& running : running_) {
    if (running.way->unit != unit || running.way->portions == 1) continue;
    catch_up(running);
    aim(running);
  }
}

void Timeline::Player::unit_changed(int unit) {
  Queue& queue = queues_[static_cast<std::size_t>(unit)];
  if (!queue.changed) changed_.push_back(unit);
  queue.changed = true;
}

void Timeline::Player::start_waiting() {
  for (const int u : changed_) {
    Queue& queue = queues_[static_cast<std::size_t>(u)];
    queue.changed = false;
    if (graph.units[static_cast<std::size_t>(u)].amount > 0)
      start_in_pool(u);
    else if (!graph.units[static_cast<std::size_t>(u)].ranked_operators.empty())
      start_ranked(u);
    else if (!queue.waiting.empty())
      start_gangs(u);
  }
  changed_.clear();
}

bool Timeline::Player::members_free(const Waiting& waiting) const {
  const std::uint64_t* held = held_members(waiting.way->unit);
  for (int w = 0; w < words_; ++w)
    if ((waiting.needs[w] & (held[w] | wanted_[static_cast<std::size_t>(w)])) != 0) return false;
  return true;
}

// How many of them nobody waiting earlier wants.
int Timeline::Player::want_members(const Waiting& waiting) {
  int fresh = 0;
  for (int w = 0; w < words_; ++w) {
    std::uint64_t& wanted = wanted_[static_cast<std::size_t>(w)];
    fresh += std::popcount(waiting.needs[w] & ~wanted);
    wanted |= waiting.needs[w];
  }
  return fresh;
}

void Timeline::Player::start_gangs(int u) {
  Queue& queue = queues_[static_cast<std::size_t>(u)];
  int unwanted = graph.units[static_cast<std::size_t>(u)].members;
  std::ranges::fill(wanted_, 0);
  std::size_t kept = 0, next = 0;
  for (; next < queue.waiting.size() && unwanted > 0; ++next) {
    if (members_free(queue.waiting[next])) {
      start(queue.waiting[next], 1);
    } else {
      unwanted -= want_members(queue.waiting[next]);
      if (kept != next) queue.waiting[kept] = queue.waiting[next];
      ++kept;
    }
  }
  queue.waiting.erase(queue.waiting.begin() + static_cast<std::ptrdiff_t>(kept),
                      queue.waiting.begin() + static_cast<std::ptrdiff_t>(next));
}

void Timeline::Player::start_ranked(int u) {
  std::vector<Waiting>& waiting = queues_[static_cast<std::size_t>(u)].waiting;
  std::ranges::fill(wanted_, 0);
  while (!waiting.empty()) {
    const int op = next_ranked(u);
    const std::int64_t layer = started_[static_cast<std::size_t>(op)];
    const auto next =
        std::ranges::find_if(waiting, [&](const Waiting& one) { return one.op == op && one.layer == layer; });
    if (next == waiting.end() || !members_free(*next)) return;
    start(*next, 1);
    waiting.erase(next);
    ++started_[static_cast<std::size_t>(op)];
  }
}

// Somebody waits, so that there is one.
int Timeline::Player::next_ranked(int u) {
  int next = -1;
  std::int64_t lowest = 0;
  for (const int op : graph.units[static_cast<std::size_t>(u)].ranked_operators) {
    std::int64_t& layer = started_[static_cast<std::size_t>(op)];
    const auto part = static_cast<std::size_t>(graph.operators[static_cast<std::size_t>(op)].part);
    while (layer < parts_[part].layers && !takes_time(op, layer)) ++layer;
    if (layer >= parts_[part].layers) continue;  // folding takes some away
    const std::int64_t rank = rank_of(op, layer);
    const auto before = [&] {  // operators of a part come in order
      const auto& other = graph.operators[static_cast<std::size_t>(next)];
      return static_cast<std::size_t>(other.part) == part && layer < started_[static_cast<std::size_t>(next)];
    };
    if (next >= 0 && (rank > lowest || (rank == lowest && !before()))) continue;
    next = op;
    lowest = rank;
  }
  return next;
}

std::int64_t Timeline::Player::rank_of(int op, std::int64_t layer) const {
  const auto& ranked = graph.operators[static_cast<std::size_t>(op)];
  const auto of = [&](int part) {
    return std::int64_t{graph.parts[static_cast<std::size_t>(part)].ranks_per_layer};
  };
  std::int64_t before = layer * of(ranked.part);
  for (int part = 0; part < ranked.part; ++part)
    before += parts_[static_cast<std::size_t>(part)].layers * of(part);
  return before + ranked.rank;
}

bool Timeline::Player::takes_time(int op, std::int64_t layer) const {
  const auto& ranked = graph.operators[static_cast<std::size_t>(op)];
  const auto& way = graph.alternatives[static_cast<std::size_t>(ranked.first_alternative)];
  const Seconds* times = graph.times_of(way, graph.parts[static_cast<std::size_t>(ranked.part)], layer);
  return std::any_of(times, times + way.portions, [](Seconds time) { return time > Seconds(0); });
}

// Nothing runs, and whatever waits will for ever.
void Timeline::Player::refuse_order() const {
  for (const Queue& queue : queues_)
    if (!queue.waiting.empty())
      throw std::invalid_argument("step graph: the ranks of " +
                                  graph.names[static_cast<std::size_t>(queue.waiting.front().op)] +
                                  "'s unit have it wait for what waits for it");
}

double Timeline::Player::amount_free(int unit) const {
  double free = graph.units[static_cast<std::size_t>(unit)].amount;
  for (const Running& running : running_)
    if (running.way->unit == unit) free -= running.amount;
  return std::max(0.0, free);
}

void Timeline::Player::start_in_pool(int u) {
  Queue& queue = queues_[static_cast<std::size_t>(u)];
  double free = amount_free(u);
  std::size_t started = 0;
  for (; started < queue.waiting.size(); ++started) {
    const Waiting& first = queue.waiting[started];
    const auto& way = *first.way;
    if (free < way.least * enough) break;
    start(first, std::min(way.most, std::max(free, way.least)));
    free = amount_free(u);
  }
  queue.waiting.erase(queue.waiting.begin(), queue.waiting.begin() + static_cast<std::ptrdiff_t>(started));
  if (free > 0) grow_in_pool(u, free);
}

void Timeline::Player::grow_in_pool(int u, double free) {
  for (Running& running : running_) {
    const auto& way = *running.way;
    if (way.unit != u || running.amount >= way.most) continue;
    const double more = std::min(free, way.most - running.amount);
    if (!(more > 0)) return;
    catch_up(running);
    running.amount += more;
    running.scale = running.amount / way.most;
    free -= more;
    speeds_stale_ = true;
  }
}

void Timeline::Player::start(const Waiting& waiting, double amount) {
  const auto& way = *waiting.way;
  const auto& unit = graph.units[static_cast<std::size_t>(way.unit)];
  speeds_stale_ = true;
  if (wants_causes_) add_causes(waiting);
  Running& running = running_.emplace_back(waiting, now_, amount);
  if (unit.amount > 0) {
    running.scale = amount / way.most;
    return;
  }
  std::uint64_t* held = held_members(way.unit);
  for (int w = 0; w < words_; ++w) held[w] |= waiting.needs[w];
}

// As an operator sees them that yields, or does not.
void Timeline::Player::describe_units(bool yields) {
  for (std::size_t u = 0; u < queues_.size(); ++u) {
    UnitState& state = unit_states_[u];
    std::fill(state.left.begin(), state.left.end(), Seconds(0));
    state.free = state.amount > 0 ? amount_free(static_cast<int>(u)) : 0;
    state.waiting = 0;
  }
  const auto add = [&](const Waiting& operation, double progress) {
    const auto& way = *operation.way;
    UnitState& state = unit_states_[static_cast<std::size_t>(way.unit)];
    for (int i = 0; i < way.portions; ++i) {
      const int member = graph.member_of(way, i, operation.layer);
      const double left = std::max(0.0, operation.times[i].value() - progress);
      state.left[static_cast<std::size_t>(member)] += Seconds(state.amount > 0 ? left * way.most : left);
    }
  };
  for (const Running& running : running_) add(running, progress_now(running));
  for (std::size_t u = 0; u < queues_.size(); ++u)
    for (const Waiting& waiting : queues_[u].waiting) {
      if (waiting.yields && !yields) break;  // and so do all behind it
      add(waiting, 0);
      ++unit_states_[u].waiting;
    }
}

// Its alternative: the one there is, the one that it follows, or the policy's.
int Timeline::Player::way_of(const Instance& instance) {
  const auto& op = graph.operators[static_cast<std::size_t>(instance.op)];
  if (op.alternatives == 1) return 0;
  const auto of = [&](int other) {  // in the same layer
    const auto& followed = graph.operators[static_cast<std::size_t>(other)];
    return static_cast<std::size_t>(instance.id - op.local + followed.local);
  };
  const int way = op.follows < 0 ? choose(instance) : chosen_[of(op.follows)];
  if (op.followed) chosen_[static_cast<std::size_t>(instance.id)] = static_cast<std::int8_t>(way);
  return way;
}

int Timeline::Player::choose(const Instance& instance) {
  const auto& op = graph.operators[static_cast<std::size_t>(instance.op)];
  describe_units(graph.parts[static_cast<std::size_t>(op.part)].yields);
  options_.clear();
  for (int a = op.first_alternative; a < op.first_alternative + op.alternatives; ++a) {
    const auto& way = graph.alternatives[static_cast<std::size_t>(a)];
    const auto& part = graph.parts[static_cast<std::size_t>(op.part)];
    const auto portions = static_cast<std::size_t>(way.portions), draws = static_cast<std::size_t>(way.draws);
    options_.push_back({way.unit,
                        {graph.portion_members.data() + way.first_portion, portions},
                        {graph.times_of(way, part, instance.layer), portions},
                        {graph.draw_resources.data() + way.first_draw, draws},
                        {graph.rates_of(way, part, instance.layer), draws},
                        way.least,
                        way.most});
  }
  const int chosen = policy_(unit_states_, instance.op, options_);
  if (chosen < 0 || chosen >= op.alternatives)
    throw std::invalid_argument("the placement policy chose alternative " + std::to_string(chosen) + " of " +
                                graph.names[static_cast<std::size_t>(instance.op)] + ", which has " +
                                std::to_string(op.alternatives));
  return chosen;
}

int earliest_free(std::span<const UnitState> units, int /*op*/, std::span<const PlacementOption> options) {
  int best = 0;
  Seconds soonest{};
  for (std::size_t o = 0; o < options.size(); ++o) {
    const PlacementOption& option = options[o];
    const UnitState& unit = units[static_cast<std::size_t>(option.unit)];
    Seconds free{};
    if (unit.amount > 0) {
      if (unit.waiting > 0 || unit.free < option.least * enough) free = unit.left[0] / unit.amount;
    } else {
      for (std::size_t i = 0; i < option.members.size(); ++i)
        if (option.times[i] > Seconds(0))
          free = std::max(free, unit.left[static_cast<std::size_t>(option.members[i])]);
    }
    if (o > 0 && !(free < soonest * clearly)) continue;
    best = static_cast<int>(o);
    soonest = free;
  }
  return best;
}

}  // namespace weir
