// Weights in a host's memory: what stays on the device and what comes in each step, how long that takes, and
// what is refused in which words.
#include <catch2/catch.hpp>

#include "sim/core/errors.h"
#include "sim/plan/plan.h"
#include "sim/step/step_model.h"
#include "test/models/llm/decode_shape.h"
#include "test/policies/dice.h"
#include "test/serving/random_scenario.h"

using namespace weir;
using test::equal_decodes;

namespace {

constexpr double pcie = 31.5e9;  // of an RTX 4090, bytes/s each way

Json partitioning(double on_device_gb, const char* resident, bool ahead) {
  return {{"kind", "weights_in_host"},
          {"on_device_gb", on_device_gb},
          {"resident", resident},
          {"fetch_ahead", ahead}};
}

Json opt(const char* model, const Json& how, double gib = 24) {
  Json s = test::small_scenario();
  s["model"] = model;
  s["precision"] = {{"weights", "fp16"}, {"activations", "fp16"}, {"kv_cache", "fp16"}};
  s["cluster"]["nodes"] = {
      {{"devices", {{{"kind", "rtx4090"}, {"memory_capacity_gib", gib}}, {{"kind", "host_dimm"}}}}}};
  s["serving"]["replicas"] = {
      {{"engine", {{"kind", "ideal"}}}, {"kv_cache", {{"blocks", 64}}}, {"partitioning", how}}};
  return s;
}

// On a GPU with room for all.
ReplicaPlan planned(const char* model, const Json& how) {
  return read_plan(opt(model, how, 160), "test.json").replicas[0];
}

StepCost step_of(const ReplicaPlan& replica, const BatchShape& batch) {
  return StepModel(replica.rank, replica.stages[0], false).step({batch});
}

Bytes loaded(const StageGraph& stage) {
  Bytes bytes{};
  for_each_operator(stage, [&](const Operator& op, double times) {
    if (const auto* copy = op.as<Copy>()) bytes += times * copy->per_row;
  });
  return bytes;
}

void refuses(Json scenario, const std::string& pointer, const std::string& words) {
  try {
    read_plan(scenario, "test.json");
    FAIL("accepted");
  } catch (const ConfigError& e) {
    REQUIRE(e.problems().size() == 1);
    CHECK(e.problems()[0].pointer == pointer);
    CHECK_THAT(e.problems()[0].what, Catch::Contains(words));
  }
}

}  // namespace

TEST_CASE("weights in host: each byte of the model is on the device, or comes once in a step") {
  Dice dice(1);
  for (int i = 0; i < 30; ++i) {
    const char* model = dice(0, 1) ? "opt-30b" : "mixtral-8x7b";
    const double room = 0.1 * static_cast<double>(dice(10, 160));
    const bool ahead = dice(0, 1);
    const char* resident = dice(0, 1) ? "first_layers" : "every_layer";
    INFO(model << " " << room << " " << resident << ahead);
    const StageGraph stage = planned(model, partitioning(room, resident, ahead)).stages[0];
    const auto& [all, on_device, in_host, neurons] = stage.weights;
    CHECK(loaded(stage).value() == Approx(in_host.value()));
    // With what is on its way.
    std::int64_t layers = 0;
    Bytes most{};
    for (const Part& part : stage.parts) {
      const auto* load = part.operators[0].as<Copy>();
      if (load) most = std::max(most, load->per_row);
      if (part.name == "block") layers += part.times;
    }
    CHECK(on_device.value() == Approx((all - in_host + (ahead ? 2 : 1) * most).value()));
    CHECK(layers == (std::string(model) == "opt-30b" ? 48 : 32));
    const double stays = (all - in_host).value() / 1e9;
    CHECK(stays <= room * (1 + 1e-9));
    CHECK(stays > room - (std::string(resident) == "every_layer" ? 1e-6 : most.value() / 1e9));
  }
}

TEST_CASE("weights in host: fetched when due, a step takes as much longer as the link needs for them") {
  const ReplicaPlan as_needed = planned("opt-30b", partitioning(12, "first_layers", false)),
                    all_there = planned("opt-30b", partitioning(61, "first_layers", false));
  CHECK(loaded(all_there.stages[0]) == Bytes(0));
  for (const std::int64_t batch : {1, 16}) {
    const StepCost there = step_of(all_there, equal_decodes(batch, 100)),
                   fetched = step_of(as_needed, equal_decodes(batch, 100));
    CHECK((fetched.time - there.time).value() ==
          Approx(as_needed.stages[0].weights.in_host.value() / pcie).epsilon(1e-9));
  }
}

TEST_CASE(
    "weights in host: fetched ahead, a step takes as long as the link or the work, and one layer more") {
  for (const double room : {3., 12., 58.}) {
    const ReplicaPlan ahead = planned("opt-30b", partitioning(room, "every_layer", true)),
                      all_there = planned("opt-30b", partitioning(61, "every_layer", true));
    for (const std::int64_t batch : {1, 64}) {
      const double work = step_of(all_there, equal_decodes(batch, 100)).time.value(),
                   link = ahead.stages[0].weights.in_host.value() / pcie,
                   time = step_of(ahead, equal_decodes(batch, 100)).time.value();
      INFO(room << " " << batch << ": " << work << " " << link);
      CHECK(time >= std::max(work, link));
      // Work before the first load is needed and after the last is there: the layer of it, embedding and
      // head.
      CHECK(time <= std::max(work, link) + 2 * std::min(work, link) / 48 + 0.05 * work);
    }
  }
}

TEST_CASE("weights in host: what does not fit is refused") {
  refuses(opt("opt-66b", partitioning(0.5, "every_layer", true)),
          "/serving/replicas/0/partitioning/on_device_gb", "expected at least 0.98");
  refuses(opt("opt-66b", partitioning(40, "every_layer", true)), "/serving/replicas/0/kv_cache/blocks",
          "do not fit");
  Json no_host = opt("opt-66b", partitioning(20, "every_layer", true));
  no_host["cluster"]["nodes"][0]["devices"] = {{{"kind", "rtx4090"}}};
  refuses(no_host, "/serving/replicas/0/partitioning", "host memory such as host_dimm");
  Json small = opt("opt-66b", partitioning(20, "every_layer", true));
  small["cluster"]["nodes"][0]["devices"][1]["memory_capacity_gib"] = 64;
  refuses(small, "/serving/replicas/0", "do not fit into its share of host_dimm");
}

TEST_CASE("weights in host: requests run, at the pace of the link", "[engine]") {
  Json s = opt("opt-30b", partitioning(18, "every_layer", true));
  s["workload"]["requests"] = {{"kind", "fixed"}, {"input_tokens", 100}, {"output_tokens", 21}, {"count", 3}};
  s["workload"]["arrivals"] = {{"kind", "closed_loop"}, {"concurrency", 1}};
  const test::Outcome o = test::run(s);
  REQUIRE(o.error == "");
  const double link =
      planned("opt-30b", partitioning(18, "every_layer", true)).stages[0].weights.in_host / Bytes(pcie);
  for (const RequestRecord& r : o.requests) {
    REQUIRE(r.status == RequestStatus::completed);
    const double tpot = (r.finished - r.first_token).value() / 20;
    CHECK(tpot > link);
    CHECK(tpot < 1.1 * link);
  }
}
