#include "models/memory/ndp_dimm/ndp_dimm_costs.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>
#include <stdexcept>

#include "models/memory/dimm_pim/rank_attention.h"

using namespace weir;

namespace {

NdpDimmCosts hermes(const NdpCore& core = {}) {
  return NdpDimmCosts(find_memory("ddr4_3200_hermes"), core);
}

// MLP neurons of LLaMA2-70B: 48 KB over four ranks, each active for so many sequences.
NeuronWork llama70b_neurons(double neurons, double sequences) {
  constexpr double weights = 3 * 8192;
  return {.pieces = neurons, .piece_bytes = 12 * 1024, .macs = neurons * sequences * weights};
}

}  // namespace

TEST_CASE("NDP-DIMM costs: neurons take the longer of reading them once and multiplying each pair") {
  const NdpDimmCosts dimm = hermes();
  const DimmReads::Affine read = dimm.reads().pieces(12 * 1024);
  for (const double sequences : {1.0, 2.0, 3.0, 16.0}) {
    const NdpWorkCost cost = dimm.neurons(llama70b_neurons(700, sequences));
    CAPTURE(sequences);
    CHECK(cost.reading == read.time(700));
    CHECK(cost.multiplying.value() == Approx(700 * sequences * 3 * 8192 / 128e9));
    CHECK(cost.time() == std::max(cost.reading, cost.multiplying));
    CHECK((cost.time() == cost.reading) == (sequences < 2.7));  // 48 KB at 95 GB/s, 24,576 MACs at 128 a ns
    CHECK(cost.energy() == cost.dram_energy + cost.core_energy);
    CHECK(cost.dram_energy.value() == Approx(4 * read.energy(700).value()));
    CHECK(cost.core_energy == dimm.core().multiply_energy(llama70b_neurons(700, sequences).macs));
  }
}

TEST_CASE("NDP-DIMM costs: more work is never faster, more multipliers never slower") {
  std::mt19937 random(5);
  const auto draw = [&](double most) { return std::uniform_real_distribution<double>(0, most)(random); };
  const std::int64_t pieces[] = {2048, 5120, 12288};
  for (int i = 0; i < 200; ++i) {
    const auto multipliers = static_cast<int>(32 + random() % 256);
    const NdpDimmCosts dimm = hermes({.multipliers = multipliers}),
                       wider = hermes({.multipliers = 2 * multipliers});
    const NeuronWork work{.pieces = draw(5000), .piece_bytes = pieces[random() % 3], .macs = draw(1e9)};
    NeuronWork more = work;
    more.pieces += draw(100);
    more.macs += draw(1e7);
    CHECK(dimm.neurons(more).time() >= dimm.neurons(work).time());
    CHECK(dimm.neurons(more).energy() >= dimm.neurons(work).energy());
    CHECK(wider.neurons(work).time() <= dimm.neurons(work).time());
    CHECK(wider.neurons(work).energy() == dimm.neurons(work).energy());
    const Bytes bytes(draw(1e8));
    CHECK(dimm.stream(bytes + Bytes(64), more.macs).time() >= dimm.stream(bytes, work.macs).time());
    CHECK(dimm.stream(bytes, work.macs).reading >= bytes / (4 * dimm.reads().channel().peak()));
  }
}

TEST_CASE("NDP-DIMM costs: a DIMM reads with all its ranks, and two of them are a channel") {
  const NdpDimmCosts dimm = hermes();
  CHECK(dimm.dimms_per_channel() == 2);
  CHECK(dimm.neuron_bandwidth(5120).value() == Approx(4 * dimm.reads().piece_bandwidth(5120).value()));
  const Bytes bytes(64e6);
  const NdpWorkCost long_stream = dimm.stream(bytes, 0);
  CHECK(long_stream.reading.value() == Approx((bytes / dimm.stream_bandwidth()).value()).epsilon(0.001));
  CHECK(dimm.stream_bandwidth() > dimm.neuron_bandwidth(5120));
  CHECK(dimm.stream_bandwidth() > 3.9 * dimm.reads().host_stream(StreamKind::read).rate);
  const NdpDimmCosts halves(find_memory("ddr4_3200_hermes"), {}, 8);
  CHECK(halves.dimms_per_channel() == 1);
  CHECK(halves.stream_bandwidth().value() == Approx(2 * dimm.stream_bandwidth().value()));
}

TEST_CASE("NDP-DIMM costs: attention of one query head streams as a rank of DIMM-PIM does, four times over") {
  const MemorySpec channel = find_memory("ddr4_3200_hermes");
  DimmPimOptions options;
  options.level = DimmLevel::rank;
  const RankAttention::Affine rank = RankAttention(channel, options).attention(1, 128);
  constexpr double tokens = 1e5, kv_bytes = 2 * 128 * 2;
  const NdpDimmCosts dimm = hermes();
  const auto attention = [&](double query_heads) {
    return dimm.stream(Bytes(tokens * kv_bytes), tokens * query_heads * 2 * 128);
  };
  CHECK(attention(1).time().value() == Approx(rank.time(tokens).value() / 4).epsilon(0.001));
  CHECK(attention(2).time() == attention(1).time());
  // The core is one for four ranks: eight query heads a KV head are 2048 MACs a token, 16 ns.
  CHECK(attention(8).time().value() == Approx(tokens * 16e-9));
  CHECK(attention(8).dram_energy == attention(1).dram_energy);
}

TEST_CASE("NDP-DIMM costs: of nothing, of what the buffer cannot hold, and of less than nothing") {
  const NdpDimmCosts dimm = hermes();
  CHECK(dimm.neurons({0, 4096, 0}).time() == Seconds(0));
  CHECK(dimm.neurons({0, 4096, 0}).energy() == Joules(0));
  CHECK(dimm.stream(Bytes(0), 0).time() == Seconds(0));
  CHECK_NOTHROW(dimm.neurons({1, 4096, 1, NdpCore::held(16, 8192)}));
  CHECK_THROWS_AS(dimm.neurons({1, 4096, 1, NdpCore::held(16, 8193)}), std::invalid_argument);
  CHECK_THROWS_AS(dimm.stream(Bytes(1), 1, Bytes(256.0 * 1024 + 1)), std::invalid_argument);
  CHECK_THROWS_AS(dimm.neurons({-1, 4096, 0}), std::invalid_argument);
  CHECK_THROWS_AS(dimm.neurons({NAN, 4096, 0}), std::invalid_argument);
  CHECK_THROWS_AS(dimm.neurons({1, 0, 0}), std::invalid_argument);
  CHECK_THROWS_AS(dimm.neurons({1, 4096, -1}), std::invalid_argument);
  CHECK_THROWS_AS(dimm.neurons({1, 4096, 1, Bytes(-1)}), std::invalid_argument);
  CHECK_THROWS_AS(dimm.stream(Bytes(INFINITY), 0), std::invalid_argument);
  const MemorySpec channel = find_memory("ddr4_3200_hermes");
  for (const int ranks : {0, 3, 16}) CHECK_THROWS_AS(NdpDimmCosts(channel, {}, ranks), std::invalid_argument);
  CHECK_THROWS_AS(hermes({.multipliers = 0}), std::invalid_argument);
}
