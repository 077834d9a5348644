// RankAttention: what the step engine sums up, against what is played command by command.
#include <catch2/catch.hpp>
#include <random>
#include <thread>

#include "models/memory/dimm_pim/rank_attention.h"
#include "models/memory/dram/energy.h"

using namespace weir;

namespace {

DimmPimOptions options_of(int ablation) {
  DimmPimOptions options;
  switch (ablation) {
    case 1:
      options.activation = ActivationMode::at_once;
      break;
    case 2:
      options.activation = ActivationMode::rrd;
      break;
    case 3:
      options.fused = false;
      break;
    case 4:
      options.mapping = KvMapping::uniform;
      break;
    case 5:
      options.softmax_elements_per_column = 2;
      break;
    case 6:
      options.refresh = false;
      break;
    case 7:
      options.level = DimmLevel::rank;
      break;
    case 8:
      options.level = DimmLevel::channel;
      break;
    default:
      break;
  }
  return options;
}

double share(ActivationMode mode) {
  DimmPimOptions options;
  options.activation = mode;
  const RankAttention rank(find_memory("ddr4_3200_l3"), options);
  return rank.reached(128) / rank.peak();
}

double per_token(const DimmPimOptions& options, std::int64_t heads = 1) {
  return RankAttention(find_memory("ddr4_3200_l3"), options).attention(heads, 128).per_token.value();
}

}  // namespace

TEST_CASE("DIMM-PIM: time affine in tokens is that of the commands within 1 % in long contexts") {
  std::mt19937 random(3);
  for (const char* name : {"ddr4_3200_l3", "ddr5_4800"})
    for (int ablation = 0; ablation <= 8; ++ablation) {
      const RankAttention rank(find_memory(name), options_of(ablation));
      double bias = 0;
      constexpr int lengths = 8;
      for (int i = 0; i < lengths; ++i) {
        const std::int64_t heads = 2 + random() % 3, tokens = 12'000 + random() % 20'000,
                           head_dim = i % 4 == 3   ? 64
                                      : i % 4 == 1 ? 80
                                                   : 128;
        CAPTURE(name, ablation, heads, tokens, head_dim);
        const Seconds played = static_cast<double>(rank.play(heads, head_dim, tokens)) * rank.memory().clock;
        const Seconds affine = rank.attention(heads, head_dim).time(static_cast<double>(tokens));
        CHECK(affine.value() == Approx(played.value()).epsilon(0.01));
        bias += (affine / played - 1) / lengths;
      }
      CHECK(std::abs(bias) < 0.005);
    }
}

TEST_CASE("DIMM-PIM: time affine in tokens has no bias over the lengths that fill a row") {
  for (const char* name : {"ddr4_3200_l3", "ddr5_4800"}) {
    DimmPimOptions options;
    options.refresh = false;
    const RankAttention rank(find_memory(name), options);
    double played = 0, affine = 0;
    for (std::int64_t tokens = 2049; tokens <= 2560; ++tokens) {
      played += static_cast<double>(rank.play(1, 128, tokens)) * rank.memory().clock.value();
      affine += rank.attention(1, 128).time(static_cast<double>(tokens)).value();
    }
    CHECK(affine == Approx(played).epsilon(1e-9));
  }
}

TEST_CASE("DIMM-PIM: the reached share of the banks' bandwidth is an outcome of how rows are opened") {
  // systems/memory.md: 0.91, 0.86, 0.82, and of the paper's 13.0 TB/s 11.8, 11.1, 10.6.
  const double once = share(ActivationMode::at_once), rrd = share(ActivationMode::rrd),
               faw = share(ActivationMode::faw);
  CHECK(once == Approx(0.91).margin(0.005));
  CHECK(rrd == Approx(0.86).margin(0.005));
  CHECK(faw == Approx(0.82).margin(0.005));
  const RankAttention rank(find_memory("ddr4_3200_l3"));
  const double ranks = 16 * 2 * 2, paper_clock = 0.63 / 0.625;  // Table 2's numbers are of 0.63 ns
  const double peak = ranks * rank.peak().value() / paper_clock;
  CHECK(peak == Approx(13.0e12).epsilon(0.001));
  CHECK(once * peak == Approx(11.8e12).epsilon(0.013));
  CHECK(rrd * peak == Approx(11.1e12).epsilon(0.013));
  CHECK(faw * peak == Approx(10.6e12).epsilon(0.013));
}

TEST_CASE("DIMM-PIM: each ablation costs what its units say") {
  const double paper = per_token({});
  // A softmax unit half as wide: 64 cycles a chunk and phase instead of 32 and their rows. The banks are
  // refreshed while they wait for it.
  DimmPimOptions half = options_of(5);
  CHECK(per_token(half) == Approx(2 * 64 / 16.0 * 0.625e-9).epsilon(0.02));
  CHECK(per_token(half) > 1.6 * paper);
  half.refresh = false;
  CHECK(per_token(half) == Approx(2 * 64 / 16.0 * 0.625e-9).epsilon(1e-9));
  CHECK(per_token(options_of(3)) > 1.8 * paper);  // 64 of 128 cycles a chunk without a column read
  CHECK(per_token(options_of(4)) > 1.5 * paper);
  DimmPimOptions wide;
  wide.softmax_elements_per_column = 8;
  CHECK(per_token(wide) == Approx(paper));  // the paper's is wide enough
}

