// The links that a flow crosses in a cluster, by hand: rings, meshes, switches, PCIe and shared NICs.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <simgrid/s4u.hpp>

#include "sim/app/child_process.h"
#include "sim/serving/platform/courier.h"
#include "sim/serving/platform/engine.h"
#include "sim/serving/run_end.h"
#include "test/serving/run_in_child.h"

using namespace weir;
namespace sg4 = simgrid::s4u;

namespace {

std::string in_a_child(const std::function<std::string()>& what) {
  std::string output;
  in_children(
      1, 1, [&](std::size_t) { return what(); },
      [&](std::size_t, ChildResult child) {
        REQUIRE(child.error == "");
        output = child.output;
        return true;
      });
  return output;
}

using Way = std::function<std::pair<sg4::Host*, sg4::Host*>(const Cluster&)>;

Way between(DevicePlace from, DevicePlace to) {
  return [=](const Cluster& cluster) { return std::pair(cluster.device(from), cluster.device(to)); };
}

// Links by name and GB/s, and the latency in microseconds.
std::string route_in(const Json& scenario, const Way& way) {
  return in_a_child([&] {
    const Plan plan = read_plan(scenario, "test.json");
    const auto engine = make_engine();
    const Cluster cluster(plan.scenario, true);
    std::string words;
    const auto [from, to] = way(cluster);
    sg4::Actor::create("asks", cluster.node(0), [&, from = from, to = to] {
      std::vector<sg4::Link*> links;
      double latency = 0;
      from->route_to(to, links, &latency);
      for (const sg4::Link* link : links)
        words += fmt::format("{} {:g}, ", link->get_name(), link->get_bandwidth() / 1e9);
      words += fmt::format("{:g} us", 1e6 * latency);
    });
    engine->run();
    return words;
  });
}

Json cluster_of(int devices, const Json& interconnect, int nodes = 1, const Json& links = nullptr) {
  Json scenario = test::small_scenario();
  Json& cluster = scenario["cluster"];
  cluster["nodes"][0]["count"] = nodes;
  cluster["nodes"][0]["devices"][0] = {{"kind", "h100_sxm"}, {"count", devices}};
  cluster["nodes"][0]["interconnect"] = interconnect;
  cluster["network"] = {{"topology", "star"},
                        {"link_bandwidth_gb_per_s", 25},
                        {"link_latency_us", 3},
                        {"links_per_node", links}};
  return scenario;
}

Json links_of_shape(const std::string& shape) {
  return {{"shape", shape}, {"bandwidth_gb_per_s", 120}, {"latency_us", 2}};
}

}  // namespace

TEST_CASE("routes: a ring is crossed the shorter way round, a switch in half a hop each, a mesh at once") {
  const Json ring = cluster_of(5, links_of_shape("ring"));
  CHECK(route_in(ring, between({0, 1}, {0, 3})) ==
        "node0.h100_sxm-1.out 120, node0.h100_sxm-2.out 120, 4 us");
  CHECK(route_in(ring, between({0, 1}, {0, 4})) == "node0.h100_sxm-0.in 120, node0.h100_sxm-4.in 120, 4 us");
  CHECK(route_in(ring, between({0, 4}, {0, 0})) == "node0.h100_sxm-4.out 120, 2 us");
  // Where both ways are as long it goes forward.
  CHECK(route_in(cluster_of(4, links_of_shape("ring")), between({0, 3}, {0, 1})) ==
        "node0.h100_sxm-3.out 120, node0.h100_sxm-0.out 120, 4 us");
  CHECK(route_in(cluster_of(5, links_of_shape("switch")), between({0, 1}, {0, 3})) ==
        "node0.h100_sxm-1.out 120, node0.h100_sxm-3.in 120, 2 us");
  // Each of 5 devices has a link of its own to each of the 4 others.
  CHECK(route_in(cluster_of(5, links_of_shape("full_mesh")), between({0, 1}, {0, 3})) ==
        "node0.mesh1-3 30, 2 us");
}

