#include <catch2/catch.hpp>

#include <algorithm>

#include "models/memory/dram/command_timing.h"
#include "models/memory/pim/pim_costs.h"
#include "test/models/memory/beside_checker.h"
#include "test/models/memory/command_checker.h"
#include "test/models/memory/pim_options.h"

using namespace weir;

namespace {

MemorySpec hbm() {
  return find_memory("hbm2_neupims");
}

const std::vector<PimChunk> gemvs = {{9, 4, 8}, {7, 1, 32}, {1, 2, 3}, {12, 1, 8}, {8, 4, 8}, {8, 1, 32}};

}  // namespace

TEST_CASE("PIM beside normal accesses: nothing breaks the table, a row or a bus, and each is served once") {
  for (const PimOptions& plain : test::all_pim_options())
    for (unsigned seed = 0; seed < 8; ++seed) {
      const MemorySpec memory = hbm();
      const auto requests =
          seed == 0 ? sequential_reads(memory, 3000) : test::random_requests(pim_memory(memory), 1500, seed);
      std::vector<PimCommand> log;
      std::vector<IssuedCommand> normal;
      PimOptions options = plain;
      options.log = &log;
      const PimBeside run = play_pim_beside(memory, gemvs, requests, options, &normal);
      INFO("timing " << static_cast<int>(plain.timing) << ", buffers " << static_cast<int>(plain.buffers)
                     << ", refresh " << plain.refresh << ", seed " << seed);
      CHECK(test::beside_violation(memory, options, log, normal) == "");
      for (const ServedRequest& r : run.normal.requests) CHECK(r.data_end > r.accept);
      CHECK(run.normal.accesses() + run.normal.merged == static_cast<std::int64_t>(requests.size()));
    }
}

TEST_CASE("PIM beside normal accesses: the checker sees a command that comes a cycle too early") {
  std::vector<PimCommand> log;
  std::vector<IssuedCommand> normal;
  PimOptions options;
  options.log = &log;
  play_pim_beside(hbm(), gemvs, sequential_reads(hbm(), 2000), options, &normal);
  REQUIRE(test::beside_violation(hbm(), options, log, normal) == "");
  for (const DramCommand command : {DramCommand::activate, DramCommand::read, DramCommand::precharge}) {
    auto early = normal;
    for (IssuedCommand& c : early)
      if (c.command == command) --c.cycle;
    INFO(to_string(command));
    CHECK(test::beside_violation(hbm(), options, log, early) != "");
  }
}

TEST_CASE("PIM beside nothing is the PIM alone, reads beside no GEMV are the channel's, to the clock") {
  const MemorySpec memory = hbm();
  for (const PimOptions& options : test::all_pim_options()) {
    const PimRun alone = play_pim(memory, gemvs, options);
    const PimBeside pim = play_pim_beside(memory, gemvs, {}, options);
    CHECK(pim.pim.cycles == alone.cycles);
    CHECK(pim.pim.commands == alone.commands);
    const auto requests = test::random_requests(pim_memory(memory), 2000, 5);
    const ChannelRun channel = play(pim_memory(memory), requests, {options.refresh, nullptr});
    const PimBeside reads = play_pim_beside(memory, {}, requests, options);
    CHECK(reads.normal.commands == channel.commands);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      CHECK(reads.normal.requests[i].accept == channel.requests[i].accept);
      CHECK(reads.normal.requests[i].data_end == channel.requests[i].data_end);
    }
  }
}

TEST_CASE("PIM beside reads: single row buffers serve none until the PIM's rows are closed, then at once") {
  const MemorySpec memory = hbm();
  for (const PimTiming timing : {PimTiming::artifact, PimTiming::physical}) {
    std::vector<PimCommand> log;
    std::vector<IssuedCommand> normal;
    const PimOptions options{timing, RowBuffers::single, false, &log};
    const PimBeside run = play_pim_beside(memory, gemvs, sequential_reads(memory, 1), options, &normal);
    REQUIRE(log.back().command == DramCommand::pim_precharge);
    Cycles bank_0 = 0;
    for (const PimCommand& c : log)
      if (c.command == DramCommand::pim_precharge && c.bank == 0) bank_0 = c.cycle;
    REQUIRE(normal.front().command == DramCommand::activate);
    REQUIRE(normal.front().bank == 0);
    // The boundary: not before the bank's tRP nor while the PIM still has the channel, and not a cycle later.
    CHECK(normal.front().cycle == std::max(bank_0 + memory.timings.rp, log.back().cycle + 1));
    CHECK(run.pim.cycles == play_pim(memory, gemvs, {timing, RowBuffers::single, false, nullptr}).cycles);
  }
}

TEST_CASE(
    "PIM beside reads: dual row buffers end PIM and reads no later than single ones, and reads do not help a "
    "PIM") {
  const MemorySpec memory = hbm();
  for (const PimTiming timing : {PimTiming::artifact, PimTiming::physical})
    for (const std::int64_t count : {200, 2000, 6000}) {
      const std::vector<PimChunk> work = {{8, 4, 8}, {8, 1, 32}, {8, 4, 8}, {8, 1, 32}};
      const auto reads = sequential_reads(memory, count);
      const auto end = [&](RowBuffers buffers) {
        const PimBeside run = play_pim_beside(memory, work, reads, {timing, buffers, true, nullptr});
        return std::max(run.pim.cycles, run.normal.last_data_end);
      };
      INFO("timing " << static_cast<int>(timing) << ", " << count << " reads");
      CHECK(end(RowBuffers::dual) <= end(RowBuffers::single));
    }
  for (const PimTiming timing : {PimTiming::artifact, PimTiming::physical})
    for (const Cycles interval : {0, 3, 16})
      CHECK(play_pim_beside_reads(memory, gemvs, {timing, RowBuffers::dual, false, nullptr}, interval)
                .pim_slowdown() >= 1);
}

TEST_CASE(
    "PIM beside reads: a normal activation keeps a group of its rank away, tFAW or tRRD, not the other's") {
  const MemorySpec memory = hbm();
  for (const auto& [timing, other_group] : {std::pair(PimTiming::physical, memory.timings.faw),
                                            std::pair(PimTiming::artifact, memory.timings.rrd_s)}) {
    CommandTiming shared(pim_organisation(memory), shared_constraints(memory, timing, RowBuffers::dual));
    shared.issue(DramCommand::activate, 1, 1000);
    CHECK(shared.ready(DramCommand::group_activate, 4) == 1000 + other_group);
    CHECK(shared.ready(DramCommand::group_activate, 16) == 0);
    shared.issue(DramCommand::group_activate, 16, 1000);
    CHECK(shared.ready(DramCommand::activate, 20) == 1000 + memory.timings.faw);
    CHECK(shared.ready(DramCommand::activate, 5) == 1000 + memory.timings.rrd_s);
  }
}

TEST_CASE("PIM costs: what a full stream of reads and GEMVs cost each other, played once") {
  for (const PimTiming timing : {PimTiming::artifact, PimTiming::physical}) {
    PimCosts dual(hbm(), {timing, RowBuffers::dual, true, nullptr});
    PimCosts single(hbm(), {timing, RowBuffers::single, true, nullptr});
    const PimInterference& both = dual.beside_reads();
    CHECK(both.reads_kept > 0.5);
    CHECK(both.reads_kept < 1);
    CHECK(both.pim_slowdown > 1);
    CHECK(both.pim_slowdown < 1.5);
    CHECK(&both == &dual.beside_reads());
    CHECK(single.beside_reads().reads_kept == 0);
    CHECK(single.beside_reads().pim_slowdown == 1);
  }
}
