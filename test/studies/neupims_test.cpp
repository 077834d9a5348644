#include <catch2/catch.hpp>

#include <map>

#include "models/memory/pim/pim_costs.h"
#include "sim/plan/plan.h"
#include "sim/studies/neupims/study.h"
#include "test/serving/run_in_child.h"

using namespace weir;
using namespace weir::neupims;
using StudyRows = weir::neupims::Rows;

namespace {

std::map<std::string, ReproducedRow> by_id(const StudyRows& rows) {
  std::map<std::string, ReproducedRow> found;
  for (const ReproducedRow& row : rows) found[row.id] = row;
  return found;
}

}  // namespace

TEST_CASE("neupims: every model, machine and layout of the study is a scenario that holds, in both sets") {
  for (const Machine& machine : {npu_only, npu_pim, dual_buffers, balanced, interleaved, neupims::neupims})
    for (const Model& model : models)
      for (const char* assumptions : {"paper", "physical"}) {
        const Plan plan = read_plan(
            scenario_of({machine, model.name, model.tensor, model.pipeline, "alpaca", 64}, assumptions),
            "point");
        const Scenario& s = plan.scenario;
        CHECK(plan.replicas[0].rank.on->spec().kind == machine.device);
        CHECK(s.workload.in_generation);
        CHECK(std::ssize(s.workload.requests) == 10 * 64 * model.pipeline);
      }
}

TEST_CASE("neupims: Algorithm 1 is exact, and min-load placement evens the channels out") {
  StudyRows rows;
  add_estimates(rows);
  add_channel_loads(rows);
  const auto row = by_id(rows);
  for (const char* id : {"alg1_ceil_logit", "alg1_ceil_attend", "alg1_real_logit", "alg1_real_attend"})
    CHECK(row.at(id).within());
  for (const char* batch : {"128", "256"}) {
    const ReproducedRow &round = row.at(std::string("gmlbp_load_rr_") + batch),
                        &greedy = row.at(std::string("gmlbp_load_clb_") + batch);
    CHECK(*greedy.simulated < *round.simulated);
    CHECK(*greedy.physical < *round.physical);
    CHECK(*greedy.simulated >= 1);
  }
}

TEST_CASE("neupims: techniques order as published where the paper's constants are used", "[engine]") {
  Runs runs;
  const auto at = [](const Machine& machine, int batch) {
    return StudyPoint{machine, "gpt3-7b", 4, 1, "sharegpt", batch};
  };
  for (const Machine& machine : {npu_only, npu_pim, dual_buffers, balanced, interleaved, neupims::neupims})
    for (const int batch : {64, 512}) runs.want(at(machine, batch));
  runs.run({.reference = {}, .files = {}, .jobs = 2, .progress = {}});
  const auto paper = [&](const Machine& m, int batch) {
    return runs.at(at(m, batch)).paper.output_throughput;
  };
  const auto physical = [&](const Machine& m, int batch) {
    return runs.at(at(m, batch)).physical.output_throughput;
  };
  CHECK(paper(npu_only, 64) < paper(npu_pim, 64));
  CHECK(paper(npu_pim, 64) < paper(dual_buffers, 64));
  CHECK(paper(dual_buffers, 64) < paper(balanced, 64));
  CHECK(paper(interleaved, 64) < paper(balanced, 64));
  CHECK(paper(interleaved, 512) > paper(balanced, 512));
  for (const int batch : {64, 512}) {  // the better of both, every step
    CHECK(paper(neupims::neupims, batch) >=
          0.999 * std::max(paper(balanced, batch), paper(interleaved, batch)));
    CHECK(physical(neupims::neupims, batch) >=
          0.999 * std::max(physical(balanced, batch), physical(interleaved, batch)));
    CHECK(physical(dual_buffers, batch) >= 0.999 * physical(npu_pim, batch));
  }
}

TEST_CASE("neupims: what a run charges for PIM is the energy of its commands", "[engine]") {
  const Json document = scenario_of({dual_buffers, "gpt3-7b", 1, 1, "sharegpt", 64}, "physical");
  const Plan plan = read_plan(document, "point");
  PimCosts costs(find_memory(pim_memory_name));
  Joules commands(0);
  Flops on_pim(0);  // charged by command, not by flop
  for (const Request& request : plan.scenario.workload.requests)
    for (int step = 0; step < steps_of_a_batch; ++step) {
      const std::int64_t tokens = request.input_tokens + step;
      commands += 32 * costs.energy({PimOp::both, tokens, 32, 128}).total();
      on_pim += Flops(32. * 2 * 2 * 4096 * static_cast<double>(tokens));
    }
  const test::Outcome run = test::run(document);
  const PowerSpec& power = plan.replicas[0].rank.on->spec().power;
  const Joules rest =
      power.idle * Seconds(run.end) + power.dynamic(Flops(run.flops) - on_pim, Bytes(run.memory), Bytes(0));
  CHECK(run.energy - rest.value() == Approx(commands.value()).epsilon(0.001));
}

