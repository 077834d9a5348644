// The devices that a sweep's layouts and constraints count, by hand: nodes and groups above one everywhere.
#include <catch2/catch.hpp>
#include <map>

#include "sim/app/sweep/sweep_spec.h"
#include "sim/app/sweep/where.h"

using namespace weir;

namespace {

// 3 x 4 + 2 x 3 = 18 H100 and 3 x 2 = 6 L40S.
Json two_kinds(const Json& replicas) {
  Json s = parse_json(R"({"model": "llama3.1-8b", "cluster": {"nodes": [
      {"count": 3, "devices": [{"kind": "h100_sxm", "count": 4}, {"kind": "l40s", "count": 2}]},
      {"count": 2, "devices": [{"kind": "h100_sxm", "count": 3}]}]}})",
                      "two kinds");
  s["serving"]["replicas"] = replicas;
  return s;
}

// tensor, pipeline, expert, count and, of a model with experts, attention_data.
std::set<std::int64_t> devices_of_layouts(const Json& scenario) {
  std::set<std::int64_t> devices;
  for (const std::vector<Json>& choice : layouts_of(scenario, "test.json").choices) {
    std::int64_t product =
        choice[0].get<std::int64_t>() * choice[1].get<std::int64_t>() * choice[3].get<std::int64_t>();
    if (choice.size() > 4) product *= choice[4].get<std::int64_t>();
    devices.insert(product);
  }
  return devices;
}

using Devices = std::set<std::int64_t>;

}  // namespace

TEST_CASE("sweep: layouts have the devices of the first group's kind, or all where it names none") {
  CHECK(devices_of_layouts(two_kinds({Json::object()})) == Devices{24});
  CHECK(devices_of_layouts(two_kinds({{{"device", "h100_sxm"}}})) == Devices{18});
  CHECK(devices_of_layouts(two_kinds({{{"device", "l40s"}}})) == Devices{6});
}

TEST_CASE("sweep: layouts leave to other groups their replicas' devices by every degree but experts") {
  const Json h100 = {{"device", "h100_sxm"}};
  Json other = {{"count", 2},
                {"parallelism", {{"tensor", 2}, {"pipeline", 3}, {"attention_data", 1}, {"expert", 2}}}};
  CHECK(devices_of_layouts(two_kinds({h100, other})) == Devices{6});
  other["device"] = "l40s";
  CHECK(devices_of_layouts(two_kinds({h100, other})) == Devices{18});
  CHECK(devices_of_layouts(two_kinds({Json::object(), other})) == Devices{12});
  other["device"] = "h100_sxm";
  other["count"] = 1;
  other["parallelism"] = {{"tensor", 2}, {"attention_data", 5}};
  CHECK(devices_of_layouts(two_kinds({h100, other})) == Devices{8});
  CHECK(devices_of_layouts(two_kinds({h100, {{"count", 4}}})) == Devices{14});
}

TEST_CASE("sweep: layouts of a model with experts deal ranks out to data-parallel groups and to experts") {
  Json s = two_kinds({{{"device", "l40s"}}});
  s["model"] = "qwen3-30b-a3b";
  CHECK(devices_of_layouts(s) == Devices{6});
  std::set<std::pair<int, int>> cuts;  // of tensor 2 and attention_data 3: data, expert
  for (const std::vector<Json>& choice : layouts_of(s, "test.json").choices)
    if (choice[0] == 2 && choice[1] == 1 && choice[3] == 1) cuts.emplace(choice[4], choice[2]);
  CHECK(cuts == std::set<std::pair<int, int>>{{3, 1}, {3, 2}, {3, 3}, {3, 6}});
}

TEST_CASE("sweep: constraints know the scenario's numbers, its devices and what varies") {
  Json s = two_kinds({{{"count", 5}, {"parallelism", {{"tensor", 2}, {"pipeline", 3}, {"expert", 4}}}}});
  s["seed"] = 7;
  s["workload"] = {{"arrivals", {{"rate_per_s", 2.5}}}, {"requests", {{"count", 900}}}};
  std::map<std::string, double> names;
  for (const auto& [name, value] : scenario_names(s)) names[name] = value;
  CHECK(names == std::map<std::string, double>{{"tensor", 2},
                                               {"pipeline", 3},
                                               {"expert", 4},
                                               {"replicas", 5},
                                               {"devices", 24},
                                               {"seed", 7},
                                               {"rate_per_s", 2.5},
                                               {"count", 900}});
  CHECK(Constraint("tensor * pipeline * 4 == devices").holds({}, s));
  CHECK_FALSE(Constraint("tensor * pipeline * replicas <= devices").holds({}, s));
  CHECK(Constraint("tensor * 3 == devices").holds({{"/serving/replicas/0/parallelism/tensor", 8}}, s));
  CHECK(Constraint("devices % 7 == 3 * 1").holds({}, s));
  CHECK(Constraint("3 * devices % 7 == 2").holds({}, s));
  CHECK_FALSE(Constraint("a_b").holds({{"/x/a/b", false}}, s));
  CHECK(Constraint("a_b").holds({{"/x/a/b", true}}, s));
}
