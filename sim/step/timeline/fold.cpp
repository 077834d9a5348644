// Layer folding: the state at the start of a layer is compared with that at the start of an earlier one.
// Where they agree, all that follows agrees too, until the last layer lets nothing into a next one: so the
// layers between are skipped, and the last ones are played. Stopping instead, and extrapolating the end, is
// wrong by 1.5e-3. Layers whose operators turn round a unit's members repeat too: a state is told by who runs
// and who waits, and what is true of one layer's members is true of those a place on in the next.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/step/timeline/player.h"

namespace weir {
namespace {
constexpr double same = 1e-12;  // relative to the time between the two
}

// Brent's cycle search: one reference, replaced after 1, 2, 4, ... layers, finds a period of any length.
void Timeline::Player::fold(int p) {
  begun_ = -1;
  for (Running& running : running_) catch_up(running);
  if (!take_snapshot(p, current_)) return;
  if (reference_.part != p) {
    patience_ = 1;
  } else if ((current_.layer - reference_.layer) % parts_[static_cast<std::size_t>(p)].turn == 0 &&
             same_state(reference_, current_)) {
    skip(reference_, current_);
    return;
  } else if (current_.layer - reference_.layer < patience_) {
    return;
  } else {
    patience_ *= 2;
  }
  std::swap(reference_, current_);
}

// False while operators of other parts run or wait: layers cannot repeat yet.
bool Timeline::Player::take_snapshot(int p, Snapshot& into) const {
  const auto& part = graph.parts[static_cast<std::size_t>(p)];
  const PartState& state = parts_[static_cast<std::size_t>(p)];
  const int first = part.first_instance, last = first + static_cast<int>(part.layers) * part.operators;
  const int origin = first + static_cast<int>(state.begun) * part.operators;
  into.part = p;
  into.layer = state.begun;
  into.low = state.low - state.begun;
  into.time = now_;
  into.items.clear();
  for (const Running& running : running_) {
    if (running.id < first || running.id >= last) return false;
    into.items.push_back({running.id - origin, running.alternative, running.progress, running.amount});
  }
  for (const Queue& queue : queues_) {
    for (const Waiting& waiting : queue.waiting) {
      if (waiting.id < first || waiting.id >= last) return false;
      into.items.push_back({waiting.id - origin, waiting.alternative, -1, 0});
    }
  }
  into.waits.assign(waits_.begin() + first + state.low * part.operators,
                    waits_.begin() + first + state.touched * part.operators);
  if (graph.followed)
    into.chosen.assign(chosen_.begin() + first + state.low * part.operators,
                       chosen_.begin() + first + state.touched * part.operators);
  into.held.assign(held_.begin(), held_.end());
  into.bytes.assign(bytes_.begin(), bytes_.end());
  into.runs = result_.runs;
  return true;
}

bool Timeline::Player::same_state(const Snapshot& a, const Snapshot& b) {
  const double tolerance = same * (b.time - a.time);
  const auto alike = [&](const Snapshot::Item& x, const Snapshot::Item& y) {
    return x.id == y.id && x.way == y.way && std::abs(x.progress - y.progress) <= tolerance &&
           std::abs(x.amount - y.amount) <= same * y.amount;
  };
  return a.low == b.low && a.waits == b.waits && a.chosen == b.chosen &&
         std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(), alike);
}

// 1, unless something of a unit on which others turn stays on some of its members, or on all with unlike
// times: then as many layers as that unit has members.
std::int64_t Timeline::Player::turn_of(const FlatGraph::Part& part) const {
  std::int64_t turn = 1;
  for (const int a : part.staying) {
    const auto& way = graph.alternatives[static_cast<std::size_t>(a)];
    const int members = graph.units[static_cast<std::size_t>(way.unit)].members;
    const Seconds* times = graph.times_of(way, part, 0);
    if (way.portions < members ||
        std::any_of(times, times + way.portions, [&](Seconds t) { return t != *times; }))
      turn = std::lcm(turn, std::int64_t{members});
  }
  return turn;
}

// Where layers turn, each period's members are as many places on; and so are those of all that is still
// played, whose layers are numbered as if nothing had been skipped.
void Timeline::Player::hold_skipped(const Snapshot& from, const Snapshot& to, std::int64_t periods) {
  const std::int64_t period = to.layer - from.layer, skipped = periods * period;
  for (const auto& unit : graph.units) {
    double* held = held_.data() + unit.first_member;
    const auto gained = [&](int m) {
      const auto at = static_cast<std::size_t>(unit.first_member + m);
      return to.held[at] - from.held[at];
    };
    for (int m = 0; m < unit.members; ++m)
      if (!unit.turns)
        held[m] += static_cast<double>(periods) * gained(m);
      else
        for (std::int64_t i = 1; i <= periods; ++i) held[(m + i * period) % unit.members] += gained(m);
    if (unit.turns) std::rotate(held, held + skipped % unit.members, held + unit.members);
  }
  turned_ += skipped;
}

// Marked operators end in every period as they did in the one between the two.
void Timeline::Player::mark_skipped(const Snapshot& from, const Snapshot& to, std::int64_t periods) {
  if (marks_ == nullptr) return;
  std::vector<MarkedEnd> period;
  for (const MarkedEnd& mark : *marks_)
    if (const double at = mark.at.value() - skipped_; at > from.time && at <= to.time) period.push_back(mark);
  for (std::int64_t i = 1; i <= periods; ++i)
    for (const MarkedEnd& mark : period)
      marks_->push_back({mark.op, mark.at + Seconds(static_cast<double>(i) * (to.time - from.time))});
}

void Timeline::Player::skip(const Snapshot& from, const Snapshot& to) {
  PartState& state = parts_[static_cast<std::size_t>(to.part)];
  state.folds = false;
  reference_.part = -1;
  const std::int64_t period = to.layer - from.layer;
  // In what is skipped no operator of the last layer may complete: it would let nothing into a next layer.
  const std::int64_t periods = (state.layers - 2 - state.latest_done) / period;
  if (periods <= 0) return;
  const auto times = static_cast<double>(periods);
  state.layers -= periods * period;
  mark_skipped(from, to, periods);
  skipped_ += times * (to.time - from.time);
  hold_skipped(from, to, periods);
  for (std::size_t r = 0; r < bytes_.size(); ++r) bytes_[r] += times * (to.bytes[r] - from.bytes[r]);
  for (std::size_t a = 0; a < result_.runs.size(); ++a)
    result_.runs[a] += periods * (to.runs[a] - from.runs[a]);
  result_.skipped_layers += periods * period;
}

}  // namespace weir
