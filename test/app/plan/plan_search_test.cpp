// Answers of weir plan against trying everything: a sweep over every layout, number of replicas and ratio,
// each run to its end.
#include <catch2/catch.hpp>

#include "sim/app/plan/deployments.h"
#include "sim/app/ranking/objective.h"
#include "sim/app/results/metric.h"
#include "test/app/plan/plan_files.h"

using namespace weir;
using namespace weir::test;

namespace {

struct TriedLayout {
  int tensor, pipeline;
  int devices() const { return tensor * pipeline; }
};

Json tried_replica(const char* role, const TriedLayout& layout, int count) {
  return {{"count", count},
          {"role", role},
          {"parallelism", {{"tensor", layout.tensor}, {"pipeline", layout.pipeline}}}};
}

// By hand, and not by what the plan enumerates.
Json every_deployment(int devices) {
  std::vector<TriedLayout> layouts;
  for (int t = 1; t <= devices; t *= 2)
    for (int p = 1; t * p <= devices; p *= 2) layouts.push_back({t, p});
  Json all = Json::array();
  for (const TriedLayout& a : layouts)
    for (int n = 1; n * a.devices() <= devices; ++n) {
      all.push_back({tried_replica("both", a, n)});
      for (const TriedLayout& b : layouts)
        for (int m = 1; n * a.devices() + m * b.devices() <= devices; ++m)
          all.push_back({tried_replica("prefill", a, n), tried_replica("decode", b, m)});
    }
  return all;
}

Json exhaustive_sweep(const Json& question, int devices, bool give_up) {
  Json scenario = question;
  scenario.erase("plan");
  scenario["cluster"] = {
      {"nodes",
       {{{"devices", {{{"kind", "h100_sxm"}, {"count", devices}}}}, {"interconnect", "nvlink4_switch"}}}}};
  return {{"scenario", std::move(scenario)},
          {"vary", {{"/serving/replicas", every_deployment(devices)}}},
          {"invalid", "skip"},
          {"cheapest",
           {{"ttft_ms", question["slo"]["ttft_ms"]},
            {"tpot_ms", question["slo"]["tpot_ms"]},
            {"give_up", give_up}}}};
}

// tensor, pipeline and count of each pool.
std::string pools_in_words(const Json& replicas) {
  std::string text;
  for (const Json& r : replicas) {
    const Json& cut = r.contains("parallelism") ? r["parallelism"] : r;
    text += fmt::format("{} {} {} {};", r["role"].get<std::string>(),
                        (r.contains("count") ? r["count"] : r["replicas"]).dump(), cut["tensor"].dump(),
                        cut["pipeline"].dump());
  }
  return text;
}

struct Tried {
  std::string pools;
  bool apart, met;
  Json summary;

  std::pair<double, double> place(const Objective& objective) const {
    return place_by(metric_of(summary, objective.metric), metric_of(summary, tie_metric));
  }
};

std::vector<Tried> try_everything(const ScratchDirectory& scratch, const Json& question, int devices,
                                  bool give_up = false) {
  const std::string file = write_json(scratch / "sweep.json", exhaustive_sweep(question, devices, give_up));
  const Ended ended = run_weir({"sweep", file, "--out", (scratch / "sweep").string(), "--quiet"});
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  std::vector<Tried> tried;
  for (const PointResult& point : read_results(scratch / "sweep").points) {
    const Json& replicas = *value_of(point.varied, "/serving/replicas");
    tried.push_back(
        {pools_in_words(replicas), replicas.size() > 1, point.summary["meets_slo"] == 1, point.summary});
  }
  return tried;
}

std::vector<Tried> best_first(std::vector<Tried> tried, const Objective& objective) {
  std::erase_if(tried, [](const Tried& t) { return !t.met; });
  std::ranges::stable_sort(tried, {}, [&](const Tried& t) { return t.place(objective); });
  return tried;
}

std::set<std::string> kept_by_plan(const Json& question, int devices, const std::string& objective) {
  PlanArguments arguments;
  arguments.file = "question.json";
  arguments.devices = fmt::format("{}xh100_sxm", devices);
  arguments.objective = objective;
  const PlanQuestion read = read_question(question, arguments);
  std::set<std::string> kept;
  for (const Deployment& d : deployments_of(read).all) kept.insert(pools_in_words(d.replicas));
  return kept;
}

}  // namespace

TEST_CASE(
    "plan: it finds what trying everything finds, by every objective, and leaves out nothing that serves") {
  struct Case {
    Json question;
    int devices;
  };
  const std::vector<Case> cases = {
      {plan_question(40, 200, 15), 4}, {plan_question(70, 500, 25), 4}, {plan_question(100, 400, 20), 4}};
  std::size_t left_out = 0;
  for (const Case& one : cases) {
    const ScratchDirectory scratch;
    const std::vector<Tried> tried = try_everything(scratch, one.question, one.devices);
    for (const Objective& objective : objectives()) {
      INFO(one.question.dump() << " by " << objective.name);
      const std::vector<Tried> best = best_first(tried, objective);
      REQUIRE(best.size() > 2);
      CHECK(best.size() < tried.size());
      const std::set<std::string> kept = kept_by_plan(one.question, one.devices, objective.name);
      left_out += tried.size() - kept.size();
      for (const Tried& t : best) CHECK(kept.contains(t.pools));

      const Ended ended = run_plan_of(scratch, one.question,
                                      {"--devices", fmt::format("{}xh100_sxm", one.devices), "--objective",
                                       objective.name, "--top", "3", "--quiet"});
      INFO(ended.err);
      REQUIRE(ended.code == 0);
      const Json found = read_json_file(scratch / "out/plan.json");
      REQUIRE(found["ranked"].size() == 3);
      for (std::size_t i = 0; i < 3; ++i) {
        CHECK(pools_in_words(found["ranked"][i]["pools"]) == best[i].pools);
        CHECK(found["ranked"][i][objective.name].get<double>() == Approx(best[i].place(objective).first));
      }
      for (const bool apart : {false, true}) {
        const auto first = std::ranges::find(best, apart, &Tried::apart);
        CHECK(found[apart ? "best_apart" : "best_together"].is_null() == (first == best.end()));
      }
    }
  }
  CHECK(left_out > 20);
}

TEST_CASE(
    "plan: a run that is given up would not have met the SLO, and one that is not has the same results") {
  const ScratchDirectory whole, early;
  const Json question = plan_question(40, 150, 12);
  const std::vector<Tried> all = try_everything(whole, question, 4);
  const std::vector<Tried> some = try_everything(early, question, 4, true);
  REQUIRE(all.size() == some.size());
  int given_up = 0;
  const ResultSet results = read_results(early / "sweep");
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(all[i].met == some[i].met);
    if (all[i].met) CHECK(all[i].place(objectives()[0]) == some[i].place(objectives()[0]));
    if (!results.points[i].summary.contains("given_up_after")) continue;
    ++given_up;
    CHECK_FALSE(all[i].met);
    CHECK(results.points[i].summary["given_up_after"] < 150);
  }
  CHECK(given_up > 5);
}
