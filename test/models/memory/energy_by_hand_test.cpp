// Joules of PIM's commands, of re-layouts and of an NDP-DIMM's streams, put together by hand.
#include <catch2/catch.hpp>

#include "models/memory/dimm_pim/rank_attention.h"
#include "models/memory/dimm_pim/rank_timing.h"
#include "models/memory/dram/energy.h"
#include "models/memory/ndp_dimm/ndp_dimm_costs.h"
#include "models/memory/pim/pim_channel.h"

namespace weir::test::energy_by_hand {

TEST_CASE("PIM energy by hand: each command so often, and a refresh of one of PIM's ranks") {
  const MemorySpec memory = find_memory("hbm2_neupims");
  REQUIRE(memory.pim->ranks == 2);
  PimRun run;
  const auto count = [&](DramCommand command, std::int64_t times) {
    run.commands[static_cast<std::size_t>(command)] = times;
  };
  count(DramCommand::group_activate, 3);
  count(DramCommand::gwrite, 5);
  count(DramCommand::refresh, 7);
  run.comps = 11, run.results = 13;
  const PimEnergy energy = pim_energy(memory, run);
  CHECK(energy.group_activate.value() == Approx(3 * 3312e-12));
  CHECK(energy.gwrite.value() == Approx(5 * 12864e-12));
  CHECK(energy.comp.value() == Approx(11 * 3216e-12));
  CHECK(energy.result.value() == Approx(13 * 804e-12));
  const DramCurrents& i = memory.currents;
  const double refresh = i.vdd_v * 1e-3 * (i.idd5_ma - i.idd3n_ma) * i.devices *
                         static_cast<double>(memory.timings.rfc) * memory.clock.value();
  CHECK(energy.refresh.value() == Approx(7 * refresh / 2));
  CHECK(
      energy.total().value() ==
      Approx((energy.group_activate + energy.gwrite + energy.comp + energy.result + energy.refresh).value()));
}

TEST_CASE("DRAM energy by hand: of commands and of standby, with currents that are all unlike") {
  MemorySpec memory = find_memory("ddr4_3200_l3");
  memory.clock = Seconds(1e-9);
  memory.currents = {.vdd_v = 2,
                     .idd0_ma = 70,
                     .idd2n_ma = 20,
                     .idd3n_ma = 30,
                     .idd4r_ma = 130,
                     .idd4w_ma = 110,
                     .idd5_ma = 230,
                     .devices = 8};
  memory.timings.ras = 50, memory.timings.rp = 25, memory.timings.burst = 4, memory.timings.rfc = 400;
  const DramEnergies one = dram_energies(memory);  // 16 mW a mA
  CHECK(one.activate.value() == Approx(16e-12 * (70 * 75 - 30 * 50 - 20 * 25)));
  CHECK(one.read.value() == Approx(16e-12 * 100 * 4));
  CHECK(one.write.value() == Approx(16e-12 * 80 * 4));
  CHECK(one.refresh.value() == Approx(16e-12 * 200 * 400));
  CHECK(one.active.value() == Approx(0.48));
  CHECK(one.idle.value() == Approx(0.32));
}

TEST_CASE("DIMM-PIM by hand: a re-layout by the CPU writes twice and reads once, in flight it takes watts") {
  const MemorySpec memory = find_memory("ddr4_3200_l3");
  const BusStream write = play_stream(one_rank(memory), StreamKind::write, true),
                  read = play_stream(one_rank(memory), StreamKind::read, true);
  DimmPimOptions by_cpu;
  by_cpu.relayout = Relayout::cpu_transposition;
  const RankAttention cpu(memory, by_cpu), in_flight(memory, {});
  CHECK(cpu.store_bandwidth().value() == Approx(1 / (2 / write.rate.value() + 1 / read.rate.value())));
  CHECK(cpu.store_energy().value() == Approx(2 * write.energy.value() + read.energy.value()));
  CHECK(in_flight.store_bandwidth() == write.rate);
  CHECK(in_flight.store_energy().value() ==
        Approx(write.energy.value() + relayout_watts / write.rate.value()));
  by_cpu.level = DimmLevel::rank;  // ranks read what the host wrote
  CHECK(RankAttention(memory, by_cpu).store_bandwidth() == write.rate);
  CHECK(RankAttention(memory, by_cpu).store_energy().value() == write.energy.value());
}

// A column of 64 B holds 32 of a head's 80 numbers: 3 columns of K and as many of V are read.
TEST_CASE("DIMM-PIM by hand: ranks and the CPU read whole columns; a channel's ranks take turns") {
  const MemorySpec memory = find_memory("ddr4_3200_l3");
  const double bytes = 2 * 3 * 64, joules = dram_energies(memory).refresh.value();
  for (const DimmLevel level : {DimmLevel::rank, DimmLevel::channel}) {
    DimmPimOptions options;
    options.level = level;
    const bool rank = level == DimmLevel::rank;
    const BusStream read = play_stream(rank ? one_rank(memory) : memory, StreamKind::read, true);
    const auto head = RankAttention(memory, options).attention(1, 80);
    const double seconds = (rank ? 1 : memory.organisation.ranks) * bytes / read.rate.value();
    const double refreshes =
        seconds / (static_cast<double>(memory.timings.refi) * memory.clock.value()) * joules;
    CHECK(head.fixed == read.start);
    CHECK(head.per_token.value() == Approx(seconds));
    CHECK(head.energy_per_token.value() == Approx(read.energy.value() * bytes + refreshes +
                                                  (rank ? rank_unit_power(memory).value() * seconds : 0)));
  }
}

TEST_CASE("NDP-DIMM by hand: a stream's joules are of all its bytes, and refreshes of every rank") {
  const NdpDimmCosts dimm(find_memory("ddr4_3200_hermes"));
  const BusStream& rank = dimm.reads().rank_stream();
  const NdpWorkCost cost = dimm.stream(Bytes(3e6), 5e6);
  CHECK(cost.reading.value() == Approx(rank.start.value() + 3e6 / (4 * rank.rate.value())));
  CHECK(cost.dram_energy.value() ==
        Approx(rank.energy.value() * 3e6 + 4 * dimm.reads().refreshes(cost.reading).value()));
  CHECK(cost.multiplying.value() == Approx(5e6 / 128e9));
  CHECK(cost.core_energy.value() == Approx(5e6 * (0.34 + 0.16 + 2 * 7.5 / 8) * 1e-12));
  CHECK(cost.energy() == cost.dram_energy + cost.core_energy);
}

}  // namespace weir::test::energy_by_hand
