#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "sim/app/reproduce/l3/study.h"
#include "sim/engine/scenario.h"
#include "test/app/scratch_directory.h"

using namespace weir;
using namespace weir::l3;
using StudyRows = weir::l3::Rows;

namespace {

std::map<std::string, ReproducedRow> by_id(const StudyRows& rows) {
  std::map<std::string, ReproducedRow> found;
  for (const ReproducedRow& row : rows) CHECK(found.emplace(row.id, row).second);
  return found;
}

std::vector<System> all_systems() {
  std::vector<System> all = baselines;
  all.push_back(l3_system);
  return all;
}

}  // namespace

TEST_CASE("l3: every model, trace and system of the study is a scenario that holds, in every set") {
  for (const System& system : all_systems())
    for (const l3::ServedModel& model : models)
      for (const TraceLengths& trace : traces)
        for (const char* set : {"ideal", "eff", "physical"}) {
          const SystemRun run{.system = system, .model = model.id, .trace = trace.id, .profile = set};
          const Scenario s = read_scenario(scenario_of(run, "paper"), name_of(run));
          CHECK(s.assumptions == set);
          CHECK(s.replicas[0].on->spec().host_kv.has_value() == (system.memory != nullptr));
          CHECK(s.replicas[0].count * s.replicas[0].parallelism.tensor == 8);
          REQUIRE(std::ssize(s.workload.requests) == 1000);
          for (const Request& request : s.workload.requests) {
            CHECK(request.input_tokens <= 32768);
            CHECK(request.output_tokens <= 32768);
          }
        }
}

TEST_CASE("l3: ratios are taken seed by seed, and a set whose run failed has none") {
  const l3::OverSeeds a{{2, 9}, {4, 4}, "", ""}, b{{1, 3}, {}, "", "too small"};
  const l3::OverSeeds quotient = over(a, b);
  CHECK(quotient.paper == std::vector<double>{2, 3});
  CHECK(quotient.physical.empty());
  StudyRows rows;
  const ReproducedRow& row = add_row(rows, "id", "metric", 1, quotient, 2, 3);
  CHECK(row.simulated == 2.5);
  CHECK_FALSE(row.physical);
  CHECK(row.within());
  CHECK(row.note.find("too small") != std::string::npos);
}

TEST_CASE("l3: on one GPU shares of peaks are shares, and attention takes more of longer contexts") {
  const ScratchDirectory scratch;
  StudyRows rows;
  add_motivation({}, scratch.path(), rows);
  const auto row = by_id(rows);
  for (const auto& [id, r] : row)
    if (id != "fig2_step_1k_ms")
      for (const auto& share : {r.simulated, r.physical}) {
        INFO(id);
        CHECK(*share > 0);
        CHECK(*share <= 100 + 1e-9);
      }
  CHECK(*row.at("fig2_flops_64").physical < *row.at("fig2_flops_8192").physical);
  CHECK(*row.at("fig2_bandwidth_64").physical > *row.at("fig2_bandwidth_8192").physical);
  double before = 0;
  for (const char* context : {"1k", "2k", "4k", "8k", "16k"}) {
    const double share = *row.at(std::string("fig2_mha_") + context).physical;
    CHECK(share > before);
    before = share;
  }
  CHECK(*row.at("fig2_step_1k_ms").physical > *row.at("fig2_step_1k_ms").simulated);
}

TEST_CASE("l3: more ranksets never make tokens come later, and few keep up with GPUs", "[engine]") {
  const ScratchDirectory scratch;
  Runs runs;
  want_latency(runs);
  runs.run({.reference = {}, .files = {}, .jobs = 2, .progress = {}});
  StudyRows rows;
  add_latency(runs, scratch.path(), rows);
  const auto row = by_id(rows);
  for (const char* id : {"fig11_rs16_min", "fig11_rs16_max", "fig11_rs2_max"}) {
    INFO(id);
    REQUIRE(row.contains(id));
    CHECK(row.at(id).judged());
    CHECK(row.at(id).note.find("FITTED") != std::string::npos);
  }
  for (const char* batch : {"16", "32", "48", "64"})
    for (const auto& [few, many] : {std::pair{"2", "4"}, {"4", "8"}, {"8", "16"}}) {
      const auto at = [&](const char* count) {
        return row.at(std::string("fig11_rs") + count + "_batch" + batch);
      };
      CHECK(*at(many).simulated <= *at(few).simulated * (1 + 1e-9));
      CHECK(*at(many).physical <= *at(few).physical * (1 + 1e-9));
    }
}
