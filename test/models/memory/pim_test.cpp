#include <catch2/catch.hpp>

#include "models/memory/dram/energy.h"
#include "models/memory/pim/mha_estimate.h"
#include "models/memory/pim/pim_costs.h"

using namespace weir;

namespace {

// What one more tile of a GEMV costs.
Cycles tile(const MemorySpec& memory, int heads, int comps, PimTiming timing, RowBuffers buffers) {
  const PimOptions options{.timing = timing, .buffers = buffers, .refresh = false, .log = nullptr};
  const auto cycles = [&](std::int64_t tiles) {
    return play_pim(memory, std::vector<PimChunk>{{tiles, heads, comps}}, options).cycles;
  };
  return cycles(5) - cycles(4);
}

MemorySpec one_faw_domain() {
  MemorySpec memory = find_memory("hbm2_neupims");
  memory.pim->ranks = 1, memory.pim->bank_groups = 8;
  return memory;
}

constexpr auto artifact = PimTiming::artifact;
constexpr auto physical = PimTiming::physical;
constexpr auto dual = RowBuffers::dual;
constexpr auto single = RowBuffers::single;

}  // namespace

TEST_CASE("PIM tile: the artifact's closed forms") {  // systems/memory.md, systems/neupims.md
  const MemorySpec memory = find_memory("hbm2_neupims");
  for (const int heads : {1, 2, 4}) {
    INFO(heads << " heads");
    CHECK(tile(memory, heads, 8, artifact, dual) == 143 + 18 * (heads - 1));
    for (const int comps : {3, 4, 8, 16, 32})
      CHECK(tile(memory, heads, comps, artifact, single) == 143 + (heads - 1) * (2 * comps + 2) + 2 * comps);
  }
  for (const int comps : {1, 2, 6, 32}) CHECK(tile(memory, 1, comps, artifact, dual) == 143);
  CHECK(tile(memory, 4, 8, artifact, dual) == 197);
  CHECK(tile(memory, 4, 8, artifact, single) == 213);
  CHECK(tile(memory, 1, 32, artifact, single) == 207);
}

TEST_CASE("PIM tile: the physical closed form, with one and two tFAW domains") {
  const MemorySpec two = find_memory("hbm2_neupims"), one = one_faw_domain();
  CHECK(tile(two, 4, 8, physical, dual) == 196);
  CHECK(tile(two, 1, 32, physical, dual) == 190);
  CHECK(tile(one, 4, 8, physical, dual) == 315);
  CHECK(tile(one, 1, 32, physical, dual) == 309);
  const DramTimings& t = two.timings;
  for (const int heads : {1, 2, 4, 8})
    for (const int comps : {7, 8, 16, 32})
      for (const MemorySpec* memory : {&one, &two}) {
        const int ranks = memory->pim->ranks;
        const Cycles rows = (32 / (4 * ranks) - 1) * t.faw + ranks - 1;
        INFO(heads << " heads of " << comps << " COMPs, " << ranks << " ranks");
        CHECK(tile(*memory, heads, comps, physical, dual) ==
              t.rtp + t.rp + rows + t.rcd_rd + 2 * heads * (comps + 1));
        CHECK(tile(*memory, heads, comps, physical, single) ==
              tile(*memory, heads, comps, physical, dual));  // the row buffers do not calculate
      }
}

TEST_CASE(
    "PIM refresh: a window has seven logit tiles of the artifact") {  // systems/neupims.md: 279 cycles each
  const MemorySpec memory = find_memory("hbm2_neupims");
  std::vector<PimCommand> log;
  const PimOptions options{.timing = artifact, .buffers = dual, .refresh = true, .log = &log};
  play_pim(memory, std::vector<PimChunk>{{200, 4, 8}}, options);
  std::vector<int> tiles(1);
  for (const PimCommand& c : log) {
    if (c.command == DramCommand::refresh) tiles.push_back(0);
    tiles.back() += c.command == DramCommand::header;
  }
  REQUIRE(tiles.size() > 20);
  for (std::size_t i = 1; i + 1 < tiles.size(); ++i) CHECK(tiles[i] == 7);
}

