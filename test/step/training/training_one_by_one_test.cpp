// How far training steps and their operators overlap, with and without the operation pipeline.
#include <catch2/catch.hpp>

#include "test/step/training/random_training.h"

using namespace weir;
using namespace weir::test;

namespace {

constexpr std::int64_t steps = 5;

// One step, all its operators but those that take no time and belong to none.
struct PlayedSpan {
  Seconds start = Seconds(1e300), end;
};

std::vector<PlayedSpan> spans_of_steps(const TrainingPlan& plan, const std::vector<OperatorRecord>& trace) {
  std::vector<PlayedSpan> spans(static_cast<std::size_t>(plan.graph.parts.front().layers));
  for (const OperatorRecord& record : trace) {
    if (record.start == record.finish) continue;
    PlayedSpan& span = spans[static_cast<std::size_t>(record.layer)];
    span.start = std::min(span.start, record.start);
    span.end = std::max(span.end, record.finish);
  }
  return spans;
}

}  // namespace

TEST_CASE("training: without the operation pipeline operators never overlap, and all steps are alike",
          "[training]") {
  int compared = 0;
  for_random_trainings(13, 60, [&](const TrainingCase& it) {
    if (it.runtime.policy->operation_pipeline()) return;
    CAPTURE(it.round, it.runtime.name, it.random.described);
    const TrainingStep step = it.run(steps);
    std::vector<OperatorRecord> trace = step.trace();
    const std::vector<PlayedSpan> spans = spans_of_steps(step.plan(), trace);
    std::ranges::stable_sort(trace, [](const auto& a, const auto& b) { return a.start < b.start; });
    Seconds until;  // the end of all vertices but the one that runs
    Seconds now;
    int running = -1;
    bool apart = true;
    for (const OperatorRecord& record : trace) {
      if (record.start == record.finish) continue;
      const int vertex = step.plan().vertex_of[static_cast<std::size_t>(record.op)];
      if (vertex != running) until = now;
      running = vertex;
      apart &= record.start >= until;
      now = std::max(now, record.finish);
    }
    CHECK(apart);
    for (std::size_t i = 1; i < spans.size(); ++i) {
      CHECK(spans[i].start >= spans[i - 1].end);
      CHECK((spans[i].end - spans[i].start).value() ==
            Approx((spans[0].end - spans[0].start).value()).epsilon(1e-9));
    }
    ++compared;
  });
  CHECK(compared > 500);
}

TEST_CASE("training: with the operation pipeline no step begins before the one before the last has ended",
          "[training]") {
  int compared = 0, overlapping = 0;
  for_random_trainings(14, 100, [&](const TrainingCase& it) {
    if (!it.runtime.policy->operation_pipeline()) return;
    CAPTURE(it.round, it.runtime.name, it.random.described);
    const TrainingStep step = it.run(steps);
    const std::vector<PlayedSpan> spans = spans_of_steps(step.plan(), step.trace());
    for (std::size_t i = 1; i < spans.size(); ++i) {
      CHECK((i < 2 || spans[i].start >= spans[i - 2].end));
      overlapping += spans[i].start < spans[i - 1].end;
    }
    ++compared;
  });
  CHECK(compared == 600);
  CHECK(overlapping > 500);
}
