// The keys of a runtime in a scenario.
#include <catch2/catch.hpp>

#include "test/policies/runtime/random_snapshot.h"

using namespace weir;
using namespace weir::test;

TEST_CASE("runtime: the paper's values are the defaults, and each key is heard", "[runtime]") {
  const Json json = {{"kind", "hetero_pim"}};
  Reading reading("test");
  const auto runtime = make_from(runtime_policies(), Params(reading, json), {"kind", "which"});
  reading.finish();
  CHECK(reading.resolved == Json({{"kind", "hetero_pim"},
                                  {"candidates_share", 0.9},
                                  {"recursive_kernels", true},
                                  {"operation_pipeline", true},
                                  {"when_busy", "wait"}}));
  CHECK((runtime->profiles() && runtime->recursive_kernels() && runtime->operation_pipeline()));
  const StepProfile profile = {{OperatorType::conv2d, 1, Seconds(9), 2},
                               {OperatorType::relu, 1, Seconds(1), 1}};
  CHECK(runtime->candidates(profile) == std::vector<OperatorType>{OperatorType::conv2d});
  const auto other = make_runtime({{"kind", "hetero_pim"},
                                   {"candidates_share", 1},
                                   {"recursive_kernels", false},
                                   {"operation_pipeline", false}});
  CHECK(other->candidates(profile).size() == 2);
  CHECK_FALSE((other->recursive_kernels() || other->operation_pipeline()));
}

TEST_CASE("runtime: bad keys are all told at once, each at its pointer", "[runtime]") {
  const auto pointers = [](const Json& json) {
    std::vector<std::string> found;
    try {
      make_runtime(json);
    } catch (const ConfigError& error) {
      for (const Problem& problem : error.problems()) found.push_back(problem.pointer);
    }
    return found;
  };
  CHECK(pointers({{"kind", "hetero_pim"},
                  {"candidates_share", 0},
                  {"recursive_kernels", 1},
                  {"operation_pipeline", "yes"},
                  {"when_busy", "gpu"},
                  {"candidate_share", 0.5}}) ==
        std::vector<std::string>{"/candidates_share", "/recursive_kernels", "/operation_pipeline",
                                 "/when_busy", "/candidate_share"});
  CHECK(pointers({{"kind", "hetero_pim"}, {"candidates_share", 1.01}}) ==
        std::vector<std::string>{"/candidates_share"});
  CHECK(pointers({{"kind", "cpu_only"}, {"candidates_share", 0.5}}) ==
        std::vector<std::string>{"/candidates_share"});
  CHECK(pointers({{"kind", "hetero"}}) == std::vector<std::string>{"/kind"});
  CHECK(pointers({{"kind", "hetero_pim"}, {"candidates_share", 1}}).empty());
}

TEST_CASE("runtime: the schema has every kind, and the keys of those that have some", "[runtime]") {
  Reading reading = Reading::describe();
  const Json nothing = Json::object();
  make_from(runtime_policies(), Params(reading, nothing), {"kind", "which"});
  std::vector<std::string> kinds;
  for (const Json& kind : reading.schema["oneOf"]) {
    kinds.push_back(kind["properties"]["kind"]["const"]);
    CHECK(kind["properties"].size() == (kinds.back() == "hetero_pim" ? 7 : 3));  // "about", "$schema", "kind"
  }
  CHECK(kinds == names_of(runtime_policies()));
}
