// Collectives as SimGrid flows against their closed forms, on idle links of every shape.
#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <simgrid/s4u.hpp>

#include "sim/app/child_process.h"
#include "sim/serving/platform/courier.h"
#include "sim/serving/platform/engine.h"
#include "test/serving/run_in_child.h"

using namespace weir;
namespace sg4 = simgrid::s4u;

namespace {

const Collective all_kinds[] = {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter,
                                Collective::all_to_all, Collective::send_receive};
// Every share of them is whole bytes, which is all that SimGrid sends.
const double sizes[] = {840 * 10, 840 * 400, 840 * 13e3, 840 * 5e5};

struct Case {
  std::string shape;
  int devices;
};

Scenario scenario_of(const Case& c) {
  Json scenario = test::small_scenario();
  Json& node = scenario["cluster"]["nodes"][0];
  node["devices"][0]["count"] = c.devices;
  node["interconnect"] = {{"shape", c.shape}, {"bandwidth_gb_per_s", 120}, {"latency_us", 1.7}};
  scenario["collectives"] = "flows";
  return read_plan(scenario, "test.json").scenario;
}

// Seconds that each kind and size took, one after another.
std::string play_all(const Case& c) {
  const Scenario scenario = scenario_of(c);
  const auto engine = make_engine();
  const Cluster cluster(scenario);
  std::vector<sg4::Host*> ranks;
  for (int i = 0; i < c.devices; ++i) ranks.push_back(cluster.device({0, i}));
  std::vector<double> took;
  sg4::Actor::create("ranks", ranks[0], [&] {
    for (const Collective op : all_kinds)
      for (const double bytes : sizes) {
        const double start = sg4::Engine::get_clock();
        play_collective(plain_rounds(op, Bytes(bytes), c.devices, scenario.nodes[0].interconnect.shape),
                        ranks);
        took.push_back(sg4::Engine::get_clock() - start);
      }
  });
  engine->run();
  return {reinterpret_cast<const char*>(took.data()), took.size() * sizeof(double)};
}

// In seconds, by kind and size.
std::vector<double> times_of(const ChildResult& child) {
  std::vector<double> took(child.output.size() / sizeof(double));
  std::memcpy(took.data(), child.output.data(), child.output.size());
  REQUIRE(took.size() == std::size(all_kinds) * std::size(sizes));
  return took;
}

}  // namespace

TEST_CASE("collectives: played as flows on idle links they take what the closed form says", "[engine]") {
  std::vector<Case> cases;
  for (const char* shape : {"switch", "ring", "full_mesh"})
    for (int devices = 2; devices <= 8; ++devices) cases.push_back({shape, devices});
  std::size_t ended = 0;
  in_children(
      cases.size(), 1, [&](std::size_t i) { return play_all(cases[i]); },
      [&](std::size_t i, ChildResult child) {
        const auto& [shape, devices] = cases[i];
        CAPTURE(shape, devices);
        REQUIRE(child.error == "");
        const LinkSpec links = scenario_of(cases[i]).nodes[0].interconnect;
        const auto closed = make_collectives(links, "");
        const std::vector<double> took = times_of(child);
        auto next = took.begin();
        for (const Collective op : all_kinds)
          for (const double bytes : sizes) {
            CAPTURE(static_cast<int>(op), bytes);
            CHECK(*next++ == Approx(closed->time(op, Bytes(bytes), devices).value()).epsilon(1e-6));
          }
        ++ended;
        return true;
      });
  CHECK(ended == cases.size());
}

