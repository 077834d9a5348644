// Systems that compute active neurons alone are refused all at once, where it stands, in words.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "sim/core/errors.h"
#include "sim/plan/plan.h"
#include "test/app/scratch_directory.h"
#include "test/serving/neurons/hermes_scenario.h"

using namespace weir;
using test::hermes_scenario;

namespace {

using Problems = std::vector<std::pair<std::string, std::string>>;  // pointers, and words of each

void refuses(const Json& scenario, const Problems& expected) {
  try {
    read_plan(scenario, "test.json");
    FAIL("accepted");
  } catch (const ConfigError& e) {
    INFO(e.what());
    for (const auto& problem : expected) {
      INFO(problem.first << ": " << problem.second);
      CHECK(std::ranges::any_of(e.problems(), [&](const Problem& p) {
        return p.pointer == problem.first && p.what.find(problem.second) != std::string::npos;
      }));
    }
    CHECK(e.problems().size() == expected.size());
  }
}

const std::string replica = "/serving/replicas/0", partitioning = replica + "/partitioning";

}  // namespace

TEST_CASE("neurons: what does not go with them is told together", "[neurons][bad input]") {
  Json scenario = hermes_scenario({{"followed_layers", 41}}, {}, {});
  refuses(scenario, {{partitioning + "/followed_layers", "at most the 40 layers"}});
  scenario["serving"]["replicas"][0]["batching"] = {{"kind", "sub_batch_interleaving"}};
  refuses(scenario, {{replica + "/batching", "active neurons are followed"}});
  refuses(hermes_scenario({{"on_device_gb", 1}}, {}, {}),
          {{partitioning + "/on_device_gb", "projections and the LM head stay on the device"}});
  refuses(
      hermes_scenario({{"neurons", {{"kind", "hottest"}}}, {"predictor", "oracle"}, {"followed_layers", 1}},
                      {}, {{"density", 1.5}}),
      {{partitioning + "/neurons/kind", "hottest"},
       {partitioning + "/predictor", "oracle"},
       {partitioning + "/followed_layers", "2"},
       {"/workload/activity/density", "1.5"}});
}

TEST_CASE("neurons: a density that the hot ones do not allow", "[neurons][bad input]") {
  refuses(hermes_scenario({}, {}, {{"density", 0.5}, {"hot_share", 0.8}}),
          {{"/workload/activity/density", "expected at most 0.25"}});
}

TEST_CASE("neurons: a machine or a model that has no place for them", "[neurons][bad input]") {
  Json scenario = hermes_scenario({}, {}, {});
  scenario["cluster"]["nodes"][0]["devices"][1] = {{"kind", "host_dimm"}};
  refuses(scenario, {{partitioning, "ndp_dimm"}});
  scenario["cluster"]["nodes"][0]["devices"].erase(1);
  refuses(scenario, {{partitioning, "ndp_dimm"}});
  scenario = hermes_scenario({{"on_device_gb", 60}}, {}, {});
  scenario["model"] = "mixtral-8x7b";
  refuses(scenario, {{partitioning, "no gate_up_proj"}});
  scenario = hermes_scenario({}, {{"dimms", 4}}, {});
  scenario["model"] = "opt-66b";
  scenario["cluster"]["nodes"][0]["devices"][1]["dimms"] = 2;
  scenario["serving"]["replicas"][0]["partitioning"]["on_device_gb"] = 20;
  refuses(scenario, {{replica, "do not fit into its share of ndp_dimm"}});
}

TEST_CASE("neurons: recorded activity of another model", "[neurons][bad input]") {
  const ScratchDirectory scratch;
  const std::filesystem::path file = scratch.path() / "activity.csv";
  std::ofstream(file)
      << "layers,attention,mlp\n1,4,8\ntoken,layer,block,neurons\n0,0,attention,0-3\n0,0,mlp,1\n";
  Json scenario = hermes_scenario({}, {}, {});
  scenario["workload"]["activity"] = {{"kind", "file"}, {"file", file.string()}};
  refuses(scenario, {{"/workload/activity/file", "40"}});
}

TEST_CASE("neurons: activity that nobody asks for, and neurons without any, are noted", "[neurons]") {
  const auto notes = [](const Json& scenario) {
    std::string all;
    for (const std::string& note : read_plan(scenario, "test.json").scenario.notes) all += note + "\n";
    return all;
  };
  Json scenario = hermes_scenario({}, {}, {});
  CHECK_THAT(notes(scenario), !Catch::Contains("activity"));
  for (const auto& [followed, error] : {std::pair{8, "0 to 4 %"}, {7, "8 to 16 %"}, {2, "8 to 16 %"}}) {
    Json some = scenario;
    some["serving"]["replicas"][0]["partitioning"]["followed_layers"] = followed;
    CHECK_THAT(notes(some), Catch::Contains(fmt::format("{} of ", followed)) && Catch::Contains(error));
  }
  Json without = scenario;
  without["workload"].erase("activity");
  CHECK_THAT(notes(without), Catch::Contains("every token activates every neuron"));
  scenario["cluster"]["nodes"][0]["devices"][1] = {{"kind", "host_dimm"}};
  scenario["serving"]["replicas"][0]["partitioning"] = {{"kind", "weights_in_host"}, {"on_device_gb", 12}};
  CHECK_THAT(notes(scenario), Catch::Contains("/workload/activity: is not used"));
}
