// Shapes, loads and costs that every device reads from kernels in the same way, by hand.
#include "devices/kernel_shapes.h"
#include "models/neurons/neurons.h"

#include <catch2/catch.hpp>

namespace weir::test::shapes_by_hand {
namespace {

DeviceSpec with_joules() {
  DeviceSpec spec;
  spec.power.per_byte = JoulesPerByte(2e-9);
  spec.power.per_link_byte = JoulesPerByte(5e-9);
  return spec;
}

KernelWork work_of(const Kernel& kernel, double rows) {
  return {.name = "x", .kernel = kernel, .rows = rows};
}

}  // namespace

// 10 rows of 100 B over 4 devices at 1 GB/s and 1 us: a ring takes 6 rounds of a quarter.
TEST_CASE("collectives of devices by hand: a chunk takes what the payload takes longer with it") {
  const Kernel kernel = Communication{Collective::all_reduce, Bytes(100), 4};
  const auto links =
      make_collectives({"custom", LinkShape::switched, BytesPerSecond(1e9), Seconds(1e-6)}, "");
  KernelWork work = work_of(kernel, 10);
  const auto us = [&] { return 1e6 * collective_cost(work, *links, with_joules()).time.value(); };
  CHECK(us() == Approx(6 * (1 + 0.25)));
  work.end = 0.75;
  CHECK(us() == Approx(6 * (1 + 0.1875)));
  work.begin = 0.25;
  CHECK(us() == Approx(6 * 0.125));
  const KernelCost half = collective_cost(work, *links, with_joules());
  CHECK(half.moved[interconnect].value() == Approx(0.5 * 1500));
  CHECK(half.moved[own_memory].value() == Approx(1500));
  CHECK(half.energy.value() == Approx(2e-9 * 1500 + 5e-9 * 750));
  CHECK(half.traffic == half.time);
  work.rows = 0;
  CHECK(us() == 0);
}

TEST_CASE("exchanges of devices by hand: a rank sends its share of the rows, the fullest one's wait") {
  ExchangeKernels kernels;
  kernels.dispatch.start = Seconds(10e-6);
  kernels.dispatch.inside_share = 0.5;
  kernels.combine.start = Seconds(20e-6);
  kernels.combine.inside_share = 0.25;
  ExchangeGroup group{4, 4, {}, {}};
  group.inside.bandwidth = BytesPerSecond(1e9);
  group.inside.exchange = std::make_shared<const ExchangeLibrary>(ExchangeLibrary{kernels, kernels, kernels});
  const ExpertExchange exchange(ExchangeMethod::low_latency, group);
  ExpertTraffic traffic{ExchangeMethod::low_latency, false, 16, 2};
  const auto cost = [&] {
    const Kernel kernel =
        Communication{Collective::all_to_all, Bytes(100), 4, Communication::Among::stage, traffic};
    return exchange_cost(work_of(kernel, 40), exchange, with_joules());
  };
  // 10 tokens a rank, two copies each, three quarters of them to others: 1,500 B.
  CHECK(1e6 * cost().time.value() == Approx(10 + 1.5 / 0.5));
  CHECK(cost().moved[interconnect].value() == Approx(1500));
  CHECK(cost().moved[own_memory].value() == Approx(3000));
  CHECK(cost().energy.value() == Approx(2e-9 * 3000 + 5e-9 * 1500));
  const ExpertLoads& loads = expert_loads({16, 2, 4, 0, ExpertDistribution::power_law, 1.2, 3});
  traffic.loads = &loads;
  CHECK(1e6 * cost().time.value() == Approx(10 + 1.5 * loads.fullest(40).imbalance / 0.5));
  CHECK(cost().moved[interconnect].value() == Approx(1500));
  traffic.back = true;
  traffic.loads = nullptr;
  CHECK(1e6 * cost().time.value() == Approx(20 + 1.5 / 0.25));
}

TEST_CASE("kernels by hand: of experts those that are hit are asked for, of others all or nothing") {
  const Kernel gemm = Gemm{64, 32}, experts = GroupedGemm{{64, 32}, 3, 2, 12}, heads = Attention{};
  CHECK(asked_for(work_of(gemm, 1)) == 1);
  CHECK(asked_for(work_of(gemm, 0)) == 0);
  CHECK(asked_for(work_of(heads, 0)) == 1);
  CHECK(asked_for(work_of(experts, 2)) == Approx(1 - 25. / 36));  // missed by 5/6 of each
  CHECK(asked_for(work_of(experts, 0)) == 0);
}

TEST_CASE("kernels by hand: what lies in memory before a kernel is its weights, or the cache in its window") {
  const auto bytes = [](const Kernel& kernel, const BatchShape& batch = {}) {
    KernelWork work = work_of(kernel, 1);
    work.batch = batch;
    return stored_bytes(work).value();
  };
  CHECK(bytes(Gemm{.in = 64, .out = 32, .weights = DataType::fp8, .matrices = 3}) == 3 * 64 * 32);
  CHECK(bytes(GroupedGemm{{.in = 64, .out = 32}, 5, 2, 20}) == 5 * 64 * 32 * 2);
  // 2 KV heads of 16: 128 B a token. 3 decodes of 4 rows see 300 tokens, 12 of them their own.
  Attention heads{.query_heads = 6, .kv_heads = 2, .head_dim = 16};
  const PrefillChunk chunks[] = {{10, 70}, {5, 20}};
  BatchShape batch;
  batch.decodes = 3, batch.decode_rows = 4, batch.decode_context_sum = 300;
  batch.prefill = chunks;
  CHECK(bytes(heads, batch) == 128 * (288 + 70 + 20));
  heads.window = 50;
  CHECK(bytes(heads, batch) == 128 * (150 + 50 + 20));
  heads.window = 96;
  CHECK(bytes(heads, batch) == 128 * (288 + 70 + 20));
  heads.part = Attention::Part::decodes;
  CHECK(bytes(heads, batch) == 0);
  Attention latents{
      .query_heads = 6, .kv_heads = 1, .head_dim = 24, .keys = Attention::Keys::latent, .value_dim = 16};
  CHECK(bytes(latents, batch) == 2 * 24 * (288 + 70 + 20));
  latents.keys = Attention::Keys::index;
  CHECK(bytes(latents, batch) == 2 * (24 + 16) * (288 + 70 + 20));
  latents.keys = Attention::Keys::expanded;
  CHECK(bytes(latents, batch) == 0);
  CHECK(bytes(Elementwise{Bytes(8)}) == 0);
}

TEST_CASE("kernels by hand: widths of keys and values, and of a query") {
  Attention a{.query_heads = 6,
              .kv_heads = 2,
              .head_dim = 24,
              .activations = DataType::fp8,
              .keys = Attention::Keys::expanded,
              .value_dim = 16};
  CHECK((values_met(a) == 16 && values_read(a) == 16));
  CHECK(bytes_per_token(a) == Bytes(2 * (24 + 16) * 2));
  CHECK(bytes_per_query(a) == Bytes(6 * 24));
  CHECK_FALSE(is_plain(a));
  a.keys = Attention::Keys::latent;
  CHECK((values_met(a) == 16 && values_read(a) == 0));
  a.keys = Attention::Keys::cached;
  CHECK((values_met(a) == 24 && values_read(a) == 24));
  CHECK(is_plain(a));
  a.window = 1;
  CHECK_FALSE(is_plain(a));
  CHECK(bytes_per_neuron({.width = 100, .before = 2, .behind = 3, .weights = DataType::fp8}) == Bytes(500));
}

}  // namespace weir::test::shapes_by_hand