TEST_CASE("collectives: what the ranks of a plain algorithm send is what the closed form counts") {
  for (const LinkShape shape : {LinkShape::switched, LinkShape::ring, LinkShape::full_mesh})
    for (int devices = 1; devices <= 9; ++devices)
      for (const Collective op : all_kinds) {
        CAPTURE(static_cast<int>(shape), devices, static_cast<int>(op));
        const auto closed = make_collectives({"custom", shape, BytesPerSecond(1e9), Seconds(0)}, "");
        std::map<int, double> sent;
        for (const auto& round : plain_rounds(op, Bytes(1e6), devices, shape))
          for (const Message& m : round) sent[m.from] += m.bytes.value();
        CHECK(sent.size() == (devices == 1                     ? 0u
                              : op == Collective::send_receive ? 1u
                                                               : std::size_t(devices)));
        for (const auto& [rank, bytes] : sent)
          CHECK(bytes == Approx(closed->sent(op, Bytes(1e6), devices).value()));
      }
}

namespace {

struct Nodes {
  int nodes, per_node;
  Json links_per_node;
};

Plan plan_over(const Nodes& c) {
  Json scenario = test::small_scenario();
  Json& cluster = scenario["cluster"];
  cluster["nodes"][0]["count"] = c.nodes;
  cluster["nodes"][0]["devices"][0]["count"] = 4;
  cluster["nodes"][0]["interconnect"] = {
      {"shape", "switch"}, {"bandwidth_gb_per_s", 120}, {"latency_us", 1.7}};
  cluster["network"] = {{"topology", "star"},
                        {"link_bandwidth_gb_per_s", 25},
                        {"link_latency_us", 3},
                        {"links_per_node", c.links_per_node}};
  scenario["serving"]["replicas"][0]["parallelism"]["tensor"] = c.nodes * c.per_node;
  scenario["collectives"] = "flows";
  return read_plan(scenario, "test.json");
}

// All kinds and sizes over the replica's ranks, one after another.
std::string play_over(const Nodes& c) {
  const Plan plan = plan_over(c);
  const Rank& rank = plan.replicas[0].rank;
  const auto engine = make_engine();
  const Cluster cluster(plan.scenario);
  std::vector<sg4::Host*> ranks;
  for (const DevicePlace& at : plan.replicas[0].places[0][0]) ranks.push_back(cluster.device(at));
  std::vector<double> took;
  sg4::Actor::create("ranks", ranks[0], [&] {
    for (const Collective op : all_kinds)
      for (const double bytes : sizes) {
        const double start = sg4::Engine::get_clock();
        play_collective(rounds_by_level(op, Bytes(bytes), rank.links, *rank.levels), ranks);
        took.push_back(sg4::Engine::get_clock() - start);
      }
  });
  engine->run();
  return {reinterpret_cast<const char*>(took.data()), took.size() * sizeof(double)};
}

}  // namespace

TEST_CASE("collectives: played as flows over nodes they take what the closed form by level says",
          "[engine]") {
  // A NIC a device; one for all four of a node; fewer than devices, and no divisor of them; more.
  const std::vector<Nodes> cases = {{2, 4, nullptr}, {4, 4, nullptr}, {2, 4, 1},
                                    {2, 4, 2},       {2, 4, 3},       {2, 4, 8}};
  std::size_t ended = 0;
  in_children(
      cases.size(), 1, [&](std::size_t i) { return play_over(cases[i]); },
      [&](std::size_t i, ChildResult child) {
        CAPTURE(cases[i].nodes, cases[i].links_per_node.dump());
        REQUIRE(child.error == "");
        const Plan plan = plan_over(cases[i]);
        const Rank& rank = plan.replicas[0].rank;
        REQUIRE(rank.levels);
        const std::vector<double> took = times_of(child);
        auto next = took.begin();
        for (const Collective op : all_kinds)
          for (const double bytes : sizes) {
            CAPTURE(static_cast<int>(op), bytes);
            const int devices = cases[i].nodes * cases[i].per_node;
            const double closed = rank.collectives->time(op, Bytes(bytes), devices).value();
            // One device alone has its NIC for itself, where the closed form has all of a node send.
            if (op == Collective::send_receive && cases[i].links_per_node.is_number())
              CHECK(*next++ <= Approx(closed).epsilon(1e-6));
            else
              CHECK(*next++ == Approx(closed).epsilon(1e-6));
          }
        ++ended;
        return true;
      });
  CHECK(ended == cases.size());
}
