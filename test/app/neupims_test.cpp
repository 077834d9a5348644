#include <catch2/catch.hpp>

#include <map>

#include "sim/app/reproduce/neupims/study.h"
#include "sim/engine/scenario.h"

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
        const Scenario s = read_scenario(
            scenario_of({machine, model.name, model.tensor, model.pipeline, "alpaca", 64}, assumptions),
            "point");
        CHECK(s.replicas[0].on->spec().kind == machine.device);
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
