// Which devices of a replica send what to which, by hand: several stages, ranks and data ranks.
#include <catch2/catch.hpp>

#include "sim/serving/server/stages.h"

using namespace weir;

namespace {

// Hosts are only named here: none is ever asked anything.
simgrid::s4u::Host* host(int number) {
  return reinterpret_cast<simgrid::s4u::Host*>(static_cast<std::uintptr_t>(16 * (number + 1)));
}

struct Sent {
  int from, to;
  double bytes;
  bool operator==(const Sent&) const = default;
};

std::vector<Sent> sent(const std::vector<LinkFlow>& flows) {
  std::vector<Sent> all;
  const auto number = [](simgrid::s4u::Host* of) {
    return static_cast<int>(reinterpret_cast<std::uintptr_t>(of) / 16) - 1;
  };
  for (const LinkFlow& flow : flows) all.push_back({number(flow.from), number(flow.to), flow.bytes.value()});
  return all;
}

// Devices first, first + 1, ...; their node's memory is 90, its DIMMs 95, of those from `first + 2` on
// 91, 96.
Server::Stage stage(int first, int devices, double kv_per_token, double activation) {
  Server::Stage made{};
  for (int i = 0; i < devices; ++i) {
    made.ranks.push_back(host(first + i));
    made.memories.push_back(host(i < 2 ? 90 : 91));
    made.dimms.push_back(host(i < 2 ? 95 : 96));
  }
  made.kv_per_token = Bytes(kv_per_token);
  made.activation_per_token = Bytes(activation);
  return made;
}

std::vector<Server::Stage> two_stages(int first) {
  std::vector<Server::Stage> stages;
  stages.push_back(stage(first, 4, 3, 5));
  stages.push_back(stage(first + 4, 4, 7, 11));
  return stages;
}

}  // namespace

TEST_CASE("flows: a KV cache goes between the devices of its data rank and their node, stage by stage") {
  const auto stages = two_stages(0);
  // The second of two data ranks has devices 2 and 3 of each stage, behind the second node's link.
  const KvDevices devices{stages, 1, 2};
  CHECK(devices.in_stage(0) == 2);
  CHECK(devices.first(1) == 2);
  CHECK(sent(host_flows(devices, 10, true)) ==
        std::vector<Sent>{{2, 91, 30}, {3, 91, 30}, {6, 91, 70}, {7, 91, 70}});
  CHECK(sent(host_flows(devices, 10, false)) ==
        std::vector<Sent>{{91, 2, 30}, {91, 3, 30}, {91, 6, 70}, {91, 7, 70}});
  CHECK(sent(host_flows({stages, 0, 4}, 2, true)) == std::vector<Sent>{{0, 90, 6}, {4, 90, 14}});
}

TEST_CASE("flows: activations go from each rank to its like in the next stage, as wide as the sender's") {
  const auto stages = two_stages(0);
  CHECK(sent(activation_flows(stages[0], stages[1], 6)) ==
        std::vector<Sent>{{0, 4, 30}, {1, 5, 30}, {2, 6, 30}, {3, 7, 30}});
}

TEST_CASE("flows: a step's bytes go over each link of its ranks, in its direction and in its time") {
  Server::Stage one = stage(0, 3, 1, 1);
  one.links = {{2, ClusterLink::to_host}, {4, ClusterLink::from_host}, {3, ClusterLink::host_memory}};
  StepCost cost;
  cost.time = Seconds(9);
  cost.moved = {Bytes(1000), Bytes(2000), Bytes(20), Bytes(30), Bytes(40)};
  const std::vector<LinkFlow> flows = step_flows(one, cost);
  CHECK(sent(flows) == std::vector<Sent>{{0, 90, 20},
                                         {1, 90, 20},
                                         {2, 91, 20},
                                         {90, 0, 40},
                                         {90, 1, 40},
                                         {91, 2, 40},
                                         {90, 95, 30},
                                         {90, 95, 30},
                                         {91, 96, 30}});
  for (const LinkFlow& flow : flows) CHECK(flow.at_least == Seconds(9));
}

TEST_CASE("flows: of a prompt handed over a stage sends its parts, and what is kept once with the first") {
  const auto from = two_stages(0), to = two_stages(20);
  // From the second of two data ranks (2, 3; 6, 7) to the last of four (23; 27).
  const KvDevices sender{from, 1, 2}, receiver{to, 3, 4};
  const std::vector<KvPart> parts = {{0, 0, 0, 0, Bytes(4), Bytes(100)},
                                     {0, 1, 1, 0, Bytes(6), Bytes(0)},
                                     {1, 1, 1, 0, Bytes(5), Bytes(300)},
                                     {1, 0, 0, 0, Bytes(0), Bytes(50)}};
  CHECK(sent(handover_flows(sender, 0, receiver, parts, 2.5, false)) ==
        std::vector<Sent>{{2, 23, 10}, {3, 27, 15}});
  CHECK(sent(handover_flows(sender, 0, receiver, parts, 2.5, true)) ==
        std::vector<Sent>{{2, 23, 110}, {3, 27, 15}});
  // A part of no bytes is not sent.
  CHECK(sent(handover_flows(sender, 1, receiver, parts, 2, false)) == std::vector<Sent>{{7, 27, 10}});
  CHECK(sent(handover_flows(sender, 1, receiver, parts, 2, true)) ==
        std::vector<Sent>{{7, 27, 310}, {6, 23, 50}});
}
