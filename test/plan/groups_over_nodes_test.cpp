// Tensor-parallel groups over nodes: with as many devices in each by level, else as one ring.
#include <catch2/catch.hpp>

#include "sim/core/errors.h"
#include "sim/plan/plan.h"
#include "test/serving/random_scenario.h"

using namespace weir;

namespace {

// Nodes of H100 on NVLink, whose collectives an engine's library has measured, and one replica after another.
Json over_nodes(const Json& devices_by_node, const Json& tensors) {
  Json s = test::small_scenario();
  s["cluster"]["nodes"] = Json::array();
  for (const Json& devices : devices_by_node)
    s["cluster"]["nodes"].push_back(
        {{"devices", {{{"kind", "h100_sxm"}, {"count", devices}}}}, {"interconnect", "nvlink4_switch"}});
  s["cluster"]["network"] = {{"link_bandwidth_gb_per_s", 25}, {"link_latency_us", 3}};
  s["serving"]["replicas"] = Json::array();
  for (const Json& tensor : tensors)
    s["serving"]["replicas"].push_back(
        {{"parallelism", {{"tensor", tensor}}}, {"engine", {{"kind", "vllm_v1"}}}});
  return s;
}

constexpr Collective all_reduce = Collective::all_reduce;

}  // namespace

TEST_CASE("groups over nodes: as many devices in each go by level, over a rail a device") {
  Json scenario = over_nodes({4}, {8});
  scenario["cluster"]["nodes"][0]["count"] = 2;
  const Plan plan = read_plan(scenario, "test.json");
  const Rank& rank = plan.replicas[0].rank;
  REQUIRE(rank.levels);
  CHECK(rank.levels->nodes == 2);
  CHECK(rank.levels->per_node == 4);
  CHECK(rank.levels->network.bandwidth.value() == Approx(25e9));
  CHECK(rank.levels->network.latency.value() == Approx(2 * (3e-6 + pcie_latency.value())));
}

// NICs are dealt out to a node's devices in order: of eight devices each pair has one of four.
TEST_CASE("groups over nodes: devices that send at once share their node's NICs") {
  for (const auto& [tensor, nics, share] : {std::tuple{16, 16, 2.},
                                            {16, 8, 1.},
                                            {16, 4, 1. / 2},
                                            {16, 2, 1. / 4},
                                            {16, 1, 1. / 8},
                                            {16, 3, 1. / 3},   // three devices of eight have the first
                                            {16, 12, 3. / 2},  // eight of twelve, and half of another
                                            {8, 4, 1.},
                                            {8, 2, 1. / 2},
                                            {4, 1, 1. / 2}}) {
    CAPTURE(tensor, nics);
    Json scenario = over_nodes({tensor / 2}, {tensor});
    scenario["cluster"]["nodes"][0]["count"] = 2;
    scenario["cluster"]["network"]["links_per_node"] = nics;
    const Plan plan = read_plan(scenario, "test.json");
    REQUIRE(plan.replicas[0].rank.levels);
    CHECK(plan.replicas[0].rank.levels->network.bandwidth.value() == Approx(share * 25e9));
  }
}

TEST_CASE("groups over nodes: an uneven one is a ring over the network, which no library has measured") {
  Json scenario = over_nodes({3}, {4});
  scenario["cluster"]["nodes"][0]["count"] = 2;
  const Plan uneven = read_plan(scenario, "test.json");
  const Rank& rank = uneven.replicas[0].rank;
  REQUIRE_FALSE(rank.levels);
  CHECK(rank.links.shape == LinkShape::ring);
  CHECK(rank.links.bandwidth.value() == Approx(25e9));
  const LinkSpec idle{
      .shape = LinkShape::ring, .bandwidth = rank.links.bandwidth, .latency = rank.links.latency};
  for (const double bytes : {1e3, 1e5, 1e7})
    CHECK(rank.collectives->time(all_reduce, Bytes(bytes), 4).value() ==
          Approx(make_collectives(idle, "")->time(all_reduce, Bytes(bytes), 4).value()));
}

TEST_CASE("groups over nodes: devices of two entries are no group, and the refusal says so") {
  try {
    read_plan(over_nodes({4, 4}, {8}), "test.json");
    FAIL("was read");
  } catch (const ConfigError& e) {
    REQUIRE(e.problems().size() == 1);
    CHECK_THAT(e.problems()[0].what,
               Catch::EndsWith("the cluster has 8 left, and no entry of nodes as many that are alike"));
  }
}

TEST_CASE("groups over nodes: replicas of one entry have the same share of each node, or are refused") {
  Json scenario = over_nodes({3}, {4});
  scenario["cluster"]["nodes"][0]["count"] = 3;
  scenario["serving"]["replicas"][0]["count"] = 2;
  try {
    read_plan(scenario, "test.json");
    FAIL("was read");
  } catch (const ConfigError& e) {
    REQUIRE(e.problems().size() == 1);
    CHECK(e.problems()[0].pointer == "/serving/replicas/0");
    CHECK_THAT(e.problems()[0].what, Catch::Contains("replica 2 of 2 would have other shares of nodes"));
  }
}

TEST_CASE("groups over nodes: a group larger than a node begins on a free one, not on what others left") {
  Json scenario = over_nodes({8}, {4, 16, 4});
  scenario["cluster"]["nodes"][0]["count"] = 3;
  const Plan plan = read_plan(scenario, "test.json");
  const auto node_of = [&](std::size_t replica, std::size_t device) {
    return plan.replicas[replica].places[0][0][device].node;
  };
  CHECK(node_of(0, 0) == 0);
  for (std::size_t device = 0; device < 16; ++device) CHECK(node_of(1, device) == (device < 8 ? 1 : 2));
  CHECK(node_of(2, 0) == 0);  // which is where something is left
}

TEST_CASE("groups over nodes: where free nodes are too few, what others left is taken") {
  Json scenario = over_nodes({5}, {1, 8});
  scenario["cluster"]["nodes"][0]["count"] = 2;
  const Plan plan = read_plan(scenario, "test.json");
  CHECK(plan.replicas[1].places[0][0].front().node == 0);
  CHECK(plan.replicas[1].places[0][0].back().node == 1);
}
