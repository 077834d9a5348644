#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "sim/plan/plan.h"
#include "sim/studies/l3/study.h"
#include "test/app/run_weir.h"
#include "test/app/scratch_directory.h"

using namespace weir;
using namespace weir::l3;
using namespace weir::test;
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
        for (const char* set : {"ideal", "eff", "physical", "paper_gpu"}) {
          const SystemRun run{.system = system, .model = model.id, .trace = trace.id, .profile = set};
          const Plan plan = read_plan(scenario_of(run, "paper"), name_of(run));
          const Scenario& s = plan.scenario;
          const ReplicaPlan& replica = plan.replicas[0];
          CHECK(s.assumptions == set);
          CHECK(replica.rank.on->spec().peak(DataType::fp16).value() ==
                (s.assumptions == "paper_gpu" ? 19.5e12 : 312e12));
          CHECK(replica.rank.keeps_kv_elsewhere() == (system.memory != nullptr));
          CHECK(replica.spec.count * replica.spec.parallelism.tensor == 8);
          REQUIRE(std::ssize(s.workload.requests) == 1000);
          for (const Request& request : s.workload.requests) {
            CHECK(request.input_tokens <= 32768);
            CHECK(request.output_tokens <= 32768);
          }
        }
}

TEST_CASE("l3: L3 is one system in every figure") {
  const auto served = [](const SystemRun& run) {
    const Json replica = scenario_of(run, "physical")["serving"]["replicas"][0];
    return Json{replica["batching"], replica["partitioning"], replica["placement"], replica["kv_cache"]};
  };
  const Json one = served({.model = "gpt89b", .trace = "dolphin"});  // Figure 8, batches
  CHECK(one[0] == Json{{"kind", "adaptive_chunk_interleaving"},
                       {"max_batch_tokens", 8192},
                       {"interleave", "on"},
                       {"predictor", "learned"}});
  CHECK(served(scaled_run("gpt175b", 8, 8)) == one);                                // 9
  CHECK(served(ablated_run("gpt175b", true, true)) == one);                         // 10
  for (const int batch : {16, 64}) CHECK(served(with_ranksets(batch, 16)) == one);  // 11
}

TEST_CASE("weir run: a learned predictor that never trained says so, and what it lacked") {
  const ScratchDirectory scratch;
  const auto note = [&](const char* requests) {
    const auto out = scratch.path() / requests;
    const Ended ended = run_weir({"run", shipped("l3/quick.json"), "--quiet", "--out", out.string(), "--set",
                                  "/serving/replicas/0/batching/predictor=\"learned\"", "--set",
                                  std::string("/workload/requests/count=") + requests});
    REQUIRE(ended.code == 0);
    const Json summary = read_json_file(out / "summary.json");
    CHECK(summary["prediction_error_percent"]["prefill_attention"].is_null() ==
          (requests == std::string("50")));
    return summary["notes"].dump();
  };
  CHECK_THAT(note("50"), Catch::Contains("1 of 1 replicas never trained") &&
                             Catch::Contains("of 100 of attention of prompts"));
  CHECK_THAT(note("400"), !Catch::Contains("never trained"));
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
    CHECK_FALSE(row.at(id).judged());
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