TEST_CASE("DIMM-PIM: a re-layout in flight is free, the CPU's takes the bus three times") {
  for (const char* name : {"ddr4_3200_l3", "ddr5_4800"}) {
    const MemorySpec memory = find_memory(name);
    DimmPimOptions options;
    const RankAttention in_flight(memory, options);
    options.relayout = Relayout::cpu_transposition;
    const RankAttention by_cpu(memory, options);
    CHECK(in_flight.store_bandwidth() < memory.peak());
    CHECK(in_flight.store_bandwidth().value() > 0.85 * memory.peak().value());
    CHECK(in_flight.store_bandwidth() / by_cpu.store_bandwidth() == Approx(3).epsilon(0.05));
    CHECK(by_cpu.store_energy().value() > 2.9 * in_flight.store_energy().value());
    CHECK(per_token(options) == per_token({}));  // once there they are the same
  }
}

TEST_CASE("DIMM-PIM: a rank reads what its bus gives, and the CPU one of its channel's ranks at a time") {
  const MemorySpec memory = find_memory("ddr4_3200_l3");
  const auto level = [&](DimmLevel l) {
    DimmPimOptions options;
    options.level = l;
    return RankAttention(memory, options);
  };
  const double rank = level(DimmLevel::rank).reached(128).value(),
               channel = level(DimmLevel::channel).reached(128).value();
  CHECK(rank / 25.6e9 == Approx(0.94).margin(0.015));  // systems/memory.md: 0.939 of a single rank's stream
  CHECK(rank / channel == Approx(4).epsilon(0.02));
  CHECK(level(DimmLevel::bank).reached(128).value() > 6 * rank);
  // Eight heads that share K and V: the banks read them eight times, a rank and the CPU once.
  CHECK(per_token({}, 8) == Approx(8 * per_token({})));
  CHECK(per_token(options_of(7), 8) == per_token(options_of(7)));
  CHECK(per_token(options_of(7), 11) == Approx(2 * per_token(options_of(7))));
  CHECK(per_token(options_of(8), 64) == per_token(options_of(8)));
}

TEST_CASE("DIMM-PIM: energy a token is that of its commands, units and refreshes") {
  const MemorySpec memory = find_memory("ddr4_3200_l3");
  const DramEnergies one = dram_energies(memory);
  const auto affine = RankAttention(memory).attention(1, 128);
  const double cells = 0.44 / 2.68, chunk = 16, row = 512;
  double joules = 8 * 16 * cells * one.read.value() / chunk;           // column reads
  joules += 2 * 16 * one.activate.value() / row;                       // a K and a V row of every bank
  joules += 4 * (1 - cells) * (one.read + one.write).value() / chunk;  // sums out, scores in
  joules += 8 * 8 * 0.625e-9 * 1.129e-3 * 128 / chunk;                 // a unit a bank and chip
  joules += 16 * 0.625e-9 * 1.812e-3 / chunk;                          // adders
  joules += 64 * 0.625e-9 * 4.345e-3 / chunk;                          // softmax
  joules += affine.per_token.value() / 7.8e-6 * one.refresh.value();
  CHECK(affine.energy_per_token.value() == Approx(joules).epsilon(1e-6));
  // What does not leave the chips is cheaper than what does.
  const auto rank = RankAttention(memory, options_of(7)).attention(1, 128);
  CHECK(rank.energy_per_token > affine.energy_per_token);
  const auto unfused = RankAttention(memory, options_of(3)).attention(1, 128);
  CHECK(unfused.energy_per_token > affine.energy_per_token);  // refreshes of the time it takes longer
}

TEST_CASE("DIMM-PIM: attention of nothing is refused at every level") {
  const MemorySpec memory = find_memory("ddr4_3200_l3");
  for (const int level : {0, 7, 8}) {
    const RankAttention rank(memory, options_of(level));
    CHECK_THROWS_AS(rank.attention(0, 128), std::invalid_argument);
    CHECK_THROWS_AS(rank.attention(1, 0), std::invalid_argument);
    CHECK_THROWS_AS(rank.play(1, 128, 0), std::invalid_argument);
  }
  DimmPimOptions options;
  options.postponed_refreshes = 0;
  CHECK_THROWS_AS(RankAttention(memory, options), std::invalid_argument);
  options = {}, options.softmax_elements_per_column = -1;
  CHECK_THROWS_AS(RankAttention(memory, options), std::invalid_argument);
}

TEST_CASE("DIMM-PIM: any thread may ask") {
  const RankAttention shared(find_memory("ddr4_3200_l3"));
  std::vector<double> seen(8);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < seen.size(); ++i)
    threads.emplace_back([&, i] { seen[i] = shared.attention(1, i % 2 ? 128 : 64).per_token.value(); });
  for (std::thread& thread : threads) thread.join();
  const RankAttention alone(find_memory("ddr4_3200_l3"));
  for (std::size_t i = 0; i < seen.size(); ++i)
    CHECK(seen[i] == alone.attention(1, i % 2 ? 128 : 64).per_token.value());
}
