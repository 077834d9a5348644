// NPUs with more query heads than KV heads, few vector lanes, experts of one rank of four, and rows of
// drafts.
#include <catch2/catch.hpp>

#include "devices/kernel_shapes.h"
#include "sim/studies/validation/kernels.h"
#include "test/devices/priced.h"
#include "test/models/llm/decode_shape.h"

namespace weir::test::npu_by_hand {
namespace {

constexpr double reached = 0.915 * 1.024e12;

BatchShape prompt_of(const PrefillChunk& chunk) {
  BatchShape batch;
  batch.prefill = {&chunk, 1};
  batch.prefill_tokens = chunk.tokens;
  return batch;
}

}  // namespace

// 255 tokens behind 128, on 2 KV heads of 3 query heads each: 765 rows a KV head stream past 256 keys. K and
// V are 2 tiles each of 128 x 128 a KV head, an array's one: 128 to load, 765 rows, 254 on the way out.
TEST_CASE("NPUs by hand: rows of all query heads of a group stream past the keys of their KV head") {
  const PrefillChunk chunk{255, 128};
  const Operator heads = attention_operator(6, 2);
  const auto npu = catalog_device("npu_only");
  const KernelCost cost = priced(*npu, heads, prompt_of(chunk));
  CHECK(cost.flops.value() == 2 * 2 * 2. * 765 * 128 * 256);
  CHECK(cost.compute.value() == Approx(2 * (128 + 765 + 254) * 1e-9));
  // K and V of 256 keys, queries and results of 6 heads, and what is masked of K and V.
  const double moved = 2 * 2. * 256 * 128 * 2 + 2 * 2. * 765 * 128 * 2 + 127. * 2 * 2 * 128 * 2;
  CHECK(cost.moved[own_memory].value() == Approx(moved));
  // Scores of 6 heads, three cycles of one of 16 lanes each, are then the slowest.
  const KernelCost lanes =
      priced(*catalog_device("npu_only", {{"vector_lanes", 16}}), heads, prompt_of(chunk));
  CHECK(lanes.time.value() == Approx(3. * 6 * 255 * 256 / 16 * 1e-9));
  CHECK(lanes.compute == lanes.time);
  CHECK(lanes.traffic == cost.traffic);
}

TEST_CASE("NPUs by hand: decodes wait for the scores of all query heads where lanes are few") {
  const auto npu = catalog_device("npu_only", {{"vector_lanes", 16}});
  const KernelCost cost = priced(*npu, attention_operator(6, 2), decode_batch(5, 1000));
  CHECK(cost.compute.value() == Approx(3. * 6 * 5000 / 16 * 1e-9));
  // Queries and results of 6 heads, keys and values of 2.
  CHECK(cost.moved[own_memory].value() == Approx(5000. * 2 * 2 * 128 * 2 + 5. * 2 * 6 * 128 * 2));
  CHECK(cost.flops.value() == 4. * 6 * 128 * 5000);
  // More query heads than an array has rows: 2 KV heads of 192 query heads each.
  const auto wide = catalog_device("npu_only", {{"systolic_arrays", 1}, {"vector_lanes", 1 << 20}});
  CHECK(priced(*wide, attention_operator(384, 2), decode_batch(5, 1000)).compute.value() ==
        Approx(2 * 5 * 2 * (1000 / 128. + 0.5) * 192e-9));
}

// 4 of 8 experts, 2 a token: 4 tokens have 4 rows here, on 4 x (1 - 0.75^4) experts of 2 x 4 tiles.
TEST_CASE("NPUs by hand: experts of a rank have their rows, their tiles and their weights") {
  const auto npu = catalog_device("npu_only");
  Operator op = gemm_operator(256, 512);
  op.kernel = GroupedGemm{.each = std::get<Gemm>(op.kernel), .here = 4, .active = 2, .total = 8};
  const KernelCost cost = priced(*npu, op, decode_batch(4, 1));
  const double busy = 4 * (1 - 0.31640625), bytes = 2 * (busy * 256 * 512 + 4 * (256 + 512));
  CHECK(cost.flops.value() == 2. * 4 * 256 * 512);
  CHECK(cost.moved[own_memory].value() == Approx(bytes));
  // 8 tiles of each on 8 arrays, 128 cycles at least; 382 to fill and to drain.
  CHECK(cost.compute.value() == Approx((busy * 128 + 382) * 1e-9));
  CHECK(cost.time.value() ==
        Approx(std::max(bytes / reached, (busy * 128 + 382) * 1e-9) + 8 * 128 * 128 * 2 / reached));
  // 4,000 tokens: all are busy, and rows are more than an array's.
  CHECK(priced(*npu, op, decode_batch(4000, 1)).compute.value() == Approx((4000 + 382) * 1e-9));
}

TEST_CASE("L2 NPUs by hand: rows of drafts read keys once, each with its query and its result") {
  const auto npu = catalog_device("l2_npu", {{"int8_tflops", 30}});
  Operator op = attention_operator(16, 2);
  auto& heads = std::get<Attention>(op.kernel);
  heads.activations = heads.kv_cache = DataType::int8;
  const KernelCost cost = priced(*npu, op, equal_decodes(7, 1000, 3));
  CHECK(cost.flops.value() == 3. * 7000 * 4 * 16 * 128);
  CHECK(cost.moved[own_memory].value() == 7000. * 2 * 2 * 128 + 2 * 3 * 7. * 16 * 128);
  CHECK(cost.time.value() == Approx(3. * 7000 * 4 * 16 * 128 / 30e12));
  const AffineKernelCost line = decode_attention(*npu, op, equal_decodes(7, 1000, 3));
  CHECK(line.slope.flops.value() == 3. * 7 * 4 * 16 * 128);
  CHECK(line.slope.moved[own_memory].value() == 7. * 2 * 2 * 128);
  CHECK(line.slope.time.value() == Approx(3. * 7 * 4 * 16 * 128 / 30e12));
}

TEST_CASE("L2 NPUs by hand: every chunk of a matrix but the first waits for its start") {
  const auto npu = catalog_device("l2_npu", {{"chunk_start_us", 3}});
  const Kernel kernel = Gemm{4096, 4096};
  KernelWork work{.name = "o_proj", .kernel = kernel, .rows = 5};
  const Seconds first = npu->cost(work, 0).time;
  work.begin = 0.5;
  CHECK((npu->cost(work, 0).time - first).value() == Approx(3e-6));
}

TEST_CASE("NPUs by hand: what PIM withholds of reads in the paper's set, and of prefills it is a roofline") {
  const auto of_paper = [](const char* kind) {
    const Json none = Json::object();
    Reading reading("test");
    Params params(reading, none);
    return make_device(kind, params, "paper");
  };
  const auto port = [&](const char* kind) {
    const std::vector<Unit> units = of_paper(kind)->spec().units;
    return units[static_cast<std::size_t>(unit_running(units, KernelKind::logit))].ports.at(0);
  };
  CHECK((port("neupims_npu").withheld == 0.22 && port("neupims_npu").slowed == 0));
  CHECK((port("npu_pim_blocked").withheld == 1 && port("npu_pim_blocked").slowed == 0));
  // Flops of a prefill at 8 x 128 x 128 multiply-adds a nanosecond, without tiles.
  const PrefillChunk chunk{255, 128};
  const KernelCost cost = priced(*of_paper("npu_only"), attention_operator(6, 2), prompt_of(chunk));
  CHECK(cost.flops.value() == 2 * 2 * 2. * 765 * 128 * 256);
  CHECK(cost.compute.value() ==
        Approx(std::max(cost.flops.value() / 262.144e12, 3. * 6 * 255 * 256 / 1024 * 1e-9)));
}

}  // namespace weir::test::npu_by_hand
