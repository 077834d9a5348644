// Runs of played steps cut into lines: the sum of any run is that of its steps one by one.
#include <algorithm>
#include <catch2/catch.hpp>

#include "sim/step/lines.h"
#include "sim/studies/validation/kernels.h"
#include "test/models/llm/models.h"
#include "test/policies/make_policy.h"
#include "test/step/played_step.h"
#include "test/step/timeline/random_step.h"

using namespace weir;
using namespace weir::test;

namespace {

PlayedCost of_time(double seconds) {
  return {{.time = Seconds(seconds), .moved = {Bytes(7)}}};
}

struct Cut {
  std::vector<StepRun> runs;
  std::int64_t covered = 0, played = 0;
};

Cut cut(const std::function<double(std::int64_t)>& time, std::int64_t steps, std::int64_t most = 1000000) {
  Cut result;
  const auto play = [&](std::int64_t step) {
    REQUIRE((step >= 0 && step < steps));
    ++result.played;
    return of_time(time(step));
  };
  result.covered = append_lines(play, steps, most, result.runs);
  return result;
}

double total(const Cut& cut) {
  double sum = 0;
  std::int64_t steps = 0;
  for (const StepRun& run : cut.runs) {
    sum += run.total(run.steps).time.value();
    steps += run.steps;
  }
  CHECK(steps == cut.covered);
  return sum;
}

}  // namespace

TEST_CASE("lines: kinks and jumps anywhere, the sum is that of the steps") {
  std::mt19937_64 random(11);
  for (int round = 0; round < 300; ++round) {
    const auto steps = uniform_int(random, 1, 3000);
    std::vector<std::int64_t> breaks(static_cast<std::size_t>(uniform_int(random, 0, 4)));
    for (auto& b : breaks) b = uniform_int(random, 0, steps);
    const bool jumps = round % 2;
    const auto time = [&](std::int64_t step) {  // rises faster, or jumps up, at each break
      double value = 1 + 1e-4 * static_cast<double>(step);
      for (const auto b : breaks)
        if (step > b) value += jumps ? 0.1 : 3e-4 * static_cast<double>(step - b);
      return value;
    };
    const Cut lines = cut(time, steps);
    CHECK(lines.covered == steps);
    double sum = 0;
    for (std::int64_t step = 0; step < steps; ++step) sum += time(step);
    CHECK(total(lines) == Approx(sum).epsilon(1e-9));
    CHECK(lines.played <= 7 + 70 * std::ssize(breaks));
  }
}

TEST_CASE("lines: bumps of a few steps, up and down again, in runs of a few") {
  std::mt19937_64 random(12);
  for (int round = 0; round < 2000; ++round) {
    const auto steps = uniform_int(random, 1, 12), from = uniform_int(random, 0, steps),
               to = uniform_int(random, from, steps);
    const auto time = [&](std::int64_t step) {
      return 1 + 1e-3 * static_cast<double>(step) + (step >= from && step < to ? 0.01 : 0);
    };
    double sum = 0;
    for (std::int64_t step = 0; step < steps; ++step) sum += time(step);
    CAPTURE(steps, from, to);
    const auto seen = [&](std::int64_t step) { return step >= from && step < to; };
    const bool hidden =
        !seen(0) && !seen(1) && !seen((steps - 1) / 2) && !seen(steps - 2) && !seen(steps - 1);
    if (!hidden || steps <= 5) CHECK(total(cut(time, steps)) == Approx(sum).epsilon(1e-9));
  }
}

TEST_CASE("lines: a straight run is played at seven steps, and no more than allowed of a crooked one") {
  const Cut straight = cut([](std::int64_t step) { return 2. + static_cast<double>(step); }, 5000);
  CHECK(straight.runs.size() == 2);
  CHECK(straight.played == 7);
  const auto crooked = [](std::int64_t step) { return 1 + static_cast<double>(step * step % 17); };
  const Cut some = cut(crooked, 5000, 100);
  CHECK(some.played <= 120);
  CHECK((some.covered >= 30 && some.covered < 5000));
  double sum = 0;
  for (std::int64_t step = 0; step < some.covered; ++step) sum += crooked(step);
  CHECK(total(some) == Approx(sum).epsilon(1e-12));
}

TEST_CASE("lines: a run of a hundred thousand pieces takes no more of the stack than one of few") {
  const auto play = [](std::int64_t step) {
    PlayedCost cost = of_time(1 + static_cast<double>(step % 7));
    cost.causes = static_cast<std::uint64_t>(step);
    return cost;
  };
  std::vector<StepRun> runs;
  constexpr std::int64_t steps = 100'000;  // eight megabytes, were each a call within the one before
  CHECK(append_lines(play, steps, 2 * steps, runs) == steps);
  CHECK(runs.size() == steps);
}

