// Training runs that a machine cannot make are refused, in words.
#include <catch2/catch.hpp>

#include "test/policies/runtime/random_snapshot.h"
#include "test/step/training/random_training.h"

using namespace weir;
using namespace weir::test;

namespace {

std::string refusal(const TrainingMachine& machine, const std::string& policy, std::int64_t steps = 2) {
  std::mt19937 random(1);
  const TrainingGraph graph = random_training(random);
  try {
    TrainingStep(graph, machine, make_runtime({{"kind", policy}}), steps);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("training: what the machine lacks for its policy is named", "[training]") {
  const TrainingMachine whole = catalog_machine();
  for (const char* policy : {"cpu_only", "progr_pim", "fixed_pim", "hetero_pim"}) {
    CAPTURE(policy);
    CHECK(refusal(whole, policy).empty());
    TrainingMachine without_cpu = whole;
    without_cpu.cpu = nullptr;
    CHECK_THAT(refusal(without_cpu, policy), Catch::Contains("CPU"));
    TrainingMachine without_memory = whole;
    without_memory.memory = nullptr;
    const std::string why = refusal(without_memory, policy);
    if (std::string(policy) == "cpu_only")
      CHECK(why.empty());
    else
      CHECK_THAT(why, Catch::Contains("memory with"));
  }
  CHECK_THAT(refusal(whole, "gpu_only"), Catch::Contains("GPU"));
  TrainingMachine gpu_alone;
  gpu_alone.gpu = device_with("gtx1080ti", Json::object());
  CHECK(refusal(gpu_alone, "gpu_only").empty());
}

TEST_CASE("training: a memory without the processors that the policy needs is refused", "[training]") {
  TrainingMachine cores_alone = catalog_machine(), pairs_alone = cores_alone;
  cores_alone.memory = stack_with(
      {.pairs = {}, .arm_cores = 4, .arm_multiply_adds = 4e9, .arm_elements = 1e9, .arm_power = Watts(1)});
  pairs_alone.memory = stack_with({.pairs = {444}, .pairs_per_second = 1e9, .arm_power = Watts(1)});
  CHECK(refusal(cores_alone, "progr_pim").empty());
  CHECK(refusal(pairs_alone, "fixed_pim").empty());
  for (const char* policy : {"fixed_pim", "hetero_pim"})
    CHECK_THAT(refusal(cores_alone, policy), Catch::Contains("pairs"));
  for (const char* policy : {"progr_pim", "hetero_pim"})
    CHECK_THAT(refusal(pairs_alone, policy), Catch::Contains("programmable cores"));
}

TEST_CASE("training: a run has at least one step", "[training]") {
  for (const char* policy : {"cpu_only", "hetero_pim"}) {
    CHECK_THAT(refusal(catalog_machine(), policy, 0), Catch::Contains("at least one step"));
    CHECK(refusal(catalog_machine(), policy, 1).empty());
  }
}