TEST_CASE("routes: without an interconnect devices meet over the host's PCIe") {
  const double pcie = read_plan(cluster_of(3, "none"), "test.json")
                          .scenario.nodes[0]
                          .devices[0]
                          .device->spec()
                          .host_bandwidth.value() /
                      1e9;
  CHECK(route_in(cluster_of(3, "none"), between({0, 2}, {0, 1})) ==
        fmt::format("node0.h100_sxm-2.pcie_out {0:g}, node0.h100_sxm-1.pcie_in {0:g}, 1 us", pcie));
}

TEST_CASE("routes: devices share a node's NICs in order, and each node has its wire to the network") {
  const double pcie = read_plan(cluster_of(5, links_of_shape("switch")), "test.json")
                          .scenario.nodes[0]
                          .devices[0]
                          .device->spec()
                          .host_bandwidth.value() /
                      1e9;
  const auto way = [&](int from_slot, int from_nic, int to_slot, int to_nic, double nic, double wire) {
    return fmt::format(
        "node0.h100_sxm-{0}.pcie_out {4:g}, node0.nic{1}_out {5:g}, node0.network_UP {6:g}, "
        "node2.network_DOWN {6:g}, node2.nic{3}_in {5:g}, node2.h100_sxm-{2}.pcie_in {4:g}, 7 us",
        from_slot, from_nic, to_slot, to_nic, pcie, nic, wire);
  };
  // Two links for five devices: 0 to 2 have the first, 3 and 4 the second.
  const Json two = cluster_of(5, links_of_shape("switch"), 3, 2);
  CHECK(route_in(two, between({0, 2}, {2, 3})) == way(2, 0, 3, 1, 25, 50));
  CHECK(route_in(two, between({0, 4}, {2, 0})) == way(4, 1, 0, 0, 25, 50));
  // Ten for five are two each.
  const Json ten = cluster_of(5, links_of_shape("switch"), 3, 10);
  CHECK(route_in(ten, between({0, 4}, {2, 2})) == way(4, 4, 2, 2, 50, 250));
}

TEST_CASE("traffic: flows that meet on a link take its time for all of them, and each lays its bytes there",
          "[engine]") {
  const std::string words = in_a_child([] {
    const Plan plan = read_plan(cluster_of(4, links_of_shape("switch")), "test.json");
    const auto engine = make_engine();
    const Cluster cluster(plan.scenario, true);
    Recorder recorder(plan.scenario.workload, {}, false);
    LinkTraffic traffic(recorder);
    const auto flow = [&](int from, int to, double bytes) {
      return LinkFlow{cluster.device({0, from}), cluster.device({0, to}), Bytes(bytes), Seconds(0)};
    };
    std::string told;
    const auto group = traffic.add_group({flow(3, 1, 1)}, [&] { told += "joined "; });
    const auto steps = traffic.add_group(
        {flow(2, 1, 1)}, [&] { told += "steps "; }, LinkTraffic::Of::steps);
    std::string output;
    sg4::Actor::create("asks", cluster.node(0), [&] {
      // 3 and 1 bytes times 120e9 into device 1, 2 into device 0; nothing to itself, and no bytes.
      const std::vector<LinkFlow> flows = {flow(0, 1, 3 * 120e9), flow(2, 1, 120e9), flow(3, 0, 240e9),
                                           flow(1, 1, 960e9), flow(0, 2, 0)};
      output += fmt::format("{:.6f}\n", traffic.alone(flows).value());
      recorder.sent(0, Seconds(0));
      traffic.carried(flows, Seconds(0), Seconds(4));
      for (const LinkUsage& link : recorder.result().links)
        if (link.carried > Bytes(0))
          output += fmt::format("{} {:g} ", link.name.substr(6), link.carried.value() / 120e9);
      traffic.stop_recording();
      traffic.carried(flows, Seconds(0), Seconds(4));
      output += fmt::format("\n{:g}\n", recorder.result().links[0].carried.value() / 120e9);
      // Two moves into device 1: the group hears of the first, its steps of others' alone.
      const std::vector<LinkFlow> first = {flow(0, 1, 5)}, second = {flow(2, 1, 5)};
      traffic.transfer_begins(first, Seconds(7));
      traffic.transfer_begins(second, Seconds(8), LinkTraffic::By::others);
      output += fmt::format("{}{} {} ", told, traffic.shared_since(group)->value(),
                            traffic.shared_since(steps)->value());
      output += fmt::format("{} {} ", traffic.beside_others(group), traffic.beside_others(steps));
      traffic.transfer_ends(second, LinkTraffic::By::others);
      output += fmt::format("{} {} ", traffic.beside_others(group), traffic.shared_since(steps).has_value());
      output += fmt::format("{} ", traffic.shared_since(group)->value());
      traffic.transfer_ends(first);
      output += fmt::format("{}", traffic.shared_since(group).has_value());
    });
    engine->run();
    return output;
  });
  // 480e9 bytes into device 1 are 4 s behind 2 us.
  CHECK(words ==
        "4.000002\n"
        "h100_sxm-3.out 2 h100_sxm-1.in 4 h100_sxm-2.out 1 h100_sxm-0.out 3 h100_sxm-0.in 2 \n"
        "2\n"
        "joined steps 7 8 true true false false 7 false");
}