TEST_CASE("lines: causes that tell all take two plays a line and find every kink, a curve takes a third") {
  std::mt19937_64 random(13);
  for (int round = 0; round < 300; ++round) {
    const auto steps = uniform_int(random, 100, 3000);
    const bool curved = round % 2;
    std::vector<std::int64_t> breaks(static_cast<std::size_t>(uniform_int(random, 0, 4)));
    for (auto& b : breaks) b = uniform_int(random, 0, steps);
    const auto time = [&](std::int64_t step) {  // rises faster, and jumps up, at each break
      double value = 1 + 1e-4 * static_cast<double>(step);
      for (const auto b : breaks)
        if (step > b) value += 0.1 + 3e-4 * static_cast<double>(step - b);
      return value;
    };
    std::int64_t played = 0;
    const auto play = [&](std::int64_t step) {
      ++played;
      const auto passed = std::ranges::count_if(breaks, [&](std::int64_t b) { return step > b; });
      return PlayedCost{of_time(time(step)).cost, static_cast<std::uint64_t>(passed),
                        curved ? Between::curve : Between::line};
    };
    Cut lines;
    lines.covered = append_lines(play, steps, 1000000, lines.runs);
    CAPTURE(steps, breaks, curved);
    CHECK(lines.covered == steps);
    double sum = 0;
    for (std::int64_t step = 0; step < steps; ++step) sum += time(step);
    CHECK(total(lines) == Approx(sum).epsilon(1e-12));
    CHECK(played <= 2 + curved + 40 * std::ssize(breaks));
  }
}

TEST_CASE("lines: what is bent between two with the same causes is cut, where it may be a curve") {
  const auto time = [](std::int64_t step) { return 1 + 1 / (1 + 1e-3 * static_cast<double>(step)); };
  std::int64_t played = 0;
  const auto play = [&](std::int64_t step) {
    ++played;
    return PlayedCost{of_time(time(step)).cost, 1, Between::curve};
  };
  Cut lines;
  lines.covered = append_lines(play, 1000, 1000000, lines.runs);
  double sum = 0;
  for (std::int64_t step = 0; step < 1000; ++step) sum += time(step);
  CHECK(total(lines) == Approx(sum).epsilon(1e-9));
}

TEST_CASE("lines: steps with prefetches, across the moment when the KV cache no longer fits", "[engine]") {
  Rank replica = replica_on("h100_sxm", "nvlink4_switch", "");
  replica.links = {.name = "ring",
                   .shape = LinkShape::ring,
                   .bandwidth = BytesPerSecond(25e9),
                   .latency = Seconds(25e-6),
                   .latency_once = true};
  replica.collectives = make_collectives(replica.links, "");
  replica.engine = {};
  for (const double l2_mb : {8., 40., 104., 160.})
    for (const bool aware : {false, true}) {
      replica.on = catalog_device("l2_npu", {{"l2_mb", l2_mb}});
      const Json json = {{"kind", "preserve"}, {"window_aware", aware}};
      Reading reading("test");
      replica.prefetch = make_from(prefetch_policies(), Params(reading, json), {"kind", "which"});
      const StageGraph placed =
          place(replica,
                build_stage(catalog_model("llama3-8b"),
                            {DataType::int8, DataType::int8, DataType::int8, DataType::int8}, {8, 1, 1}, 0));
      const StepModel model(replica, placed, false);
      BatchShape shape;
      shape.decodes = shape.sequences = 16;
      shape.decode_context_max = 1000;
      shape.decode_context_sum = 16000;
      const std::int64_t steps = 12000;
      std::vector<StepRun> runs;
      for (std::int64_t covered = 0; covered < steps;) {  // as often as it stops short
        BatchShape later = shape;
        later.decode_context_sum += 16 * covered;
        later.decode_context_max += covered;
        covered += model.decode_run({later}, steps - covered, runs);
      }
      CAPTURE(l2_mb, aware, runs.size());
      CHECK(runs.size() < 200);
      StepCost lines, one_by_one;
      for (const StepRun& run : runs) lines += run.total(run.steps);
      for (std::int64_t step = 0; step < steps; ++step) {
        one_by_one += model.step({shape});
        shape.decode_context_sum += 16;
        ++shape.decode_context_max;
      }
      check_near(lines.time, one_by_one.time);
      check_near(lines.energy, one_by_one.energy);
      check_near(lines.moved[own_memory], one_by_one.moved[own_memory]);
      check_near(lines.prefetch.fetched, one_by_one.prefetch.fetched);
      check_near(lines.prefetch.used, one_by_one.prefetch.used);
      check_near(lines.busy[0], one_by_one.busy[0]);
    }
}
