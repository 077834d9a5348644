// The NPUs with a cache that software fills, against PRESERVE's own performance model: the longer of flops
// over the peak and bytes over the bandwidth, by hand.
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "devices/kernel_shapes.h"
#include "models/latency/matrix.h"
#include "sim/studies/validation/kernels.h"
#include "test/devices/priced.h"

namespace weir::test {
namespace {

const std::vector<std::string> l2_npus = {"ascend_910b", "l2_npu"};

Operator eight_bit_attention(std::int64_t query_heads, std::int64_t kv_heads) {
  Operator op = attention_operator(query_heads, kv_heads);
  auto& attention = std::get<Attention>(op.kernel);
  attention.activations = attention.kv_cache = DataType::int8;
  return op;
}

}  // namespace

TEST_CASE("L2 NPUs: what PRESERVE's Table 2 and Section 4 say, a unit for whatever works by itself") {
  const DeviceSpec spec = catalog_device("l2_npu")->spec();
  CHECK(spec.own().capacity == Bytes(64. * (1 << 30)));
  CHECK(spec.own().bandwidth == BytesPerSecond(1.84e12));
  CHECK(spec.peak(DataType::int8) == FlopsPerSecond(800e12));
  CHECK(spec.peak(DataType::fp16) == FlopsPerSecond(400e12));
  CHECK(spec.peak(DataType::bf16) == FlopsPerSecond(400e12));
  CHECK(spec.peak(DataType::fp8) == FlopsPerSecond(0));
  CHECK(unit_names(spec.units) == "npu, prefetch, link");
  REQUIRE(spec.cache());
  CHECK(spec.cache()->capacity == Bytes(104e6));  // MB of 10^6
  CHECK(spec.cache()->bandwidth == BytesPerSecond(12e12));
  // 800 / 1.84 cores at their peak draw 0.526 W each.
  const Joules second = spec.power.dynamic(Flops(400e12), Bytes(0), Bytes(0));
  CHECK(second.value() == Approx(800 / 1.84 * 0.526).epsilon(1e-4));

  const DeviceSpec ascend = catalog_device("ascend_910b")->spec();
  CHECK(ascend.own().bandwidth == BytesPerSecond(1.6e12));
  CHECK(ascend.peak(DataType::int8) == FlopsPerSecond(800e12));
  REQUIRE(ascend.cache());
  CHECK(ascend.cache()->capacity == Bytes(192. * (1 << 20)));
  REQUIRE(ascend.notes.die_mm2);
  CHECK(*ascend.notes.die_mm2 == Approx(665.61).epsilon(1e-4));
}

TEST_CASE("L2 NPUs: the die is its cores and its cache, and each number can be given") {
  const auto die = [](const Json& given) { return *catalog_device("l2_npu", given)->spec().notes.die_mm2; };
  const double cores = 800 / 1.84;
  CHECK(die(Json::object()) == Approx(1.34 * cores + 0.36 * 104));
  CHECK(die({{"l2_mb", 8}}) == Approx(1.34 * cores + 0.36 * 8));
  CHECK(die({{"l2_mb", 0}}) == Approx(1.34 * cores));
  CHECK(die({{"int8_tflops", 400}}) == Approx(1.34 * cores / 2 + 0.36 * 104));
  CHECK(die({{"core_mm2", 2}, {"l2_mm2_per_mb", 1}, {"core_int8_tflops", 8}}) == Approx(200 + 104));
  CHECK(catalog_device("l2_npu", {{"l2_mb", 8}})->spec().cache()->capacity == Bytes(8e6));
  // 16-bit peaks follow the 8-bit one, unless they are given.
  CHECK(catalog_device("l2_npu", {{"int8_tflops", 400}})->spec().peak(DataType::bf16) ==
        FlopsPerSecond(200e12));
  const auto sixteen = catalog_device("l2_npu", {{"fp16_tflops", 354}});
  CHECK(sixteen->spec().peak(DataType::fp16) == FlopsPerSecond(354e12));
  CHECK(sixteen->spec().peak(DataType::bf16) == FlopsPerSecond(400e12));
  CHECK_FALSE(catalog_device("h100_sxm")->spec().notes.die_mm2);
}

TEST_CASE("L2 NPUs: a matrix takes the longer of flops over the peak and bytes over the bandwidth") {
  const auto npu = catalog_device("l2_npu");
  for (const std::int64_t rows : {1, 16, 400, 900, 8192})
    for (const DataType type : {DataType::int8, DataType::bf16}) {
      CAPTURE(rows, to_string(type));
      const double n = static_cast<double>(rows), element = bytes_per_element(type);
      const double flops = 2 * n * 4096 * 3072;
      const double bytes = 4096. * 3072 * element + n * (4096 * element + 3072 * 2);  // results of 16 bit
      const double peak = type == DataType::int8 ? 800e12 : 400e12;
      const KernelCost cost = priced(*npu, gemm_operator(4096, 3072, type, type), decode_batch(rows, 1));
      CHECK(cost.time.value() == Approx(std::max(flops / peak, bytes / 1.84e12)).epsilon(1e-12));
      CHECK(cost.flops.value() == flops);
      CHECK(cost.moved[own_memory].value() == bytes);
      CHECK(cost.compute.value() == Approx(flops / peak));
      CHECK(cost.traffic.value() == Approx(bytes / 1.84e12));
      // The energy of an operation: 0.526 W for 1.84 of 8 bit, twice for 16.
      const double picojoules = flops * 0.526 / 1.84 * (type == DataType::int8 ? 1 : 2) + bytes * 48;
      CHECK(cost.energy.value() == Approx(picojoules * 1e-12).epsilon(1e-4));
    }
  // Weights of 8 bit with activations of 16: half the bytes at the 16-bit peak.
  const KernelCost mixed =
      priced(*npu, gemm_operator(4096, 4096, DataType::int8, DataType::bf16), decode_batch(8192, 1));
  CHECK(mixed.time.value() == Approx(2. * 8192 * 4096 * 4096 / 400e12));
  CHECK(priced(*npu, gemm_operator(4096, 4096), BatchShape{}).time == Seconds(0));
}

TEST_CASE("L2 NPUs: elementwise operators are their bytes, collectives what the links say") {
  const Operator norm{.name = "layernorm", .kernel = Elementwise{Bytes(8192)}};
  CHECK(priced(*catalog_device("l2_npu"), norm, decode_batch(10, 1)).time.value() == Approx(81920 / 1.84e12));
  CHECK(priced(*catalog_device("ascend_910b"), norm, decode_batch(10, 1)).time.value() ==
        Approx(81920 / (0.864 * 1.6e12)));
  // PRESERVE's all-reduce of Table 2's links: 25 us once, then 2 (n - 1) / n of the payload at 25 GB/s.
  const Operator reduce{.name = "all_reduce",
                        .kernel = Communication{Collective::all_reduce, Bytes(4096), 32}};
  const auto links =
      make_collectives({"custom", LinkShape::ring, BytesPerSecond(25e9), Seconds(25e-6), true}, "");
  const KernelCost cost =
      collective_cost(lowered(reduce, decode_batch(16, 1)), *links, catalog_device("l2_npu")->spec());
  CHECK(cost.time.value() == Approx(25e-6 + 2 * 31. / 32 * 16 * 4096 / 25e9));
  CHECK(cost.moved[interconnect].value() == Approx(2 * 31. / 32 * 16 * 4096));
}

TEST_CASE("L2 NPUs: attention reads K and V once for all heads of a group, decodes and prefills alike") {
  const auto npu = catalog_device("l2_npu");
  const Operator op = eight_bit_attention(8, 2);
  const double per_token = 2 * 2 * 128, vectors = 2 * 8 * 128, pair = 4 * 8 * 128;
  const KernelCost decodes = priced(*npu, op, decode_batch(64, 1000));
  CHECK(decodes.moved[own_memory].value() == 64 * (1000 * per_token + vectors));
  CHECK(decodes.flops.value() == 64 * 1000 * pair);
  CHECK(decodes.time.value() == Approx(decodes.moved[own_memory].value() / 1.84e12));
  const PrefillChunk chunk{255, 128};  // attends to 128 before it and 128 of its own, on average
  const KernelCost prefill = priced(*npu, op, prefill_batch({&chunk, 1}));
  CHECK(prefill.flops.value() == 255 * 256 * pair);
  CHECK(prefill.moved[own_memory].value() == 383 * per_token + 255 * vectors);
  CHECK(prefill.compute.value() == Approx(255 * 256 * pair / 800e12));
  // Both in a batch: one kernel with the work of both.
  BatchShape both = decode_batch(64, 1000);
  both.prefill = {&chunk, 1};
  both.prefill_tokens = chunk.tokens;
  const KernelCost mixed = priced(*npu, op, both);
  CHECK(mixed.flops == decodes.flops + prefill.flops);
  CHECK(mixed.moved[own_memory].value() ==
        Approx((decodes.moved[own_memory] + prefill.moved[own_memory]).value()));
  CHECK(mixed.time == std::max(mixed.compute, mixed.traffic));
  // 16-bit activations calculate at half the rate.
  Operator wide = op;
  std::get<Attention>(wide.kernel).activations = DataType::bf16;
  CHECK(priced(*npu, wide, decode_batch(64, 1000)).compute / decodes.compute == Approx(2));
  Operator parts = op;
  std::get<Attention>(parts.kernel).part = Attention::Part::logit;
  CHECK_THROWS_AS(priced(*npu, parts, decode_batch(64, 1000)), std::logic_error);
}

TEST_CASE("L2 NPUs: only several KV heads on a device are read in strides, and only K and V of them") {
  const auto even = catalog_device("ascend_910b"),
             strided = catalog_device("ascend_910b", {{"strided_kv_efficiency", 0.25}});
  const BatchShape batch = decode_batch(4, 16000);
  const auto time = [&](const Device& device, std::int64_t kv_heads) {
    return priced(device, eight_bit_attention(8, kv_heads), batch).time.value();
  };
  CHECK(time(*strided, 1) == time(*even, 1));
  const double stream = 0.864 * 1.6e12, kv = 4. * 16000 * 2 * 2 * 128, rest = 4. * 2 * 8 * 128;
  CHECK(time(*even, 2) == Approx((kv + rest) / stream));
  CHECK(time(*strided, 2) == Approx((4 * kv + rest) / stream));
  // What crosses the bus is the same, and matrices do not care.
  CHECK(priced(*strided, eight_bit_attention(8, 2), batch).moved[own_memory] ==
        priced(*even, eight_bit_attention(8, 2), batch).moved[own_memory]);
  CHECK(priced(*strided, gemm_operator(4096, 4096), batch).time ==
        priced(*even, gemm_operator(4096, 4096), batch).time);
}

TEST_CASE("L2 NPUs: decode attention changes from traffic to arithmetic at the exact step") {
  // Arithmetic just grows faster than traffic, and starts below it for the queries' and results' bytes.
  const auto npu = catalog_device("l2_npu", {{"int8_tflops", 30}});
  const Operator op = eight_bit_attention(16, 2);  // 16 flops a byte of K and V: 29.44 T at 1.84 TB/s
  const auto slower = catalog_device("l2_npu", {{"int8_tflops", 29}});
  for (const Device* device : {npu.get(), slower.get()}) {
    const BatchShape batch = decode_batch(32, 10);
    const AffineKernelCost affine = decode_attention(*device, op, batch);
    const auto at = [&](std::int64_t step) {
      return priced(*device, op, decode_batch(32, 10 + step)).time.value();
    };
    for (std::int64_t step = 0; step < std::min<std::int64_t>(affine.steps, 4000); ++step)
      REQUIRE((affine.first.time + static_cast<double>(step) * affine.slope.time).value() ==
              Approx(at(step)).epsilon(1e-12));
    if (affine.steps > 4000) continue;
    CHECK((affine.first.time + static_cast<double>(affine.steps) * affine.slope.time).value() <
          at(affine.steps) * (1 - 1e-9));
  }
  CHECK(decode_attention(*npu, op, decode_batch(32, 10)).steps > 1000000);  // never
  const std::int64_t steps = decode_attention(*slower, op, decode_batch(32, 10)).steps;
  CHECK(steps > 100);
  CHECK(steps < 4000);
}

TEST_CASE("L2 NPUs: of experts the busy ones' weights are read, and a rank has its share of the rows") {
  const auto npu = catalog_device("l2_npu");
  Operator op = gemm_operator(4096, 14336, DataType::int8, DataType::int8);
  op.kernel = GroupedGemm{.each = std::get<Gemm>(op.kernel), .here = 2, .active = 2, .total = 8};
  for (const std::int64_t tokens : {1, 4, 64, 4096}) {
    CAPTURE(tokens);
    const auto n = static_cast<double>(tokens);
    const double busy = 2 * (1 - std::pow(1 - 2. / 8, n)), rows = n * 2 * 2 / 8;
    const double flops = 2 * rows * 4096 * 14336, bytes = busy * 4096 * 14336 + rows * (4096 + 14336 * 2);
    const KernelCost cost = priced(*npu, op, decode_batch(tokens, 1));
    CHECK(cost.time.value() == Approx(std::max(flops / 800e12, bytes / 1.84e12)).epsilon(1e-12));
    CHECK(cost.moved[own_memory].value() == Approx(bytes));
  }
}

TEST_CASE("L2 NPUs: nothing is faster with less bandwidth, peak or efficiency") {
  std::mt19937 random(3);
  const auto whole = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  for (const std::string& kind : l2_npus) {
    const auto device = catalog_device(kind);
    const double bandwidth = device->spec().own().bandwidth.value() / 1e9;
    for (const Json& worse :
         {Json{{"memory_bandwidth_gb_per_s", 0.7 * bandwidth}}, Json{{"memory_efficiency", 0.5}},
          Json{{"int8_tflops", 500}}, Json{{"strided_kv_efficiency", 0.5}}}) {
      const auto slower = catalog_device(kind, worse);
      for (int i = 0; i < 100; ++i) {
        DataType type = i % 2 ? DataType::int8 : DataType::fp16;
        Operator op = gemm_operator(whole(64, 16384), whole(64, 16384), type, type);
        if (i % 3 == 0) {
          op = eight_bit_attention(8 * whole(1, 8), whole(1, 8));
          type = DataType::int8;
        }
        const BatchShape batch = decode_batch(whole(1, 1024), whole(1, 20000));
        const KernelCost cost = priced(*device, op, batch);
        REQUIRE(priced(*slower, op, batch).time >= cost.time);
        REQUIRE(cost.time >= cost.flops / device->spec().peak(type));
        REQUIRE(cost.time >= cost.moved[own_memory] / device->spec().own().bandwidth);
      }
    }
  }
}

}  // namespace weir::test
