// What holds of every device of the catalog, over random operators and batches.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "devices/kernel_shapes.h"
#include "sim/core/embedded.h"
#include "sim/studies/validation/kernels.h"
#include "test/devices/priced.h"
#include "test/devices/rows.h"
#include "test/devices/sixteen_bit.h"

namespace weir {
extern const EmbeddedFiles device_catalog;
}

namespace weir::test {
namespace {

using Random = std::mt19937;

std::int64_t whole(Random& random, double low, double high) {  // log-uniform
  return static_cast<std::int64_t>(
      std::round(low * std::pow(high / low, std::uniform_real_distribution<double>(0, 1)(random))));
}

Operator random_operator(Random& random, const Device& device) {
  Operator op =
      gemm_operator(whole(random, 64, 16384), whole(random, 64, 65536), DataType::bf16, sixteen_bit(device));
  Gemm& matrix = std::get<Gemm>(op.kernel);
  switch (random() % 5) {
    case 0:
      if (device.spec().peak(DataType::fp8) > FlopsPerSecond(0))
        matrix.weights = matrix.activations = DataType::fp8;
      break;
    case 1:
      matrix.weights = DataType::int4;
      break;
    case 2: {
      GroupedGemm experts{.each = matrix, .here = whole(random, 1, 64)};
      experts.total = experts.here * whole(random, 1, 8);
      experts.active = std::min<std::int64_t>(experts.total, whole(random, 1, 8));
      op.kernel = experts;
      break;
    }
    case 3:
      op = attention_operator(8 * whole(random, 1, 8), 8);
      std::get<Attention>(op.kernel).kv_cache = random() % 2 ? DataType::bf16 : DataType::fp8;
      break;
    default:
      op = {.name = "act_fn", .kernel = Elementwise{Bytes(static_cast<double>(whole(random, 64, 1e6)))}};
  }
  return op;
}

struct RandomBatch {
  std::vector<PrefillChunk> chunks;
  BatchShape shape;

