// The operators of a step send over the host's link, beside a KV cache that moves there.
#include <catch2/catch.hpp>
#include <cstring>
#include <simgrid/s4u.hpp>

#include "sim/app/child_process.h"
#include "sim/serving/platform/courier.h"
#include "sim/serving/platform/engine.h"
#include "test/serving/run_in_child.h"

using namespace weir;
namespace sg4 = simgrid::s4u;

namespace {

struct Ends {
  double step, move;  // seconds
};

// A step of one second that sends `share` of what the link could in that time, beside a move of `moved`.
std::string play(double share, double moved) {
  Json json = test::small_scenario();
  json["serving"]["replicas"][0]["kv_cache"]["preemption"] = "swap";  // so that there are links
  const Scenario scenario = read_plan(json, "test.json").scenario;
  const auto engine = make_engine();
  const Cluster cluster(scenario);
  sg4::Host *device = cluster.device({0, 0}), *host = cluster.node(0);
  const double second = scenario.nodes[0].devices[0].device->spec().host_bandwidth.value();
  Ends ends{};
  sg4::Actor::create("move", host, [&] {
    send_and_wait({{host, device, Bytes(moved * second), Seconds(0)}}, nullptr);
    ends.move = sg4::Engine::get_clock();
  });
  sg4::Actor::create("step", device, [&] {
    send_and_wait({{host, device, Bytes(share * second), Seconds(1)}}, nullptr);
    ends.step = sg4::Engine::get_clock();
  });
  engine->run();
  return {reinterpret_cast<const char*>(&ends), sizeof(ends)};
}

Ends played(double share, double moved) {
  Ends ends{};
  in_children(
      1, 1, [&](std::size_t) { return play(share, moved); },
      [&](std::size_t, ChildResult child) {
        REQUIRE(child.error == "");
        REQUIRE(child.output.size() == sizeof(ends));
        std::memcpy(&ends, child.output.data(), sizeof(ends));
        return true;
      });
  return ends;
}

}  // namespace

TEST_CASE("shared links: a step alone takes its own time, to the last digits", "[engine]") {
  for (const double share : {0.001, 0.3, 0.99}) CHECK(played(share, 0).step == Approx(1).epsilon(1e-9));
}

TEST_CASE("shared links: a step that leaves half of a link slows the move, not itself", "[engine]") {
  const Ends ends = played(0.2, 1);
  CHECK(ends.step == Approx(1).epsilon(1e-5));
  CHECK(ends.move == Approx(1.2).epsilon(1e-5));
}

TEST_CASE("shared links: a step that wants more than half is slowed, as the move is", "[engine]") {
  const Ends ends = played(0.6, 1);
  CHECK(ends.step == Approx(1.2).epsilon(1e-5));
  CHECK(ends.move == Approx(1.6).epsilon(1e-5));
}
