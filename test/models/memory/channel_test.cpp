#include <catch2/catch.hpp>

#include "models/memory/address_mapping.h"
#include "models/memory/dram/channel.h"

using namespace weir;

namespace {

std::vector<Cycles> ends(const ChannelRun& run) {
  std::vector<Cycles> all;
  for (const ServedRequest& r : run.requests) all.push_back(r.data_end);
  return all;
}

}  // namespace

TEST_CASE("DRAM channel: a lone read takes 1 + tRCD + CL + burst from its accept, whenever it comes") {
  for (const std::string& name : memory_names()) {
    const MemorySpec m = find_memory(name);
    const DramTimings& t = m.timings;
    for (const Cycles arrival : {Cycles{0}, Cycles{1}, Cycles{777}, Cycles{1'000'000'007}}) {
      const std::vector<MemoryRequest> one = {{arrival, 0, false}};
      const ChannelRun run = play(m, one, {.refresh = false});
      INFO(name << " at " << arrival);
      CHECK(run.requests[0].accept == std::max<Cycles>(1, arrival));
      CHECK(run.span() == 1 + t.rcd_rd + t.cl + t.burst);
    }
  }
}

TEST_CASE("DRAM channel: two rows of a bank wait for tRAS or tRTP, tRP and tRCD") {
  for (const std::string& name : memory_names()) {
    const MemorySpec m = find_memory(name);
    const DramTimings& t = m.timings;
    const AddressMapping mapping(m);
    const std::vector<MemoryRequest> two = {{0, 0, false},
                                            {0, mapping.address({.row = 1, .column = 0}), false}};
    INFO(name);
    CHECK(play(m, two, {.refresh = false}).span() ==
          1 + std::max(t.ras, t.rcd_rd + t.rtp) + t.rp + t.rcd_rd + t.cl + t.burst);
  }
}

TEST_CASE("DRAM channel: a read finds the data of a waiting write, and reads of one place share a burst") {
  const MemorySpec m = find_memory("hbm2_neupims");
  const std::vector<MemoryRequest> requests = {
      {0, 0, true}, {0, 32, false}, {0, 4096, false}, {0, 4096, false}};
  const ChannelRun run = play(m, requests);
  CHECK(run.merged == 2);
  CHECK(run.requests[1].complete == run.requests[1].accept + 1);
  CHECK(run.requests[2].data_end == run.requests[3].data_end);
  CHECK(run.count(DramCommand::read) == 1);
  CHECK(run.count(DramCommand::write) == 1);
}

TEST_CASE("DRAM channel: a write waits for a read of its place that came first") {
  const MemorySpec m = find_memory("ddr4_3200_l3");
  std::vector<MemoryRequest> requests = {{0, 0, false}};
  for (int i = 0; i < 40; ++i) requests.push_back({0, static_cast<std::uint64_t>(i) * 64, true});
  const ChannelRun run = play(m, requests);
  CHECK(run.requests[1].data_end > run.requests[0].data_end);
}

TEST_CASE("DRAM channel: a full write queue of places that wait to be read does not lock it") {
  const MemorySpec m = find_memory("hbm2_neupims");
  const AddressMapping mapping(m);
  std::vector<MemoryRequest> requests;  // more reads of one bank than its queue holds, then their writes
  for (const bool is_write : {false, true})
    for (int i = 0; i < 32; ++i)
      requests.push_back({0, mapping.address({.row = 31 - i, .column = 0}), is_write});
  for (int i = 0; i < 32; ++i) requests.push_back({0, mapping.address({.row = i, .column = 1}), true});
  const ChannelRun run = play(m, requests);
  for (std::size_t i = 0; i < 32; ++i) CHECK(run.requests[i + 32].data_end > run.requests[i].data_end);
}

TEST_CASE("DRAM channel: writes wait until their queue is full, then drain together") {
  const MemorySpec m = find_memory("hbm2_neupims");
  std::vector<MemoryRequest> requests;
  for (std::uint64_t i = 0; i < 32; ++i) requests.push_back({0, i * 64, true});
  requests.push_back({1000, 1 << 20, false});
  const std::vector<Cycles> nine = ends(play(m, std::span(requests).first(9)));
  CHECK(nine.front() < 60);  // idle banks drain nine
  std::vector<MemoryRequest> eight(requests.begin(), requests.begin() + 8);
  eight.push_back(requests.back());
  CHECK(ends(play(m, eight)).front() > 1000);                       // eight wait for more
  CHECK(ends(play(m, std::span(requests).first(8))).front() < 60);  // unless nothing will come
}

TEST_CASE("DRAM channel: after four hits a waiting row closes the open one, though hits wait") {
  const MemorySpec m = find_memory("hbm2_neupims");
  const AddressMapping mapping(m);
  std::vector<MemoryRequest> requests;
  for (int i = 0; i < 2; ++i) requests.push_back({0, mapping.address({.row = 0, .column = i}), false});
  requests.push_back({0, mapping.address({.row = 1, .column = 0}), false});
  for (int i = 2; i < 7; ++i) requests.push_back({0, mapping.address({.row = 0, .column = i}), false});
  const std::vector<Cycles> end = ends(play(m, requests));
  CHECK(end[2] > end[7]);  // all hits are read before tRAS lets the row close
  MemorySpec hasty = m;
  hasty.timings.ras = 16;  // it may close at once
  hasty.timings.rtp = 1;
  const std::vector<Cycles> capped = ends(play(hasty, requests));
  CHECK(capped[2] > capped[4]);  // the fourth hit
  CHECK(capped[2] < capped[5]);
}

TEST_CASE("DRAM channel: writes to one place are merged for as long as they wait, however many") {
  const MemorySpec m = find_memory("hbm2_neupims");
  std::vector<MemoryRequest> requests;
  for (int i = 0; i < 100000; ++i)
    requests.push_back({0, i % 2 == 0 ? 0 : 4096 + 64 * std::uint64_t(i), i % 2 == 0});
  const ChannelRun run = play(m, requests);
  CHECK(run.count(DramCommand::write) == 1);
  CHECK(run.merged == 49999);
  CHECK(run.requests[0].data_end == run.requests[99998].data_end);
}

TEST_CASE("DRAM channel: no requests are no time") {
  const ChannelRun run = play(find_memory("hbm3"), {});
  CHECK(run.span() == 0);
  CHECK(run.requests.empty());
}