TEST_CASE("neupims: a channel of Table 5 draws what its reads, its PIM and its standby do", "[engine]") {
  Runs runs;
  want_utilisation(runs);
  runs.run({.reference = {}, .files = {}, .jobs = 2, .progress = {}});
  StudyRows rows;
  add_power(runs, rows);
  const auto row = by_id(rows);
  const auto &only = row.at("tab5_npuonly_mw"), &neu = row.at("tab5_neupims_mw"),
             &ratio = row.at("tab5_power_ratio"), &energy = row.at("tab5_energy_ratio");
  for (const auto of : {&ReproducedRow::simulated, &ReproducedRow::physical}) {
    // memory.md: standby 66 mW, 60.8 nJ a refresh of 3.9 us, 804 pJ a read of 64 B and 828 pJ a row at most.
    CHECK(*(only.*of) > 66 + 60.8e3 / 3900 - 2);
    CHECK(*(only.*of) < 66 + 60.8e3 / 3900 + 32 * (804. / 64 + 828. / 1024));
    CHECK(*(neu.*of) > *(only.*of));
    CHECK(*(ratio.*of) == Approx(*(neu.*of) / *(only.*of)));
    CHECK(*(energy.*of) < *(ratio.*of));
  }
  CHECK_FALSE(only.judged());
}

TEST_CASE("neupims: TransPIM's estimate takes one request at a time") {
  const auto rate = [](const char* model, int tensor, int pipeline, const char* dataset, int batch) {
    return transpim_rate(
        read_plan(scenario_of({npu_only, model, tensor, pipeline, dataset, batch}, "physical"), "point")
            .scenario);
  };
  const double one = rate("gpt3-7b", 4, 1, "alpaca", 64);
  CHECK(rate("gpt3-7b", 4, 1, "alpaca", 256) == Approx(one).epsilon(0.01));
  CHECK(rate("gpt3-7b", 4, 1, "sharegpt", 64) < one);
  CHECK(rate("gpt3-13b", 4, 1, "alpaca", 64) < one);
  CHECK(rate("gpt3-7b", 2, 1, "alpaca", 64) < one);
  CHECK(rate("gpt3-7b", 4, 2, "alpaca", 64) == Approx(2 * one).epsilon(0.05));  // stages work side by side
  // 13.2 GB of weights in rows of DRAM that COMPs read at 512 GB/s a channel at most.
  CHECK(one < 4 * 32 * 512e9 / 13.2e9);
}

TEST_CASE("neupims: the points that 32 GB a device do not hold are counted") {
  StudyRows rows;
  add_capacity(rows);
  const ReproducedRow row = by_id(rows).at("fig12_points_over_memory");
  // GPT3-175B over 32 devices: 10.2 GiB of weights, 0.148 MB of KV a token, 2,048 requests of 300 tokens.
  CHECK_THAT(row.note, Catch::Contains("GPT3-175B sharegpt") && Catch::Contains("512 (99)"));
  CHECK_THAT(row.note, !Catch::Contains("GPT3-7B"));
  CHECK(*row.simulated > 0);
  CHECK(*row.simulated < 40);
}

TEST_CASE("neupims: a run that fails costs the rows of its part and says why") {
  Runs runs;
  const StudyPoint nowhere{neupims::neupims, "no-such-model", 4, 1, "sharegpt", 64};
  runs.want(nowhere);
  runs.run({.reference = {}, .files = {}, .jobs = 1, .progress = {}});
  StudyRows rows;
  add_part(rows, "whole", [](StudyRows& more) { more.emplace_back().id = "other"; });
  add_part(rows, "broken", [&](StudyRows& more) {
    more.emplace_back().id = "half";
    runs.at(nowhere);
  });
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].id == "other");
  CHECK(rows[1].id == "broken");
  CHECK_FALSE(rows[1].within());
  CHECK_THAT(rows[1].note, Catch::Contains("no-such-model"));
}

TEST_CASE("neupims: the paper's set is slower once its collectives take NVLink's time", "[engine]") {
  const StudyPoint point{neupims::neupims, "gpt3-7b", 4, 1, "sharegpt", 64};
  const auto links = [&](const StudyPoint& p, const char* set) {
    return scenario_of(p, set)["cluster"]["nodes"][0]["interconnect"];
  };
  CHECK(links(point, "paper")["bandwidth_gb_per_s"] == 1e6);
  CHECK(links(over_nvlink(point), "paper") == links(point, "physical"));
  Runs runs;
  runs.want(point);
  runs.want_each(over_nvlink);
  runs.run({.reference = {}, .files = {}, .jobs = 2, .progress = {}});
  const Measured is = runs.at(point), then = runs.with_paper_of(over_nvlink).at(point);
  CHECK(then.paper.output_throughput < 0.99 * is.paper.output_throughput);
  CHECK(then.physical.output_throughput == is.physical.output_throughput);
}