  explicit RandomBatch(Random& random) {
    if (random() % 3) shape = decode_batch(whole(random, 1, 512), whole(random, 1, 20000));
    chunks.resize(random() % 3);
    for (PrefillChunk& c : chunks) c = {whole(random, 1, 4096), whole(random, 1, 20000) - 1};
    update();
  }
  void update() {
    shape.prefill = chunks;
    shape.prefill_tokens = 0;
    for (const PrefillChunk& c : chunks) shape.prefill_tokens += c.tokens;
    shape.sequences = shape.decodes + static_cast<std::int64_t>(chunks.size());
  }
};

FlopsPerSecond best_peak(const Device& device) {
  FlopsPerSecond best;
  for (const DataType t : all_data_types) best = std::max(best, device.spec().peak(t));
  return best;
}

}  // namespace

TEST_CASE("device catalog: on every row nothing beats its roofline or draws more than the TDP") {
  Random random(11);
  for (const std::string& kind : rows_that_run_models()) {
    INFO(kind);
    const auto device = catalog_device(kind);
    const PowerSpec& power = device->spec().power;
    for (int i = 0; i < 400; ++i) {
      const Operator op = random_operator(random, *device);
      const RandomBatch batch(random);
      const KernelCost cost = priced(*device, op, batch.shape);

      const Gemm* matrix = matrix_of(lowered(op, batch.shape));
      const FlopsPerSecond peak = matrix ? device->spec().peak(matrix->activations) : best_peak(*device);
      REQUIRE(cost.time >= cost.flops / peak);
      REQUIRE(cost.time >= cost.moved[own_memory] / device->spec().own().bandwidth);
      const ClockedDraw kept = under_limit(device->spec(), cost);
      REQUIRE(kept.energy.value() <= power.tdp.value() * kept.time.value() * 1.01);
      REQUIRE(kept.energy.value() >= power.idle.value() * kept.time.value());
    }
  }
}

// Where a range ends in which Hopper's 8-bit matrices were measured to be slower than on both sides of it
// (devices/kernels/hopper.json, gemm_8bit): there a token more is faster, as it is on the GPU.
bool ends_slow_range(const Operator& op, std::int64_t tokens) {
  const auto* gemm = op.as<Gemm>();
  return gemm && gemm->activations == DataType::fp8 &&
         (tokens == 32 || tokens == 96 || tokens == 192 || tokens == 512);
}

TEST_CASE("device catalog: more bandwidth is never slower, more tokens or context are never faster") {
  Random random(12);
  for (const std::string& kind : rows_that_run_models()) {
    INFO(kind);
    const auto device = catalog_device(kind);
    const double bandwidth = device->spec().own().bandwidth.value() / 1e9;
    const bool npu = device->spec().units.front().name == "systolic";
    const auto faster =
        catalog_device(kind, npu ? Json{{"memory_channels", 48}}  // the catalog's rows have 32
                                 : Json{{"memory_bandwidth_gb_per_s", 1.5 * bandwidth}});
    REQUIRE(faster->spec().own().bandwidth > device->spec().own().bandwidth);
    for (int i = 0; i < 200; ++i) {
      const Operator op = random_operator(random, *device);
      RandomBatch batch(random);
      const Seconds time = priced(*device, op, batch.shape).time;
      REQUIRE(priced(*faster, op, batch.shape).time <= time);
      if (batch.chunks.size() == 1 && batch.shape.decodes == 0 &&
          !ends_slow_range(op, batch.chunks[0].tokens)) {
        RandomBatch more = batch;
        ++more.chunks[0].tokens;
        more.update();
        REQUIRE(priced(*device, op, more.shape).time >= time);
      }
      if (batch.shape.decodes > 0) {
        RandomBatch deeper = batch;
        deeper.update();
        deeper.shape.decode_context_sum += batch.shape.decodes;
        ++deeper.shape.decode_context_max;
        REQUIRE(priced(*device, op, deeper.shape).time >= time);
      }
    }
  }
}

TEST_CASE("device catalog: every row's decode attention is affine until its steps are done") {
  Random random(13);
  for (const std::string& kind : rows_that_run_models()) {
    INFO(kind);
    const auto device = catalog_device(kind);
    for (int i = 0; i < 100; ++i) {
      const Operator op = attention_operator(8 * whole(random, 1, 8), 8);
      BatchShape batch = decode_batch(whole(random, 1, 256), whole(random, 1, 8000));
      batch.decode_context_max += batch.decodes > 1 ? whole(random, 1, 5000) : 0;
      const AffineKernelCost affine = decode_attention(*device, op, batch);
      const std::int64_t last = std::min<std::int64_t>(affine.steps, 5000) - 1;
      for (const std::int64_t step : {std::int64_t{0}, last / 3, last}) {
        BatchShape then = batch;
        then.decode_context_sum += step * batch.decodes;
        then.decode_context_max += step;
        const KernelCost cost = priced(*device, op, then);
        const double k = static_cast<double>(step);
        REQUIRE((affine.first.time + k * affine.slope.time).value() ==
                Approx(cost.time.value()).epsilon(1e-12));
        REQUIRE((affine.first.energy + k * affine.slope.energy).value() ==
                Approx(cost.energy.value()).epsilon(1e-12));
      }
    }
  }
}

TEST_CASE(
    "device catalog: hits in the cache never slow a kernel, more of them less so, none change nothing") {
  Random random(14);
  int kinds = 0;
  for (const std::string& kind : rows_that_run_models()) {
    const auto device = catalog_device(kind);
    if (!device->spec().cache()) continue;
    ++kinds;
    INFO(kind);
    const Memory cache = *device->spec().cache();
    CHECK(cache.reached() <= device->spec().own().bandwidth);
    CHECK(cache.bandwidth >= device->spec().own().bandwidth);
    CHECK(std::ranges::count_if(device->spec().units,
                                [](const Unit& unit) { return unit.runs(KernelKind::prefetch); }) == 1);
    for (int i = 0; i < 300; ++i) {
      const Operator op = random_operator(random, *device);
      const RandomBatch batch(random);
      const KernelCost cost = priced(*device, op, batch.shape);
      const KernelWork work = lowered(op, batch.shape);
      const Bytes stored = asked_for(work) * stored_bytes(work);
      if (!(stored > Bytes(0))) continue;
      INFO(op.name << " " << static_cast<int>(op.kind()));
      REQUIRE(stored.value() <=
              cost.moved[own_memory].value() * (1 + 1e-12));  // what may hit is part of what is read
      const auto overhead = [](const KernelCost& c) {
        return c.time.value() - smooth_maximum(c.compute.value(), c.traffic.value(), c.knee);
      };
      REQUIRE(overhead(cost) >= -1e-12 * cost.time.value());
      REQUIRE(reading_from_cache(cost, Bytes(0), cache.bandwidth).time == cost.time);
      Seconds before = cost.time;
      for (const double share : {0.01, 0.3, 0.8, 1.0}) {
        const KernelCost with = reading_from_cache(cost, share * stored, cache.bandwidth);
        REQUIRE(with.time <= before * (1 + 1e-12));
        REQUIRE(with.time >= cost.compute);
        REQUIRE(with.time >= share * stored / cache.bandwidth);
        REQUIRE(overhead(with) == Approx(overhead(cost)).margin(1e-9 * cost.time.value()));
        REQUIRE(with.moved[own_memory].value() ==
                Approx((cost.moved[own_memory] - share * stored).value()).margin(1));
        REQUIRE(with.flops == cost.flops);
        before = with.time;
      }
      // A cache as fast as the kernel reads memory changes nothing.
      REQUIRE(reading_from_cache(cost, stored, cost.moved[own_memory] / cost.traffic).time.value() ==
              Approx(cost.time.value()));
    }
  }
  CHECK(kinds == std::ranges::count_if(device_catalog, [](const auto& file) {  // none beside a PIM
          const Json& row = embedded_json(file.second, std::string(file.first));
          return row.contains("l2_bandwidth_gb_per_s") && !row.contains("pim_memory");
        }));
}

TEST_CASE(
    "device catalog: a matrix that comes from an endless cache takes what it takes on an endless memory") {
  Random random(15);
  for (const std::string& kind : rows_that_run_models()) {
    if (!catalog_device(kind)->spec().cache()) continue;
    INFO(kind);
    const auto device = catalog_device(kind),
               endless = catalog_device(kind, {{"memory_bandwidth_gb_per_s", 1e12}});
    for (int i = 0; i < 200; ++i) {
      const Operator op = random_operator(random, *device);
      if (!op.as<Gemm>() && !op.as<GroupedGemm>()) continue;
      const RandomBatch batch(random);
      const KernelCost cost = priced(*device, op, batch.shape);
      if (!(cost.moved[own_memory] > Bytes(0))) continue;
      REQUIRE(reading_from_cache(cost, cost.moved[own_memory], BytesPerSecond(1e21)).time.value() ==
              Approx(priced(*endless, op, batch.shape).time.value()).epsilon(1e-9));
    }
  }
}

}  // namespace weir::test
