// Units that attend to decodes beside a device, by hand: joules by heads, shares, and HBM-PIM at its peak.
#include <catch2/catch.hpp>

#include "models/memory/dimm_pim/rank_attention.h"
#include "models/memory/memory_row.h"
#include "models/memory/ndp_dimm/ndp_dimm_costs.h"
#include "models/memory/pim/pim_costs.h"
#include "models/neurons/neurons.h"
#include "test/devices/priced.h"
#include "test/devices/rows.h"

namespace weir::test::elsewhere_by_hand {
namespace {

std::shared_ptr<const Device> a100_with(const char* memory, const Json& keys, int devices) {
  return catalog_memory(memory, keys)
      ->beside(catalog_device("a100_sxm_80gb"), devices, Memory::KeptFor::kv_caches);
}

// The device's own units are gpu and link, without prefetch.
enum { attending = 2, host_link = 3 };
enum : std::size_t { to_host = 2, from_host, host_channels };

KernelCost attend(const Device& device, int unit, const Attention& heads, std::int64_t decodes,
                  std::int64_t tokens, double share = 1) {
  const Kernel kernel = heads;
  KernelWork work{.name = "decode_attention", .kernel = kernel, .rows = static_cast<double>(decodes)};
  work.batch.decodes = decodes;
  work.batch.decode_context_sum = tokens;
  work.share = share;
  return device.cost(work, unit);
}

constexpr Attention heads_of(std::int64_t query, std::int64_t kv, std::int64_t dim = 128) {
  return {Attention::Part::decodes, query, kv, dim, DataType::fp16, DataType::fp16};
}

}  // namespace

// Two channels a device: 6 KV heads of 2 query heads each are three passes, of a quarter of the tokens on
// each of 4 ranks.
TEST_CASE(
    "dimm_pim by hand: commands of each head, of its decodes and of its tokens, on the ranks of a set") {
  const auto device = a100_with("dimm_pim", {{"ranksets", 1}, {"ranks", 4}, {"dimm_timing", "commands"}}, 8);
  const auto bank = RankAttention::shared(find_memory("ddr4_3200_l3"), {});
  const RankAttention::Affine head = bank->attention(2, 128);
  const KernelCost cost = attend(*device, attending, heads_of(12, 6), 5, 7000);
  const double moved = 5. * (2 * 12 + 2 * 6) * 128 * 2;
  CHECK(cost.time.value() == Approx(moved / (2 * bank->store_bandwidth().value()) +
                                    3 * (5 * head.fixed.value() + 7000 * head.per_token.value() / 4)));
  CHECK(cost.energy.value() ==
        Approx(6 * (5 * head.fixed_energy.value() + 7000 * head.energy_per_token.value())));
  CHECK(cost.flops.value() == 4. * 12 * 128 * 7000);
  CHECK(cost.moved[host_channels] == Bytes(0));
  // One KV head on two channels: its tokens go round both.
  CHECK(attend(*device, attending, heads_of(2, 1), 5, 7000).time.value() ==
        Approx(5. * (2 * 2 + 2) * 128 * 2 / (2 * bank->store_bandwidth().value()) + 5 * head.fixed.value() +
               7000 * head.per_token.value() / 8));
}

TEST_CASE("dimm_pim by hand: an even share of all ranksets' decodes is that share of everything") {
  for (const char* memory : {"dimm_pim", "host_dimm"}) {
    const auto device = a100_with(memory, Json::object(), 4);
    const KernelCost all = attend(*device, attending, heads_of(12, 6), 8, 7000),
                     part = attend(*device, attending, heads_of(12, 6), 8, 7000, 0.25);
    INFO(memory);
    CHECK(part.time.value() == Approx(0.25 * all.time.value()));
    CHECK(part.energy.value() == Approx(0.25 * all.energy.value()));
    CHECK(part.flops.value() == Approx(0.25 * all.flops.value()));
    CHECK(part.moved[host_channels].value() == Approx(0.25 * all.moved[host_channels].value()));
  }
}

TEST_CASE("host memories by hand: copies draw from the way that they take, at the joules of the link") {
  const auto device = a100_with("dimm_pim", {{"dimm_timing", "peak"}}, 8);
  for (const auto& [way, along, other] :
       {std::tuple{Copy::Way::out, to_host, from_host}, {Copy::Way::back, from_host, to_host}}) {
    const Kernel kernel = Copy{way, Bytes(1000)};
    KernelWork work{.name = "copy", .kernel = kernel, .rows = 30};
    work.share = 0.5;
    const KernelCost cost = device->cost(work, host_link);
    CHECK(cost.time.value() == Approx(15000 / 31.5e9));
    CHECK((cost.moved[along] == Bytes(15000) && cost.moved[other] == Bytes(0)));
    CHECK(cost.moved[host_channels] == Bytes(15000));
    CHECK(cost.moved[own_memory] == Bytes(0));
    CHECK(cost.energy.value() == Approx(device->spec().power.per_link_byte.value() * 15000));
  }
}

TEST_CASE("host memories by hand: a share reaches its part of what the host's processor reads") {
  const DeviceSpec whole = catalog_device("host_dimm")->spec();
  const Memory share = a100_with("host_dimm", Json::object(), 4)->spec().memories.back();
  REQUIRE(whole.own().sustained);
  REQUIRE(share.sustained);
  CHECK(share.sustained->value() == Approx(whole.own().sustained->value() / 4));
  CHECK((share.of_host && share.kept_for == Memory::KeptFor::kv_caches));
  const DeviceSpec spec = a100_with("host_dimm", Json::object(), 4)->spec();
  const auto resources = spec.resources(BytesPerSecond(1));
  CHECK(resources[host_channels].bandwidth.value() == Approx(16 * 25.6e9 / 4));
  CHECK(resources[host_channels].link == ClusterLink::host_memory);
  CHECK((resources[to_host].link == ClusterLink::to_host &&
         resources[from_host].link == ClusterLink::from_host));
  CHECK(spec.units[host_link].members == 2);
}

TEST_CASE("HBM-PIM by hand: at its peak each query head reads its K and V again, for no joules") {
  const Json keys = {{"pim_bandwidth_gb_per_s", 20000}};
  Reading reading("test");
  Params params(reading, keys);
  const auto gpu = make_device("a100_hbm_pim", params, "eff");
  const int unit = unit_running(gpu->spec().units, KernelKind::decode_attention);
  const KernelCost cost = attend(*gpu, unit, heads_of(12, 3, 64), 5, 7000);
  CHECK(cost.time.value() == Approx(12. * 7000 * 2 * 64 * 2 / 20e12));
  CHECK(cost.traffic == cost.time);
  CHECK(cost.energy == Joules(0));
  CHECK(cost.flops.value() == 4. * 12 * 64 * 7000);
  CHECK(attend(*gpu, unit, heads_of(12, 3, 64), 0, 0).time == Seconds(0));
}

// A page of 512 elements holds 8 heads of 64. 32 banks multiply 32 B each in 2 ns: 512 GB/s a channel.
TEST_CASE("HBM-PIM by hand: commands of as many heads as a page holds, over all channels") {
  const auto gpu = catalog_device("a100_hbm_pim");
  const int unit = unit_running(gpu->spec().units, KernelKind::decode_attention);
  PimCosts costs(find_memory("hbm2_neupims"));
  const PimRequest eight{PimOp::both, 8192, 8, 64};
  const double tokens = 8 * 8192, channels = 32.6e12 / 512e9;
  const KernelCost cost = attend(*gpu, unit, heads_of(12, 3, 64), 5, 7000);
  CHECK(cost.time.value() == Approx(12 * 7000 * costs.sustained(eight) * 1e-9 / (tokens * channels)));
  CHECK(cost.energy.value() == Approx(12 * 7000 * costs.energy(eight).total().value() / tokens));
  const Port& port = gpu->spec().units[static_cast<std::size_t>(unit)].ports.at(0);
  CHECK(port.withheld == Approx(1 - costs.beside_reads().reads_kept));
  CHECK(port.slowed == Approx(costs.beside_reads().pim_slowdown - 1));
}

TEST_CASE("decodes elsewhere: a device beside such a memory fetches nothing ahead") {
  CHECK(catalog_device("a100_sxm_80gb")->spec().cache());
  CHECK_FALSE(a100_with("dimm_pim", Json::object(), 8)->spec().cache());
}

// Half of a processor of 1 TFLOP/s and 80 GB/s each.
TEST_CASE("host neurons by hand: a processor's peak and its memory, each device's half") {
  const auto device = catalog_memory("host_neurons", {{"fp32_tflops", 1}, {"memory_bandwidth_gb_per_s", 80}})
                          ->beside(catalog_device("rtx4090"), 2, Memory::KeptFor::weights);
  const PowerSpec power = catalog_device("host_neurons")->spec().power;
  const std::vector<SideLoad> loads = {{40, 30, 600}};
  const Kernel neurons = Neurons{1000, 2, 3};
  const KernelCost cost =
      device->cost({.name = "mlp", .kernel = neurons, .rows = 20, .side = loads}, attending);
  // 30 of 10,000 B and 10 that were wrong of 4,000; 600 uses of 5,000 weights, and 10 x 2,000.
  CHECK(cost.flops.value() == 2 * (600. * 5000 + 10 * 2000));
  CHECK(cost.traffic.value() == Approx((300000 + 40000) / 40e9));
  CHECK(cost.compute.value() == Approx(2 * 3.02e6 / 0.5e12));
  CHECK(cost.time == std::max(cost.traffic, cost.compute));
  CHECK(cost.energy.value() == Approx(power.per_flop.value() * 6.04e6 + power.per_byte.value() * 340000));
  const Kernel relu = Elementwise{Bytes(2000)};
  CHECK(device->cost({.name = "act_fn", .kernel = relu, .rows = 30}, attending + 1).time.value() ==
        Approx(30 * 1000 / 0.5e12));
  CHECK(device->spec().memories.back().kept_for == Memory::KeptFor::weights);
}

// 16 sequences of 8,192 inputs are 256 KiB: two parts of a buffer of 128, of half of 12,288 B a rank each.
TEST_CASE("NDP-DIMM by hand: inputs beyond the buffer halve the pieces and double their number") {
  const auto device = catalog_memory("ndp_dimm", {{"buffer_kib", 128}})
                          ->beside(catalog_device("rtx4090"), 8, Memory::KeptFor::kv_caches);
  const NdpDimmCosts dimm(find_memory("ddr4_3200_hermes"));
  const std::vector<SideLoad> loads = {{1000, 1000, 1000}};
  const Kernel neurons = Neurons{8192, 2, 1};
  const auto traffic = [&](double sequences) {
    return device->cost({.name = "mlp", .kernel = neurons, .rows = sequences, .side = loads}, attending)
        .traffic.value();
  };
  CHECK(traffic(8) == Approx(dimm.neurons({1000, 12288, 0}).reading.value()));
  CHECK(traffic(9) == Approx(dimm.neurons({2000, 6144, 0}).reading.value()));
  CHECK(traffic(16) == Approx(dimm.neurons({2000, 6144, 0}).reading.value()));
  // 257 elements on a DIMM are two cycles of 256 activation units, and a MAC's joules each.
  const Kernel relu = Elementwise{Bytes(2 * 257)};
  const KernelCost act = device->cost({.name = "act_fn", .kernel = relu, .rows = 1}, attending + 1);
  CHECK(act.time.value() == Approx(2e-9));
  CHECK(act.energy.value() == Approx(257 * (0.34 + 0.16 + 2 * 7.5 / 8) * 1e-12));
}

}  // namespace weir::test::elsewhere_by_hand
