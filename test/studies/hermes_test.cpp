#include <catch2/catch.hpp>
#include <map>

#include "sim/plan/neurons/neuron_plan.h"
#include "sim/studies/hermes/decoding.h"
#include "sim/studies/hermes/study.h"
#include "test/app/run_weir.h"

using namespace weir;
using namespace weir::hermes;

TEST_CASE("hermes: every model and system of the study is a scenario that holds, in both sets") {
  for (const OffloadSystem* system : {&hermes_system, &base_system, &host_system, &accelerate, &deja_vu})
    for (const SparseModel& model : models)
      for (const char* set : {"paper", "physical"}) {
        const HermesRun run = run_of(*system, model.id);
        const Plan plan = read_plan(scenario_of(run, set), name_of(run));
        INFO(name_of(run));
        const ReplicaPlan& replica = plan.replicas[0];
        CHECK((replica.rank.host_memory() != nullptr));
        CHECK((replica.neurons != nullptr) == (system->sparse || system == &base_system));
        CHECK(replica.rank.on->spec().own().bandwidth.value() ==
              (std::string(set) == "paper" ? 936e9 : 1008e9));
        if (replica.neurons && system->sparse) CHECK(replica.neurons->counts.layers == followed_layers);
      }
}

TEST_CASE("hermes: room for weights leaves as much of every GPU") {
  CHECK(gpu_room_gb("rtx4090", "paper") == 20);
  CHECK(gpu_room_gb("rtx3090", "physical") == 22);
  CHECK(24 - gpu_room_gb("rtx4090", "paper") == 16 - gpu_room_gb("t4", "paper"));
}

TEST_CASE("hermes: a number that one set lacks is none, and says why") {
  const InSets a{6, 8}, b{2, {}, "too small"};
  const InSets quotient = a / b;
  CHECK(quotient.paper == 3.);
  CHECK_FALSE(quotient.physical);
  CHECK(quotient.error == "too small");
  const InSets both = mean({a, b});
  CHECK(both.paper == 4.);
  CHECK(both.physical == 8.);
  CHECK_FALSE(paper_alone(a).physical);
  hermes::Rows rows;
  CHECK_FALSE(add_row(rows, "id", "metric", 1, quotient, {4, {}}).within());
  CHECK(rows[0].note == "too small");
}

TEST_CASE("hermes: bandwidths, rooms and tables stand without a run") {
  const ScratchDirectory scratch;
  hermes::Rows rows;
  add_hardware({}, scratch.path(), rows);
  std::map<std::string, ReproducedRow> row;
  for (const ReproducedRow& one : rows) CHECK(row.emplace(one.id, one).second);
  CHECK(*row.at("dimm_gb_per_s").simulated > 1.3 * *row.at("dimm_gb_per_s_one_group").simulated);
  CHECK(*row.at("dimm_gb_per_s").simulated < 102.4);
  CHECK(row.at("state_table_llama7b_kib").simulated == 236.);
  CHECK(row.at("state_table_llama7b_paper_kib").simulated == 232.);
}

TEST_CASE("hermes: decodes by themselves take as long as the engine's") {
  HermesRun run = run_of(hermes_system, "opt13b");
  run.output_tokens = output_tokens;
  Decoding decoding(run, "paper");
  PlayedStep all(decoding.rank(), decoding.operators(), 1),
      none_dropped(decoding.rank(), decoding.only([](const OperatorGraph&, std::size_t) { return true; }), 1),
      cold(decoding.rank(),
           decoding.only([](const OperatorGraph&g, std::size_t v) { return g[v].name == "mlp_cold"; }), 1);
  double seconds = 0;
  int tokens = 0;
  decoding.each_token([&](const BatchShape& batch) {
    const Seconds whole = all.cost({&batch, 1}).cost.time;
    CHECK(none_dropped.cost({&batch, 1}).cost.time.value() == Approx(whole.value()));
    CHECK(cold.cost({&batch, 1}).cost.time < whole);
    seconds += whole.value();
    ++tokens;
  });
  CHECK(tokens == output_tokens - 1);
  const ScratchDirectory scratch;
  test::write(scratch / "decodes.json", scenario_of(run, "paper").dump());
  REQUIRE(test::run_weir({"run", "decodes.json", "--out", "a"}, {.folder = scratch.path()}).code == 0);
  const Json served = read_json_file(scratch / "a/summary.json");
  CHECK(1e3 * seconds / tokens == Approx(served["mean_tpot_ms"].get<double>()).epsilon(1e-6));
  CHECK(served["devices"][0]["units"].contains("ndp_dimms"));
  CHECK(served["neurons"]["accuracy"] > 0.9);
}