TEST_CASE("run end: the first device to stop ends it, with the replicas that it serves", "[engine]") {
  Json scenario = cluster_of(3, links_of_shape("switch"), 2);
  const auto of = [](int tensor) { return Json{{"parallelism", {{"tensor", tensor}}}}; };
  scenario["serving"]["replicas"] = Json::array({of(2), of(2), of(1)});
  const auto end_with = [&](const Json& devices, double time_limit) {
    Json changed = scenario;
    changed["cluster"]["nodes"][0]["count"] = 1;
    changed["cluster"]["nodes"].push_back(changed["cluster"]["nodes"][0]);
    changed["cluster"]["nodes"][0]["devices"][0]["count"] = 2;
    changed["cluster"]["nodes"][1]["devices"] = devices;
    if (time_limit > 0) changed["simulated_time_limit_s"] = time_limit;
    return in_a_child([&] {
      const Plan plan = read_plan(changed, "test.json");
      const auto engine = make_engine();
      const Cluster cluster(plan.scenario);
      const RunEnd end = end_of(plan, cluster);
      std::string words = end.at ? fmt::format("{:g}", end.at->value()) : "never";
      if (end.stopped) words += fmt::format(" {} {:g}", end.stopped->name, end.stopped->at.value());
      for (const int replica : end.replicas) words += fmt::format(" of {}", replica);
      return words;
    });
  };
  const auto stops = [](double second, double third) {  // these two of the node's three devices
    const auto off = [](double at) { return Json::array({Json::array({at, 0})}); };
    return Json::array({{{"kind", "h100_sxm"}, {"count", 2}, {"index", 1}, {"state_profile", off(second)}},
                        {{"kind", "h100_sxm"}, {"count", 1}, {"state_profile", off(third)}}});
  };
  const Json always = {{"kind", "h100_sxm"}, {"count", 3}};
  CHECK(end_with(Json::array({always}), 0) == "never");
  CHECK(end_with(Json::array({always}), 30) == "30");
  // Replica 0 is on the first node; replica 1, of two devices, and replica 2 are on the second.
  CHECK(end_with(stops(20, 10), 0) == "10 node1.h100_sxm-2 10 of 2");
  CHECK(end_with(stops(20, 25), 22) == "20 node1.h100_sxm-1 20 of 1");
  CHECK(end_with(stops(20, 25), 15) == "15");
  // Where two stop at one time it is the first, and the time limit is before one that stops then.
  CHECK(end_with(stops(20, 20), 0) == "20 node1.h100_sxm-1 20 of 1");
  CHECK(end_with(stops(20, 25), 20) == "20");
}
