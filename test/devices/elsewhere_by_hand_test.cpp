// What attends to decodes beside a device, by hand: joules by heads, shares, and HBM-PIM at its peak.
#include <catch2/catch.hpp>

#include "models/memory/dimm_pim/rank_attention.h"
#include "models/memory/memory_row.h"
#include "models/memory/pim/pim_costs.h"
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

}  // namespace weir::test::elsewhere_by_hand
