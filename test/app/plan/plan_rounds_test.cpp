// The search of weir plan runs few deployments; its answer must be that of running all of them. Outcomes are
// drawn, so that ties, failures and services of which none meets the SLO all come up.
#include <catch2/catch.hpp>
#include <random>

#include "sim/app/interruption.h"
#include "sim/app/plan/outcome.h"
#include "sim/app/results/metric.h"
#include "test/app/plan/plan_files.h"

using namespace weir;
using namespace weir::test;

namespace {

struct Drawn {
  bool met, failed;
  double devices, latency_ms;

  Json summary() const {
    return {{"meets_slo", met ? 1 : 0},   {"device_count", devices},
            {"mean_e2el_ms", latency_ms}, {"p99_ttft_ms", met ? 100. : 300 * devices},
            {"p99_tpot_ms", 10.},         {"bound", {{"by", "memory"}}}};
  }
};

struct Drawing {
  std::mt19937 random;
  int of(int most) { return std::uniform_int_distribution(0, most)(random); }
};

// A deployment's least number of devices is a bound; a run of it may find more.
Drawn draw(Drawing& draw, double least, int chance_of_meeting) {
  return {draw.of(9) < chance_of_meeting, draw.of(9) == 0, least + std::max(0, draw.of(4) - 2),
          10. + draw.of(2)};
}

Deployments deployments(Drawing& draw, const PlanQuestion& question, int count) {
  Deployments made;
  for (int i = 0; i < count; ++i) {
    Deployment d;
    d.name = fmt::format("deployment {}", i);
    d.pools.resize(draw.of(1) ? 2 : 1);
    d.replicas = {{{"parallelism", {{"tensor", 1}}}}};
    d.precision = question.precisions[0];
    d.least = 1 + draw.of(5);
    made.all.push_back(d);
  }
  std::ranges::stable_sort(made.all, {}, &Deployment::least);
  return made;
}

PlanQuestion question_by_devices(int top) {
  PlanArguments arguments;
  arguments.file = "question.json";
  arguments.devices = "4xh100_sxm";
  arguments.objective = "devices";
  arguments.top = top;
  return read_question(plan_question(4, 200, 15), arguments);
}

// All that ran to their end and meet the SLO, the best first: fewer devices, then less latency, then as
// listed.
std::vector<std::size_t> best_of(const std::vector<Drawn>& drawn) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < drawn.size(); ++i)
    if (drawn[i].met && !drawn[i].failed) order.push_back(i);
  std::ranges::stable_sort(order, {},
                           [&](std::size_t i) { return std::pair(drawn[i].devices, drawn[i].latency_ms); });
  return order;
}

std::string name_of(const std::optional<RankedDeployment>& row) {
  return row ? row->deployment->name : "";
}

}  // namespace

TEST_CASE("plan: whatever its runs give, few of them find what all of them would") {
  Drawing dice{std::mt19937(7)};
  const Interruption interruption;
  std::size_t ran = 0, all = 0;
  for (int round = 0; round < 150; ++round) {
    const PlanQuestion question = question_by_devices(1 + dice.of(3));
    const Deployments given = deployments(dice, question, 1 + dice.of(19));
    const int chance = dice.of(9);
    std::vector<Drawn> drawn;
    for (const Deployment& d : given.all) drawn.push_back(draw(dice, d.least, chance));
    const Sweep sweep = sweep_of(question, given);
    const ScratchDirectory scratch;
    SweepDirectory directory(scratch / "plan", sweep, false);
    const RunPoints made_up = [&](const auto& points, const auto& ended, const auto&) {
      for (const std::size_t point : points) {
        const Drawn& d = drawn[point];
        ended(point, d.failed ? EndedPoint{"it died", ""} : EndedPoint{"", d.summary().dump()});
      }
    };
    const PlanSearch found = search(question, given, sweep, directory, made_up, interruption, [](auto) {});
    const PlanOutcome outcome = outcome_of(question, given, found);
    const std::vector<std::size_t> best = best_of(drawn);
    INFO("round " << round << ", top " << question.top);
    CHECK(found.results.points.size() + found.counts.not_needed == given.all.size());
    ran += found.results.points.size();
    all += given.all.size();
    if (best.empty()) {
      CHECK(outcome.met == 0);
      CHECK(found.counts.not_needed == 0);
      continue;
    }
    const std::size_t top = std::min(best.size(), static_cast<std::size_t>(question.top));
    REQUIRE(outcome.ranked.size() == top);
    for (std::size_t i = 0; i < top; ++i) CHECK(outcome.ranked[i].deployment == &given.all[best[i]]);
    for (const bool apart : {false, true}) {
      const auto first =
          std::ranges::find_if(best, [&](std::size_t i) { return given.all[i].apart() == apart; });
      CHECK(name_of(apart ? outcome.apart : outcome.together) ==
            (first == best.end() ? "" : given.all[*first].name));
    }
  }
  CHECK(ran < all * 9 / 10);
}

TEST_CASE("plan: where none meets the SLO, the nearest are those whose worse time is nearest") {
  Drawing dice{std::mt19937(3)};
  const PlanQuestion question = question_by_devices(10);  // TTFT 200 ms, TPOT 15 ms
  const Deployments given = deployments(dice, question, 4);
  const auto missed = [](std::int64_t index, double ttft_ms, double tpot_ms) {
    return PointResult{index,
                       {},
                       "done",
                       "",
                       {{"meets_slo", 0},
                        {"device_count", 4 - index},
                        {"mean_e2el_ms", 10.},
                        {"p99_ttft_ms", ttft_ms},
                        {"p99_tpot_ms", tpot_ms},
                        {"bound", {{"by", "memory"}}}}};
  };
  PlanSearch found;
  found.results.points = {missed(0, 100, 30), missed(1, 300, 5), missed(2, 250, 18), missed(3, 240, 19.5)};
  const PlanOutcome outcome = outcome_of(question, given, found);
  std::vector<const Deployment*> order;
  for (const RankedDeployment& row : outcome.ranked) order.push_back(row.deployment);
  // 2, 1.5, 1.25 and 1.3 times what is allowed.
  CHECK(order == std::vector<const Deployment*>{&given.all[2], &given.all[3], &given.all[1], &given.all[0]});
  CHECK(outcome.met == 0);
}
