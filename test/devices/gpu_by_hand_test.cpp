// A GPU of round numbers, each unlike its neighbour, worked out by hand: which peak, which share of it, whose
// efficiency and whose joules.
#include <catch2/catch.hpp>
#include <limits>

#include "devices/gpu.h"
#include "devices/kernel_shapes.h"
#include "models/neurons/neurons.h"
#include "models/nn/tensor_operation.h"
#include "test/devices/priced.h"

namespace weir::test::gpu_by_hand {
namespace {

constexpr double endless = std::numeric_limits<double>::infinity();

GemmEfficiency sharp(double memory) {
  GemmEfficiency e;
  e.memory = memory;
  e.knee = endless;
  return e;
}

KernelEfficiencies round_kernels() {
  KernelEfficiencies kernels;
  kernels.gemms[0] = sharp(1);
  kernels.gemms[1] = sharp(0.5);
  for (const auto& [name, memory] : {std::pair{"norm", 0.5}, {"act", 0.25}, {"", 0.125}}) {
    kernels.elementwise.push_back({name, {}});
    kernels.elementwise.back().efficiency.memory = memory;
  }
  kernels.attention.decode.memory = 0.8;
  kernels.attention_8bit_cache.decode.memory = 0.4;
  return kernels;
}

std::shared_ptr<const Device> round_gpu(double bandwidth, double sustained = 0.8, double eight_bit = 0.5) {
  DeviceSpec spec;
  spec.kind = "round";
  spec.own().bandwidth = BytesPerSecond(bandwidth);
  spec.peak = [](DataType type) {
    return FlopsPerSecond(type == DataType::fp32   ? 0.5e12
                          : type == DataType::bf16 ? 1e12
                          : type == DataType::fp16 ? 2e12
                          : type == DataType::fp8  ? 8e12
                                                   : 0);
  };
  spec.power.per_flop = JoulesPerFlop(1e-12);
  spec.power.per_byte = JoulesPerByte(2e-9);
  spec.power.per_chip_byte = JoulesPerByte(3e-9);
  spec.power.per_attention_byte = JoulesPerByte(5e-9);
  spec.power.per_link_byte = JoulesPerByte(7e-9);
  return make_gpu(std::move(spec), {10, Bytes(0), sustained, eight_bit}, {round_kernels()});
}

KernelCost cost_of(const Device& gpu, const Kernel& kernel, double rows, std::string_view name = "x",
                   std::span<const SideLoad> neurons = {}) {
  return gpu.cost({.name = name, .kernel = kernel, .rows = rows, .side = neurons}, 0);
}

Gemm square(DataType type) {
  return {1000, 1000, type, type};
}

constexpr double fast = 1e15, slow = 1e9;

}  // namespace

TEST_CASE("gpu by hand: a matrix has its type's peak, and types of 16 bits and more another share of it") {
  const auto gpu = round_gpu(fast);
  const auto ms = [&](DataType type) { return 1e3 * cost_of(*gpu, square(type), 1000).time.value(); };
  CHECK(ms(DataType::bf16) == Approx(2 / 0.8));
  CHECK(ms(DataType::fp16) == Approx(1 / 0.8));
  CHECK(ms(DataType::fp32) == Approx(4 / 0.8));
  CHECK(ms(DataType::fp8) == Approx(0.25 / 0.5));
  const auto bursts = gpu->in_bursts();
  REQUIRE(bursts);
  CHECK(cost_of(*bursts, square(DataType::bf16), 1000).time.value() == Approx(2e-3));
  CHECK(cost_of(*bursts, square(DataType::fp8), 1000).time.value() == Approx(0.25e-3));
  CHECK(round_gpu(fast, 1, 0.5)->in_bursts());
  CHECK(round_gpu(fast, 0.5, 1)->in_bursts());
  CHECK_FALSE(round_gpu(fast, 1, 1)->in_bursts());
}

// An fp16 flop, at the higher of the two 16-bit rates, takes 1 pJ; others by their rate beside it.
TEST_CASE("gpu by hand: joules follow the rate of the type, chip and memory; the memory's do not fall") {
  const auto gpu = round_gpu(fast);
  for (const auto& [type, joules] : {std::pair{DataType::bf16, 4e-3},
                                     {DataType::fp16, 2e-3},
                                     {DataType::fp32, 8e-3},
                                     {DataType::fp8, 0.5e-3}}) {
    const KernelCost cost = cost_of(*gpu, square(type), 1000);
    const double bytes = cost.moved[own_memory].value();
    CHECK(cost.clocked.value() == Approx(joules + 3e-9 * bytes));
    CHECK(cost.energy.value() == Approx(joules + 5e-9 * bytes));
  }
}

TEST_CASE("gpu by hand: elementwise layers have their own share by name, or that of any other") {
  const auto gpu = round_gpu(slow);
  const Kernel kernel = Elementwise{Bytes(1000)};
  CHECK(cost_of(*gpu, kernel, 3, "norm").time.value() == Approx(6e-6));
  CHECK(cost_of(*gpu, kernel, 3, "act").time.value() == Approx(12e-6));
  CHECK(cost_of(*gpu, kernel, 3, "embedding").time.value() == Approx(24e-6));
  CHECK(cost_of(*gpu, kernel, 3, "norm").clocked.value() == Approx(9e-6));
  CHECK(cost_of(*gpu, kernel, 3, "norm").energy.value() == Approx(15e-6));
}

// 2 requests of 1,500 tokens on 3 KV heads of 64: 768 B a token; 12 query heads: 3072 flops.
TEST_CASE(
    "gpu by hand: attention has the higher 16-bit peak, its cache's efficiencies and joules of its own") {
  Attention heads{.query_heads = 12, .kv_heads = 3, .head_dim = 64};
  const auto cost = [&](double bandwidth, DataType cache) {
    heads.kv_cache = cache;
    const Kernel kernel = heads;
    KernelWork work{.name = "attention", .kernel = kernel, .rows = 2};
    work.batch.decodes = 2;
    work.batch.decode_context_sum = 3000;
    work.batch.decode_context_max = 1500;
    const KernelCost whole = round_gpu(bandwidth)->cost(work, 0);
    const AffineKernelCost line = round_gpu(bandwidth)->decode_attention(work, 0);
    CHECK(line.first.time == whole.time);
    CHECK(line.first.energy == whole.energy);
    return whole;
  };
  const KernelCost bound = cost(slow, DataType::bf16);
  CHECK(bound.time.value() == Approx(3000 * 768 / 0.8e9));
  CHECK(cost(slow, DataType::fp8).time.value() == Approx(3000 * 384 / 0.4e9));
  CHECK(cost(fast, DataType::bf16).time.value() == Approx(3000 * 3072 / (0.8 * 2e12)));
  // Its flops are of bf16, of half the rate.
  CHECK(bound.clocked.value() == Approx(2e-12 * 3000 * 3072 + (3e-9 + 5e-9) * 3000 * 768));
  CHECK(bound.energy.value() == Approx(2e-12 * 3000 * 3072 + (2e-9 + 3e-9 + 5e-9) * 3000 * 768));
}

TEST_CASE("gpu by hand: an operator of a training step is a product, or the longer of flops and bytes") {
  TensorOperation other{.work = {1e6, 2e6, 3e6}, .read = Bytes(1000), .written = Bytes(500)};
  CHECK(cost_of(*round_gpu(fast), other, 1).time.value() == Approx(12e-6));
  CHECK(cost_of(*round_gpu(slow), other, 1, "norm").time.value() == Approx(12e-6));
  other.read = Bytes(20000);
  CHECK(cost_of(*round_gpu(slow), other, 1, "norm").time.value() == Approx(41e-6));
  CHECK(cost_of(*round_gpu(slow), other, 1).time.value() == Approx(164e-6));
  const TensorOperation product{
      .work = {3e6, 2e6, 1e6}, .read = Bytes(6000), .written = Bytes(3000), .product = {100, 200, 300}};
  const KernelCost cost = cost_of(*round_gpu(fast), product, 1);
  CHECK(cost.time.value() == Approx(2. * 100 * 200 * 300 / (0.8 * 0.5e12)));
  CHECK(cost_of(*round_gpu(1e6), product, 1).time.value() == Approx(9e-3));
}

// 40 neurons of 1,000 elements are read and 30 computed: two matrices before, three behind them.
TEST_CASE("gpu by hand: active neurons are a matrix as wide as these, before and behind") {
  const std::vector<SideLoad> active = {{40, 30, 90}};
  const auto gpu = round_gpu(slow);
  const KernelCost cost = cost_of(*gpu, Neurons{1000, 2, 3}, 5, "x", active);
  CHECK(cost.flops.value() == 2 * 5 * (1000. * 80 + 30 * 3000));
  const double before = 2. * (1000 * 80 + 5 * (1000 + 80)), behind = 2. * (30 * 3000 + 5 * (30 + 3000));
  CHECK(cost.moved[own_memory].value() == before + behind);
  CHECK(cost.time.value() == Approx((before + behind) / 1e9));
  CHECK(cost_of(*gpu, Neurons{1000, 0, 3}, 5, "x", active).moved[own_memory].value() == behind);
  CHECK(cost_of(*gpu, Neurons{1000, 2, 3}, 5).time == Seconds(0));
}

TEST_CASE("kernel reach by hand: shares grow by it, up to the peak, and what is above it stays") {
  KernelEfficiencies kernels = round_kernels();
  kernels.gemms[0]->compute = 0.3;
  kernels.gemms[0]->memory = 0.4;
  kernels.experts[2] = sharp(1.2);
  kernels.experts[2]->compute = 0.7;
  kernels.attention.prefill.context = 0.2;
  kernels.attention.prefill.causal = 0.1;
  kernels.attention_8bit_cache.prefill.context = 0.25;
  const KernelEfficiencies more = reaching(kernels, {.memory = 1.5, .compute = 2});
  CHECK(more.gemms[0]->compute == Approx(0.6));
  CHECK(more.gemms[0]->memory == Approx(0.6));
  CHECK(more.gemms[1]->memory == Approx(0.75));
  CHECK(more.experts[2]->compute == 1);
  CHECK(more.experts[2]->memory == 1.2);
  CHECK_FALSE(more.experts[0]);
  CHECK(more.elementwise[0].efficiency.memory == Approx(0.75));
  CHECK(more.elementwise[2].efficiency.memory == Approx(0.1875));
  CHECK(more.attention.prefill.context == Approx(0.4));
  CHECK(more.attention.prefill.causal == Approx(0.2));
  CHECK(more.attention.decode.memory == 1);
  CHECK(more.attention_8bit_cache.prefill.context == Approx(0.5));
  CHECK(more.attention_8bit_cache.decode.memory == Approx(0.6));
  const KernelEfficiencies less = reaching(kernels, {.memory = 0.5, .compute = 0.25});
  CHECK(less.experts[2]->memory == Approx(0.6));
  CHECK(less.experts[2]->compute == Approx(0.175));
}

TEST_CASE("kernel libraries: a kind of matrix that lacks efficiencies takes those nearest to it") {
  KernelEfficiencies kernels = round_kernels();
  const auto key = [&](MatrixKind kind, bool grouped) { return matrix_choice(kernels, kind, grouped).key; };
  using enum MatrixKind;
  CHECK(key(fp8_block, false) == "gemm_8bit");
  CHECK(key(fp4, false) == "gemm_8bit");
  CHECK(key(four_by_eight_bit, false) == "gemm_8bit");
  CHECK(key(four_bit_weights, false) == "gemm_16bit");
  CHECK(key(fp8_block, true) == "gemm_8bit");
  kernels.experts[1] = sharp(1);
  CHECK(key(fp8_block, true) == "experts_8bit");
  CHECK(key(fp8_block, false) == "gemm_8bit");
  kernels.gemms[2] = sharp(1);
  CHECK(key(fp8_block, true) == "gemm_fp8_block");  // its own kind before experts of another
  kernels.experts[2] = sharp(1);
  CHECK(key(fp8_block, true) == "experts_fp8_block");
  CHECK(key(four_bit_weights, true) == "gemm_16bit");
  const auto kind = [](DataType weights, DataType activations) {
    return matrix_kind({.weights = weights, .activations = activations});
  };
  CHECK(kind(DataType::mxfp4, DataType::int8) == four_by_eight_bit);
  CHECK(kind(DataType::fp4, DataType::fp4) == fp4);
  CHECK(kind(DataType::bf16, DataType::mxfp4) == fp4);
  CHECK(kind(DataType::int4, DataType::fp8_block) == fp8_block);
  CHECK(kind(DataType::mxfp4, DataType::fp16) == four_bit_weights);
  CHECK(kind(DataType::int8, DataType::fp32) == sixteen_bit);
}

}  // namespace weir::test::gpu_by_hand
