// Training jobs of a scenario, played by steps that repeat and one by one.
#include <catch2/catch.hpp>

#include "sim/training/train.h"

using namespace weir;

namespace {

Json scenario_of(const std::string& net, const std::string& runtime, std::int64_t steps) {
  Json s =
      parse_json(R"({"kind": "training", "cluster": {"nodes": [{"devices": []}]}, "training": [{}]})", "");
  Json& devices = s["cluster"]["nodes"][0]["devices"];
  if (runtime == "gpu_only")
    devices = {{{"kind", "gtx1080ti"}}};
  else
    devices = {{{"kind", "xeon_e5_2630v3"}}, {{"kind", "hetero_pim"}}};
  s["training"][0] = {{"model", net}, {"steps", steps}, {"runtime", {{"kind", runtime}}}};
  return s;
}

TrainingResult trained(Json scenario, bool fast_forward) {
  scenario["fast_forward"] = fast_forward;
  return train(read_plan(scenario, "t.json")).at(0);
}

}  // namespace

TEST_CASE("training: a thousand steps with fast-forward end when a thousand steps without do") {
  for (const auto& entry : runtime_policies())
    for (const char* net : {"alexnet", "word2vec"}) {
      CAPTURE(net, entry.name);
      const Json scenario = scenario_of(net, entry.name, 1000);
      const std::vector<Seconds> fast = trained(scenario, true).run.ends,
                                 all = trained(scenario, false).run.ends;
      REQUIRE(fast.size() == 1000);
      REQUIRE(all.size() == 1000);
      double furthest = 0;
      for (std::size_t i = 0; i < all.size(); ++i)
        furthest = std::max(furthest, std::abs(fast[i] / all[i] - 1));
      CHECK(furthest < 1e-9);
    }
}

TEST_CASE("training: a split is a later step's, and none where all there is is profiled") {
  CHECK_FALSE(trained(scenario_of("alexnet", "hetero_pim", 1), true).split.has_value());
  for (const std::int64_t steps : {2, 3, 5, 6, 20}) {
    CAPTURE(steps);
    const TrainingResult result = trained(scenario_of("alexnet", "hetero_pim", steps), true);
    REQUIRE(result.split.has_value());
    const Seconds all = result.split->operation + result.split->movement + result.split->synchronisation;
    CHECK(all > Seconds(0));
    CHECK(all <= 1.000001 * (result.run.ends.back() - result.run.ends[result.run.ends.size() - 2]) +
                     result.run.ends[0]);
  }
}
