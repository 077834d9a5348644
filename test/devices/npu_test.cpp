// The NPUs of NeuPIMs against closed forms: arrays, vector units, memory, and the set of assumptions that is
// fitted to the paper.
#include <catch2/catch.hpp>

#include "models/latency/systolic.h"
#include "models/memory/dram/channel.h"
#include "sim/core/embedded.h"
#include "sim/studies/validation/kernels.h"
#include "test/devices/priced.h"

namespace weir {
extern const EmbeddedFiles device_catalog;
}

namespace weir::test {
namespace {

const std::vector<std::string> npus = {"npu_only", "npu_pim_blocked", "neupims_npu"};

std::shared_ptr<const Device> paper_device(const std::string& kind, const Json& overrides = Json::object()) {
  Reading reading(kind);
  Params params(reading, overrides);
  auto device = make_device(kind, params, "paper");
  params.close();
  reading.finish();
  return device;
}

const SystolicArrays arrays{.arrays = 8,
                            .rows = 128,
                            .columns = 128,
                            .clock_hz = 1e9,
                            .bandwidth = BytesPerSecond(1.024e12),
                            .memory_efficiency = 0.915,
                            .scratchpad = Bytes(32. * (1 << 20))};

}  // namespace

TEST_CASE("NPUs: what Table 2 of NeuPIMs says, and a unit for whatever works by itself") {
  for (const std::string& kind : npus) {
    const DeviceSpec spec = catalog_device(kind)->spec();
    INFO(kind);
    CHECK(spec.own().capacity == Bytes(32. * (1 << 30)));
    CHECK(spec.own().bandwidth.value() == Approx(1.024e12));
    CHECK(spec.peak(DataType::fp16) == FlopsPerSecond(262.144e12));
    CHECK(spec.peak(DataType::fp8) == FlopsPerSecond(0));
    const bool pim = kind != "npu_only";
    CHECK(spec.own().members == (pim ? 32 : 1));
    CHECK(spec.own().page_elements == (pim ? 512 : 0));
    CHECK(spec.own().banks == (pim ? 32 : 0));
  }
  CHECK(unit_names(catalog_device("npu_only")->spec().units) == "systolic, vector, link");
  CHECK(unit_names(catalog_device("npu_pim_blocked")->spec().units) == "systolic, vector, pim_blocked, link");
  CHECK(unit_names(catalog_device("neupims_npu")->spec().units) == "systolic, vector, pim, link");
  CHECK(catalog_device("neupims_npu")->spec().units[2].members == 32);
  CHECK(catalog_device("neupims_npu", {{"row_buffers", "none"}})->spec().own().members == 1);
  CHECK(catalog_device("npu_only", {{"memory_channels", 64}})->spec().own().capacity ==
        Bytes(64. * (1 << 30)));
}

TEST_CASE("NPUs: the catalog's memory efficiency is what the bank model reaches on a long stream") {
  const MemorySpec memory = find_memory("hbm2_neupims");
  std::vector<MemoryRequest> stream(65536);  // 4 MB, in order
  for (std::size_t i = 0; i < stream.size(); ++i) stream[i].address = 64 * i;
  const double reached = static_cast<double>(stream.size()) * static_cast<double>(memory.timings.burst) /
                         static_cast<double>(play(memory, stream).span());
  for (const std::string& kind : npus)
    CHECK(embedded_json(*text_of(device_catalog, kind), kind)["memory_efficiency"].get<double>() ==
          Approx(reached).epsilon(0.001));
}

TEST_CASE("NPUs: a matrix takes what the systolic arrays say, elementwise the longer of lanes and memory") {
  const auto npu = catalog_device("npu_only");
  for (const std::int64_t rows : {1, 64, 128, 500, 4096}) {
    const KernelCost cost = priced(*npu, gemm_operator(4096, 3072), decode_batch(rows, 1));
    const KernelCost closed =
        systolic_gemm_cost(arrays, {.rows = static_cast<double>(rows), .in = 4096, .out = 3072});
    CHECK(cost.time.value() == Approx(closed.time.value()));
    CHECK(cost.moved[own_memory] == closed.moved[own_memory]);
  }
  const Operator norm{.name = "layernorm", .kernel = Elementwise{Bytes(8192)}};
  CHECK(priced(*npu, norm, decode_batch(10, 1)).time.value() == Approx(81920 / (0.915 * 1.024e12)));
  const auto narrow = catalog_device("npu_only", {{"vector_lanes", 16}});
  CHECK(priced(*narrow, norm, decode_batch(10, 1)).time.value() == Approx(81920 / (16 * 4 * 1e9)));
}

TEST_CASE("NPUs: decodes read K and V once a KV head, a prefill of one head is its two matrices") {
  const auto npu = catalog_device("npu_only");
  const BatchShape decodes = decode_batch(64, 1000);
  const KernelCost cost = priced(*npu, attention_operator(8, 8), decodes);
  const double kv = 64. * 1000 * 2 * 8 * 128 * 2, vectors = 64. * 2 * 2 * 8 * 128;
  CHECK(cost.moved[own_memory].value() == Approx(kv + vectors));
  // 8 tiles fill the arrays, the last row leaves them; in between the bus is the slowest.
  const double ends = 8. * 128 * 128 * 2 / (0.915 * 1.024e12) + (2 * 128 + 128 - 2) / 1e9;
  CHECK(cost.time.value() == Approx((kv + vectors) / (0.915 * 1.024e12) + ends));
  // 8 query heads share a KV head: an eighth of the bytes and an array's tiles, the same arithmetic.
  const KernelCost grouped = priced(*npu, attention_operator(8, 1), decodes);
  CHECK(grouped.moved[own_memory].value() == Approx(kv / 8 + vectors));
  CHECK(grouped.flops == cost.flops);
  CHECK(grouped.time < 0.2 * cost.time);
  // One array: the tiles are the slowest. (1000/128 + 1/2) of K, as many of V, 128 cycles each.
  const auto one = catalog_device("npu_only", {{"systolic_arrays", 1}});
  const double tiles = 64 * 8 * 2 * (1000. / 128 + 0.5);
  CHECK(priced(*one, attention_operator(8, 8), decodes).compute.value() == Approx(tiles * 128 / 1e9));
  // A request's KV heads spread over the arrays: of 12 on 8 arrays the busiest has 2.
  for (const auto& [requests, heads, most] : {std::array{1, 12, 2}, {1, 8, 1}, {3, 4, 2}, {1, 1, 1}}) {
    const KernelCost spread = priced(*npu, attention_operator(heads, heads), decode_batch(requests, 1000));
    CHECK(spread.compute.value() == Approx(most * 2 * (1000. / 128 + 0.5) * 128 / 1e9));
  }

  const PrefillChunk chunk{255,
                           128};  // 255 tokens attend to 128 before them and 128 of their own, on average
  const KernelCost prefill = priced(*npu, attention_operator(1, 1), prefill_batch({&chunk, 1}));
  CHECK(prefill.flops == Flops(4. * 255 * 256 * 128));
  CHECK(prefill.compute.value() * 1e9 == Approx(static_cast<double>(systolic_cycles(arrays, 255, 128, 256) +
                                                                    systolic_cycles(arrays, 255, 256, 128))));
  Operator only = attention_operator(8, 8);
  only.rows = Rows::prompt_tokens;
  CHECK(priced(*npu, only, decodes).time == Seconds(0));
  CHECK(decode_attention(*npu, only, decodes).first.time == Seconds(0));
}

TEST_CASE("NPUs: experts share the arrays, and nothing beats the roofline of the busy ones") {
  const auto npu = catalog_device("npu_only");
  Operator op = gemm_operator(4096, 14336);
  op.kernel = GroupedGemm{.each = std::get<Gemm>(op.kernel), .here = 8, .active = 2, .total = 8};
  const KernelCost few = priced(*npu, op, decode_batch(1, 1));
  CHECK(few.moved[own_memory] > 2 * Bytes(4096. * 14336 * 2));  // two experts' weights
  CHECK(few.moved[own_memory] < 2.01 * Bytes(4096. * 14336 * 2));
  const KernelCost many = priced(*npu, op, decode_batch(4096, 1));
  CHECK(many.flops.value() == Approx(2. * 4096 * 2 * 4096 * 14336));
  CHECK(many.time / (many.flops / npu->spec().peak(DataType::bf16)) < 1.05);
}

TEST_CASE("NPUs: the paper's assumptions are rooflines with fitted efficiencies, overrides go before them") {
  const auto npu = paper_device("npu_only");
  const auto gemm = [](const Device& device, std::int64_t rows) {
    return priced(device, gemm_operator(4096, 4096), decode_batch(rows, 1)).time.value();
  };
  CHECK(gemm(*npu, 1) == Approx((4096. * 4096 + 2 * 4096) * 2 / (0.85 * 1.024e12)));
  CHECK(gemm(*npu, 4096) == Approx(2. * 4096 * 4096 * 4096 / 262.144e12));
  const KernelCost kv = priced(*npu, attention_operator(8, 8), decode_batch(64, 1000));
  CHECK(kv.time.value() == Approx(kv.moved[own_memory].value() / (0.35 * 1.024e12)));
  CHECK(gemm(*paper_device("npu_only", {{"memory_efficiency", 0.5}}), 1) ==
        Approx(gemm(*npu, 1) * 0.85 / 0.5));
  // A GPU has one set.
  CHECK(gemm(*paper_device("h100_sxm"), 64) == gemm(*catalog_device("h100_sxm"), 64));
}

TEST_CASE("NPUs: other than 16-bit numbers are an answer, not a guess") {
  Reading reading("test");
  const Architecture model = find_architecture("llama3.1-8b", reading, "");
  const auto why = [&](DataType weights, DataType activations, DataType kv) {
    Precision precision;
    precision.weights = weights, precision.activations = activations, precision.kv_cache = kv;
    return cannot_run(*catalog_device("npu_only"), build_stage(model, precision, {}, 0));
  };
  const auto bf16 = DataType::bf16, fp8 = DataType::fp8;
  CHECK(why(bf16, bf16, bf16) == "");
  CHECK_THAT(why(fp8, fp8, bf16), Catch::Contains("fp8") && Catch::Contains("bf16"));
  CHECK_THAT(why(DataType::int4, bf16, bf16), Catch::Contains("int4"));
  CHECK_THAT(why(bf16, bf16, fp8), Catch::Contains("KV cache"));
}

}  // namespace weir::test