TEST_CASE("PIM layout: chunks, tiles and COMPs of logit and attend") {
  const MemorySpec memory = find_memory("hbm2_neupims");
  const auto logit = gemv_chunks(memory, {PimOp::logit, 100, 10, 128});
  REQUIRE(logit.size() == 3);  // 4 heads of 128 in a page of 512
  CHECK(logit[0].heads == 4);
  CHECK(logit[2].heads == 2);
  for (const PimChunk& chunk : logit) CHECK(chunk.tiles == 4);  // of 32 tokens
  for (const PimChunk& chunk : logit) CHECK(chunk.comps == 8);  // of 16 elements
  const auto attend = gemv_chunks(memory, {PimOp::attend, 513, 2, 128});
  REQUIRE(attend.size() == 4);  // a page of 512 scores and one of 1, each head
  CHECK(attend[0].comps == 32);
  CHECK(attend[1].comps == 1);
  for (const PimChunk& chunk : attend) CHECK(chunk.tiles == 4);  // of 32 elements of the head
  CHECK(gemv_chunks(memory, {PimOp::both, 513, 2, 128}).size() == 1 + 4);
  const auto long_head = gemv_chunks(memory, {PimOp::logit, 32, 1, 600});
  REQUIRE(long_head.size() == 2);
  CHECK(long_head[0].comps == 32);
  CHECK(long_head[1].comps == 6);
  CHECK_THROWS(gemv_chunks(memory, {PimOp::logit, 0, 1, 128}));
  CHECK_THROWS(gemv_chunks(find_memory("hbm2e"), {PimOp::logit, 1, 1, 128}));
}

TEST_CASE("Algorithm 1: with real division as printed, and with ceilings") {  // systems/neupims.md
  const MhaParameters gpt3_30b_tp4{.embedding = 7168 / 4, .heads = 14};
  const MhaEstimate printed = estimate_mha(gpt3_30b_tp4, 305, Division::real);
  CHECK(printed.logit == Approx(6488.1).margin(0.2));
  CHECK(printed.attend == Approx(6972.1).margin(0.2));
  const MhaEstimate whole = estimate_mha(gpt3_30b_tp4, 305, Division::ceilings);
  CHECK(whole.logit == 7760);
  CHECK(whole.attend == 11704);
}

TEST_CASE("PIM energy: commands in terms of the currents of normal accesses") {  // systems/memory.md, Energy
  const MemorySpec memory = find_memory("hbm2_neupims");
  const DramEnergies normal = dram_energies(memory);
  CHECK(memory.pim->group_activate.value() == Approx(4 * normal.activate.value()));
  CHECK(memory.pim->all_bank_comp.value() == Approx(4 * normal.read.value()));
  CHECK(memory.pim->gwrite_energy.value() == Approx(16 * normal.read.value()));
  CHECK(memory.pim->result.value() == Approx(normal.read.value()));
  const PimRun run = play_pim(memory, std::vector<PimRequest>{{PimOp::logit, 64, 4, 128}});
  const PimEnergy e = pim_energy(memory, run);  // by hand: 2 tiles of 8 groups, 4 heads of 8 COMPs, a GWRITE
  CHECK(e.group_activate.value() == Approx(16 * 3312e-12));
  CHECK(e.comp.value() == Approx(64 * 3216e-12));
  CHECK(e.gwrite.value() == Approx(12864e-12));
  CHECK(e.result.value() == Approx(8 * 804e-12));
  CHECK(e.refresh.value() == 0);
}

TEST_CASE("PIM costs: a channel's requests take the sum of their shares, within 2 %") {
  const MemorySpec memory = find_memory("hbm2_neupims");
  for (const PimTiming timing : {artifact, physical})
    for (const RowBuffers buffers : {dual, single}) {
      PimCosts costs(memory, {.timing = timing, .buffers = buffers, .refresh = true, .log = nullptr});
      std::vector<PimRequest> requests;
      for (const std::int64_t length : {305, 33, 700, 1024, 80, 512, 1, 376, 97, 2000})
        requests.push_back({PimOp::both, length, 8, 128});
      const auto played =
          static_cast<double>(play_pim(memory, requests, {timing, buffers, true, nullptr}).cycles);
      CHECK(costs.sustained(requests) == Approx(played).epsilon(0.02));
      CHECK(costs.alone(requests[0]) ==
            play_pim(memory, std::vector{requests[0]}, {timing, buffers, true, nullptr}).cycles);
    }
  CHECK_THROWS(PimCosts(find_memory("hbm3")));
}
