// StepResult::causes, by which runs of steps become lines: between two fillings that have the same ones, so
// has every filling, and times are on the line.
#include <catch2/catch.hpp>

#include "sim/step/timeline/timeline.h"
#include "test/step/timeline/random_step.h"
#include "test/step/timeline/small_step.h"

using namespace weir;
using namespace weir::test;

namespace {

// A random step without pools, and two fillings of it: every filling between the two lies on a line.
class Fillings {
 public:
  Fillings(std::mt19937_64& random, int round, bool draws)
      : graph_(random_step(random, {.pools = false,
                                    .draws = draws,
                                    .unlike = false,
                                    .carried = round % 2 == 0,
                                    .layers = round % 2 == 0 ? 40 : 0})),
        timeline_(graph_) {
    each_time([&](Seconds& time) {
      from_.push_back(time.value());
      to_.push_back(time.value() * (1 + uniform(random, 0, round % 3 == 0 ? 1 : 0.02)));
    });
  }

  StepResult at(double share) {
    std::size_t i = 0;
    each_time([&](Seconds& time) {
      time = Seconds(from_[i] + share * (to_[i] - from_[i]));
      ++i;
    });
    return timeline_.evaluate();
  }

 private:
  template <class Action>
  void each_time(const Action& action) {
    for (std::size_t op = 0; op < graph_.operators.size(); ++op)
      for (std::size_t way = 0; way < graph_.operators[op].alternatives.size(); ++way)
        for (Seconds& time : timeline_.times(static_cast<int>(op), static_cast<int>(way))) action(time);
  }

  StepGraph graph_;
  Timeline timeline_;
  std::vector<double> from_, to_;  // a time a portion, in the order of the graph
};

}  // namespace

TEST_CASE("timeline causes: between two fillings that share theirs, every time lies on the line",
          "[timeline]") {
  std::mt19937_64 random(31);
  int alike = 0, bent = 0;
  for (int round = 0; round < 3000; ++round) {
    Fillings filled(random, round, false);
    const StepResult first = filled.at(0), last = filled.at(1);
    for (const double share : {0.1, 0.37, 0.5, 0.8}) {
      const StepResult between = filled.at(share);
      const double line = (1 - share) * first.total.value() + share * last.total.value();
      CAPTURE(round, share);
      if (first.causes != last.causes) {
        bent += between.total.value() != Approx(line).epsilon(1e-6);
        continue;
      }
      ++alike;
      CHECK(between.causes == first.causes);
      CHECK(between.total.value() == Approx(line).epsilon(1e-9));
    }
  }
  CAPTURE(alike, bent);
  CHECK(alike > 1000);
  CHECK(bent > 1000);
}

TEST_CASE("timeline causes: where bandwidth is drawn, it is so between fillings that nobody was slowed in",
          "[timeline]") {
  std::mt19937_64 random(32);
  int alike = 0, slowed = 0;
  for (int round = 0; round < 6000; ++round) {
    Fillings filled(random, round, true);
    const StepResult first = filled.at(0), last = filled.at(1);
    slowed += first.slowed;
    if (first.causes != last.causes || first.slowed || last.slowed) continue;
    ++alike;
    for (const double share : {0.1, 0.37, 0.5, 0.8}) {
      const StepResult between = filled.at(share);
      CAPTURE(round, share);
      CHECK(between.causes == first.causes);
      CHECK_FALSE(between.slowed);
      CHECK(between.total.value() ==
            Approx((1 - share) * first.total.value() + share * last.total.value()).epsilon(1e-9));
    }
  }
  CAPTURE(alike, slowed);
  CHECK(alike > 300);
  CHECK(slowed > 300);
}

TEST_CASE("timeline causes: whoever waits for somebody else, or beside somebody else, shows") {
  // Two operators on a unit each, and a third that waits for both.
  const auto causes = [](double first, double second, double rate) {
    StepGraph step;
    const int units[] = {step.add_unit("a"), step.add_unit("b"), step.add_unit("c")};
    const int memory = step.add_resource("memory", BytesPerSecond(10));
    step.add_part("step");
    const int a = step.add_operator("a", {on(units[0], first, {{memory, BytesPerSecond(rate)}})}),
              b = step.add_operator("b", {on(units[1], second, {{memory, BytesPerSecond(rate)}})}),
              c = step.add_operator("c", {on(units[2], 1)});
    step.add_edge(a, c);
    step.add_edge(b, c);
    return Timeline(step).evaluate().causes;
  };
  CHECK(causes(1, 2, 1) == causes(1.5, 7, 1));
  CHECK(causes(1, 2, 1) != causes(2, 1, 1));
  CHECK(causes(1, 2, 1) != causes(1, 2, 9));  // slowed, and then no more
}

TEST_CASE("timeline causes: two that pass each other on the memory show, though neither end has them meet") {
  const auto causes = [](double before_a, double before_b) {
    StepGraph step;
    const int memory = step.add_resource("memory", BytesPerSecond(10));
    step.add_part("step");
    for (const double before : {before_a, before_b}) {
      const int wait = step.add_operator("wait", {on(step.add_unit("w"), before)}),
                read = step.add_operator("read", {on(step.add_unit("r"), 1, {{memory, BytesPerSecond(9)}})});
      step.add_edge(wait, read);
    }
    const StepResult result = Timeline(step).evaluate();
    CHECK_FALSE(result.slowed);
    return result.causes;
  };
  CHECK(causes(1, 3) != causes(3, 1));
}
