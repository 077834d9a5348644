// Systems that compute active neurons alone, simulated whole: the laws of every run, and what followed layers
// stand for.
#include <catch2/catch.hpp>

#include "sim/plan/plan.h"
#include "sim/serving/neurons/neuron_starts.h"
#include "sim/step/step_model.h"
#include "test/policies/dice.h"
#include "test/serving/neurons/hermes_scenario.h"

using namespace weir;
using test::hermes_scenario;
using test::Outcome;

namespace {

Json online(Dice& dice, Json scenario) {
  scenario["workload"]["requests"] = {{"kind", "lognormal"},
                                      {"count", 12},
                                      {"input", {{"mean", 60}, {"std", 40}, {"max", 200}}},
                                      {"output", {{"mean", 10}, {"std", 6}, {"max", 30}}}};
  scenario["workload"]["arrivals"] = {{"kind", "poisson"},
                                      {"rate_per_s", 0.2 * static_cast<double>(dice(1, 10))}};
  Json& replica = scenario["serving"]["replicas"][0];
  replica["batching"] = {{"kind", dice(0, 1) ? "prefill_first" : "chunked_prefill"},
                         {"max_batch_requests", dice(1, 6)}};
  replica["kv_cache"]["blocks"] = dice(16, 64);
  return scenario;
}

Json deja_vu(Json scenario) {
  scenario["cluster"]["nodes"][0]["devices"][1] = {{"kind", "host_dimm"}};
  scenario["serving"]["replicas"][0]["partitioning"] = {{"kind", "active_weights_in_host"},
                                                        {"followed_layers", 2}};
  return scenario;
}

double decode_ms(const Outcome& outcome) {
  const RequestRecord& r = outcome.requests.at(0);
  REQUIRE(outcome.error.empty());
  return 1e3 * (r.finished - r.first_token).value();
}

}  // namespace

TEST_CASE("neurons: requests, tokens and blocks are conserved online", "[neurons][engine]") {
  for (unsigned seed = 0; seed < 12; ++seed) {
    Dice dice(seed);
    Json scenario = hermes_scenario({{"followed_layers", 2}, {"neurons", {{"kind", "greedy"}}}}, {}, {});
    if (seed % 3 == 1) scenario["workload"].erase("activity");
    if (seed % 3 == 2) scenario = deja_vu(scenario);
    scenario = online(dice, scenario);
    INFO("seed " << seed);
    test::check_laws(scenario, test::run(scenario));
  }
}

TEST_CASE("neurons: a few layers stand for all of them within 2 %", "[neurons][engine]") {
  for (const char* model : {"llama2-13b", "opt-13b"}) {
    const auto with = [&](const Json& layers) {
      Json scenario = hermes_scenario({{"followed_layers", layers}}, {}, {{"density", 0.2}});
      scenario["model"] = model;
      return decode_ms(test::run(scenario));
    };
    CHECK(with(8) == Approx(with(nullptr)).epsilon(0.02));
  }
}

TEST_CASE("neurons: no step moves more than its links and memories carry", "[neurons]") {
  for (const char* predictor : {"perfect", "token_and_layer"}) {
    const Plan plan = read_plan(
        hermes_scenario({{"followed_layers", 4}, {"neurons", {{"kind", "greedy"}}}, {"predictor", predictor}},
                        {}, {{"density", 0.2}}),
        "test.json");
    const ReplicaPlan& replica = plan.replicas[0];
    NeuronTotals totals;
    NeuronTables tables(replica.neurons, replica.rank, start_mapping(*replica.neurons).mapping, totals);
    const StepModel model(replica.rank, replica.stages[0], false);
    const auto resources = replica.rank.on->spec().resources(BytesPerSecond(0));
    BatchShape batch;
    batch.decodes = batch.sequences = 1;
    batch.decode_context_sum = batch.decode_context_max = 200;
    for (int token = 0; token < 12; ++token) {
      batch.side = tables.next(std::vector<NeuronTables::Sequence>{{0, 64}}, batch);
      const StepCost step = model.step({batch});
      double read = 0;  // of the DIMMs, at least
      const auto& cold = replica.neurons->machine.costs;
      for (std::size_t l = 0; l < static_cast<std::size_t>(replica.neurons->layers); ++l)
        for (const NeuronBlock block : neuron_blocks)
          for (const SideLoad& one : batch.side->at(neuron_load(NeuronTask::in_host, block), l))
            read += one.computed * cold[block].bytes.value();
      CHECK(step.moved[resources.size() - 1].value() >= read);
      for (std::size_t r = 0; r < resources.size(); ++r)
        if (resources[r].bandwidth > BytesPerSecond(0))
          CHECK(step.moved[r].value() <= (resources[r].bandwidth * step.time).value() * (1 + 1e-9));
    }
  }
}

TEST_CASE("neurons: a decode beside a prompt is followed as well", "[neurons][engine]") {
  Json scenario = hermes_scenario({{"followed_layers", 2}, {"neurons", {{"kind", "greedy"}}}}, {}, {});
  scenario["serving"]["replicas"][0]["batching"] = {{"kind", "chunked_prefill"}, {"max_batch_requests", 4}};
  scenario["workload"]["requests"]["count"] = 3;
  scenario["workload"]["arrivals"] = {{"kind", "poisson"}, {"rate_per_s", 2}};
  const Outcome outcome = test::run(scenario);
  test::check_laws(scenario, outcome);
  for (const RequestRecord& r : outcome.requests) CHECK(r.status == RequestStatus::completed);
}
