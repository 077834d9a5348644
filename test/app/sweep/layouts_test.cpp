// "layouts": "all": which there are, and why the others are left out.
#include <catch2/catch.hpp>

#include <map>

#include "test/app/sweep/sweep_files.h"

using namespace weir;
using namespace weir::test;

TEST_CASE("sweep: layouts are every way to use all devices, and each one left out has its reason") {
  const Sweep sweep = swept(with(R"({"layouts": "all", "vary": {"/workload/arrivals/rate_per_s": [1, 2]}})",
                                 llama70b("h100_sxm", 8)));
  std::set<std::vector<int>> found, expected;
  for (const Point& p : sweep.points) found.insert(layout_of(sweep, p));
  for (int t = 1; t <= 8; t *= 2)
    for (int p = 1; t * p <= 8; p *= 2) expected.insert({t, p, 8 / t / p});
  expected.erase({1, 1, 8});  // 131 GiB of weights
  CHECK(found == expected);
  CHECK(sweep.points.size() == 2 * expected.size());
  CHECK(sweep.varied == std::vector<std::string>{rate, tensor, pipeline, replicas});  // no experts, no column
  REQUIRE(sweep.left_out.size() == 1);
  CHECK(sweep.left_out[0].what == "tensor 1 x pipeline 1 x 8 replicas");
  CHECK(sweep.left_out[0].why.find("does not fit on h100_sxm") != std::string::npos);
}

TEST_CASE("sweep: layouts say which heads, layers and experts forbid them") {
  Json scenario = llama70b("h100_sxm", 12);  // 64 heads, 80 layers
  Sweep sweep = swept(with(R"({"layouts": "all"})", scenario));
  std::map<std::string, std::string> why;
  for (const LeftOut& left : sweep.left_out) why[left.what] = left.why;
  CHECK(why.at("tensor 3 x pipeline 4 x 1 replicas").find("attention heads (64)") == 0);
  CHECK(why.at("tensor 12 x pipeline 1 x 1 replicas").find("attention heads (64)") == 0);
  CHECK_FALSE(why.contains("tensor 4 x pipeline 3 x 1 replicas"));
  CHECK(values_of(sweep, pipeline).dump().find("12") != std::string::npos);

  scenario["model"] = "mixtral-8x7b";
  scenario["cluster"]["nodes"][0]["devices"][0]["count"] = 4;
  sweep = swept(with(R"({"layouts": "all"})", scenario));
  std::set<int> cuts;  // of four tensor ranks: 1, 2 and 4 groups of experts
  for (const Point& p : sweep.points) {
    const Json cut = scenario_of(sweep, p)["serving"]["replicas"][0]["parallelism"];
    if (cut["tensor"] == 4) cuts.insert(cut["expert"].get<int>());
  }
  CHECK(cuts == std::set<int>{1, 2, 4});
}

TEST_CASE("sweep: layouts of a varied cluster use the devices of each point") {
  const Sweep sweep =
      swept(with(R"({"layouts": "all", "vary": {"/cluster/nodes/0/devices/0/count": [2, 4]}})"));
  REQUIRE_FALSE(sweep.points.empty());
  for (const Point& p : sweep.points) {
    const std::vector<int> layout = layout_of(sweep, p);
    const int used = layout[0] * layout[1] * layout[2];
    CHECK(scenario_of(sweep, p)["cluster"]["nodes"][0]["devices"][0]["count"] == used);
  }
}

TEST_CASE(
    "sweep: layouts that cannot hold max_model_len or kv_cache.blocks are left out, a wrong value is not") {
  Json scenario = llama70b("h100_sxm", 4);
  Json& group = scenario["serving"]["replicas"][0];
  const auto left_out = [&] {
    const Sweep sweep = swept(with(R"({"layouts": "all"})", scenario));
    CHECK_FALSE(sweep.points.empty());
    std::map<std::string, std::string> why;
    for (const LeftOut& left : sweep.left_out) why[left.what] = left.why;
    CHECK(sweep.points.size() + why.size() == 6);
    return why;
  };
  const std::string two = "tensor 2 x pipeline 1 x 2 replicas";
  CHECK_FALSE(left_out().contains(two));
  group["max_model_len"] = 100'000;
  CHECK(left_out().at(two).find("a request of 100000 tokens could not run even alone") == 0);
  group["max_model_len"] = nullptr;
  group["kv_cache"]["blocks"] = 10'000;
  CHECK(left_out().at(two).find("10000 KV blocks of 2.50 MiB do not fit") != std::string::npos);
  group["kv_cache"]["blocks"] = -1;
  CHECK(places(problems_of(with(R"({"layouts": "all"})", scenario))) ==
        std::set<std::string>{"/scenario/serving/replicas/0/kv_cache/blocks"});
}
