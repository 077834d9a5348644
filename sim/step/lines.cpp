#include "sim/step/lines.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace weir {
namespace {

bool same(double a, double b) {
  return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
}

struct PlayedAt : PlayedCost {
  std::int64_t step;
};

StepCost slope_between(const PlayedAt& from, const PlayedAt& to) {
  StepCost difference = to.cost;
  difference += -1. * from.cost;
  return 1. / static_cast<double>(to.step - from.step) * difference;
}

bool on_line(const PlayedAt& from, const StepCost& slope, const PlayedAt& played) {
  StepCost expected = from.cost;
  expected += static_cast<double>(played.step - from.step) * slope;
  return played.causes == from.causes && same(expected.time.value(), played.cost.time.value()) &&
         same(expected.moved[own_memory].value(), played.cost.moved[own_memory].value()) &&
         same(expected.energy.value(), played.cost.energy.value()) &&
         std::ranges::equal(expected.busy, played.cost.busy,
                            [](Seconds a, Seconds b) { return same(a.value(), b.value()); }) &&
         same(expected.prefetch.fetched.value(), played.cost.prefetch.fetched.value()) &&
         same(expected.prefetch.used.value(), played.cost.prefetch.used.value());
}

// Where the lines that begin at `from` and end at `to` meet, if that is between them: the one kink there may
// be. Parallel ones do not.
std::int64_t meeting(const PlayedAt& from, const PlayedAt& after, const PlayedAt& before,
                     const PlayedAt& to) {
  const double steps = static_cast<double>(to.step - from.step);
  const Seconds first = after.cost.time - from.cost.time, last = to.cost.time - before.cost.time;
  const double at = (to.cost.time - steps * last - from.cost.time) / (first - last);
  return at >= 1 && at < steps - 1 ? from.step + static_cast<std::int64_t>(at) : -1;
}

class Cutter {
 public:
  Cutter(const std::function<PlayedCost(std::int64_t)>& play, std::int64_t most, std::vector<StepRun>& runs)
      : play_(play), left_(most), runs_(runs) {}

  PlayedAt played(std::int64_t step) {
    const auto [at, first] = played_.try_emplace(step);
    if (first) {
      at->second = play_(step);
      --left_;
    }
    return {at->second, step};
  }

  // All steps from the first to the one before `last`, from left to right; true if it got there. What is
  // still to be cut is on a stack of its own: there may be a piece a step, and actors' stacks are small.
  bool cut(PlayedAt from, const PlayedAt& last) {
    std::vector<PlayedAt> ends = {last};
    while (!ends.empty()) {
      const PlayedAt& to = ends.back();
      const std::int64_t steps = to.step - from.step;
      if (steps > 1 && !is_line(from, to)) {
        ends.push_back(played(at_which_to_cut(from, to)));
        continue;
      }
      append(from, steps == 1 ? StepCost{} : slope_between(from, to), steps);
      if (left_ <= 0) return false;
      from = to;
      ends.pop_back();
    }
    return true;
  }

  void append(const PlayedAt& from, const StepCost& slope, std::int64_t steps) {
    runs_.push_back({from.cost, slope, steps});
    covered_ += steps;
  }

  std::int64_t covered() const { return covered_; }

 private:
  bool is_line(const PlayedAt& from, const PlayedAt& to) {
    if (from.causes != to.causes) return false;
    const Between between = std::max(from.between, to.between);
    if (between == Between::line) return true;
    const StepCost slope = slope_between(from, to);
    const std::int64_t steps = to.step - from.step;
    const auto on = [&](std::int64_t step) { return on_line(from, slope, played(step)); };
    if (between == Between::curve) return on(from.step + (steps <= 4 ? steps / 2 : 3 * steps / 8));
    const auto quarter = [&](std::int64_t k) { return steps <= 16 || on(from.step + k * steps / 4); };
    return on(from.step + steps / 2) && on(from.step + 1) && on(to.step - 1) && quarter(1) && quarter(3);
  }

  std::int64_t at_which_to_cut(const PlayedAt& from, const PlayedAt& to) {
    const std::int64_t middle = from.step + (to.step - from.step) / 2;
    if (to.step - from.step <= 4) return middle;
    const PlayedAt after = played(from.step + 1);
    if (after.causes != from.causes) return after.step;
    const PlayedAt before = played(to.step - 1);
    if (before.causes != to.causes) return before.step;
    const std::int64_t kink = meeting(from, after, before, to);
    return kink >= 0 ? kink : middle;
  }

  const std::function<PlayedCost(std::int64_t)>& play_;
  std::int64_t left_, covered_ = 0;
  std::vector<StepRun>& runs_;
  std::map<std::int64_t, PlayedCost> played_;
};

}  // namespace

std::int64_t append_lines(const std::function<PlayedCost(std::int64_t)>& play, std::int64_t steps,
                          std::int64_t most_played, std::vector<StepRun>& runs) {
  Cutter cutter(play, most_played, runs);
  const PlayedAt first = cutter.played(0);
  if (steps == 1) {
    cutter.append(first, {}, 1);
    return 1;
  }
  const PlayedAt last = cutter.played(steps - 1);
  if (cutter.cut(first, last)) cutter.append(last, {}, 1);
  return cutter.covered();
}

}  // namespace weir
