#include <algorithm>
#include <catch2/catch.hpp>

#include "models/memory/address_mapping.h"
#include "models/memory/dram/energy.h"
#include "test/models/memory/command_checker.h"

using namespace weir;

namespace {

template <class Check>
void over_all(Check check) {  // memories, and random requests with and without refresh
  for (const std::string& name : memory_names()) {
    const MemorySpec memory = find_memory(name);
    for (unsigned seed = 0; seed < 6; ++seed) {
      const std::vector<MemoryRequest> requests = test::random_requests(memory, 600, seed);
      std::vector<IssuedCommand> log;
      const bool refresh = seed % 3 != 0;
      INFO(name << ", seed " << seed);
      check(memory, requests, play(memory, requests, {refresh, &log}), log, refresh);
    }
  }
}

std::int64_t count(const std::vector<IssuedCommand>& log, DramCommand command) {
  return std::count_if(log.begin(), log.end(), [&](const IssuedCommand& c) { return c.command == command; });
}

}  // namespace

TEST_CASE("DRAM laws: no command breaks a constraint, a state or the data bus") {
  over_all([](const MemorySpec& memory, const auto&, const ChannelRun&, const auto& log, bool) {
    CHECK(test::first_violation(memory, log) == "");
  });
}

TEST_CASE("DRAM laws: every request is served once, in the order of causes") {
  over_all([](const MemorySpec& memory, const auto& requests, const ChannelRun& run, const auto&, bool) {
    const DramTimings& t = memory.timings;
    Cycles before = 0;
    REQUIRE(run.requests.size() == requests.size());
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const ServedRequest& served = run.requests[i];
      CHECK(served.accept >= requests[i].arrival);
      CHECK(served.accept > before);  // one a cycle, in order
      before = served.accept;
      if (served.data_end != served.accept + 1)  // data of a waiting write
        CHECK(served.data_end > served.accept + std::min(t.cl, t.cwl));
      CHECK(served.complete == (requests[i].is_write ? -1 : served.data_end));
      CHECK(served.data_end <= run.last_data_end);
    }
  });
}

TEST_CASE("DRAM laws: bytes are conserved, each burst is one request's or that of those merged with it") {
  over_all([](const MemorySpec&, const auto& requests, const ChannelRun& run, const auto& log, bool) {
    CHECK(run.accesses() + run.merged == static_cast<std::int64_t>(requests.size()));
    for (const DramCommand c : {DramCommand::activate, DramCommand::precharge, DramCommand::read,
                                DramCommand::write, DramCommand::refresh})
      CHECK(run.count(c) == count(log, c));
    CHECK(run.row_hits + run.count(DramCommand::activate) >= run.accesses());  // an activation may be in vain
    CHECK(run.row_hits <= run.accesses());
  });
}

TEST_CASE("DRAM laws: nothing is faster than the data bus") {
  over_all([](const MemorySpec& memory, const auto&, const ChannelRun& run, const auto&, bool) {
    CHECK(run.span() >= run.accesses() * memory.timings.burst);
  });
}

TEST_CASE("DRAM laws: ranks are refreshed in turn, one every tREFI / ranks") {
  over_all([](const MemorySpec& memory, const auto&, const ChannelRun&, const auto& log, bool refresh) {
    const Cycles interval = memory.timings.refi / memory.organisation.ranks;
    int nth = 0;
    for (const IssuedCommand& c : log) {
      if (c.command != DramCommand::refresh) continue;
      CHECK(c.bank == nth % memory.organisation.ranks * memory.organisation.banks_per_rank());
      CHECK(c.cycle >= ++nth * interval);
      CHECK(c.cycle < (nth + 1) * interval);
    }
    CHECK(nth >= (refresh ? (log.back().cycle - interval) / interval : 0));
    CHECK((refresh || nth == 0));
  });
}

TEST_CASE("DRAM laws: the same requests give the same run") {
  over_all([](const MemorySpec& memory, const auto& requests, const ChannelRun& run, const auto&,
              bool refresh) {
    const ChannelRun again = play(memory, requests, {.refresh = refresh});
    CHECK(again.commands == run.commands);
    CHECK(std::equal(run.requests.begin(), run.requests.end(), again.requests.begin(), again.requests.end(),
                     [](const ServedRequest& a, const ServedRequest& b) {
                       return a.accept == b.accept && a.complete == b.complete && a.data_end == b.data_end;
                     }));
  });
}

TEST_CASE("DRAM laws: a run that starts a whole round of refreshes later is the same, later") {
  for (const std::string& name : memory_names()) {
    const MemorySpec memory = find_memory(name);
    const Cycles round = memory.timings.refi / memory.organisation.ranks * memory.organisation.ranks;
    const Cycles start = memory.timings.rfc + 1;  // of the first requests: not in a refresh in either run
    std::vector<MemoryRequest> requests = test::random_requests(memory, 300, 7);
    for (MemoryRequest& r : requests) r.arrival += start + round;
    const ChannelRun early = play(memory, requests);
    for (MemoryRequest& r : requests) r.arrival += 5 * round;
    const ChannelRun late = play(memory, requests);
    INFO(name);
    CHECK(early.span() == late.span());
    CHECK(early.row_hits == late.row_hits);
  }
}

TEST_CASE("DRAM laws: energy is that of the commands and of the standby, all of it") {
  over_all([](const MemorySpec& memory, const auto&, const ChannelRun& run, const auto&, bool) {
    const DramEnergies one = dram_energies(memory);
    const ChannelEnergy e = energy(memory, run);
    const double seconds = static_cast<double>(run.last_data_end) * memory.clock.value();
    CHECK(e.read.value() == Approx(static_cast<double>(run.count(DramCommand::read)) * one.read.value()));
    CHECK(e.standby.value() >= memory.organisation.ranks * one.idle.value() * seconds * (1 - 1e-9));
    CHECK(e.standby.value() <= memory.organisation.ranks * one.active.value() * seconds * (1 + 1e-9));
    CHECK(e.total() > e.read + e.write + e.activate);
  });
}
