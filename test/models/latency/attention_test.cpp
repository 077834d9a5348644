#include "models/latency/attention.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "test/models/llm/decode_shape.h"

using namespace weir;
using test::decodes_of;

namespace {

using Random = std::mt19937;

double between(Random& random, double low, double high) {  // log-uniform
  return low * std::pow(high / low, std::uniform_real_distribution<double>(0, 1)(random));
}

std::int64_t whole(Random& random, std::int64_t low, std::int64_t high) {
  return static_cast<std::int64_t>(
      std::round(between(random, static_cast<double>(low), static_cast<double>(high))));
}

AttentionEfficiency random_efficiency(Random& random) {
  AttentionEfficiency e;
  e.grid = static_cast<AttentionGrid>(random() % 3);
  e.prefill = {.context = between(random, 0.3, 0.9),
               .causal = between(random, 0.2, 0.9),
               .tile_rows = random() % 2 ? 64. : 128.,
               .tile_tokens = between(random, 1, 500),
               .padding_tokens = random() % 2 ? 0 : 30.,
               .wave_share = random() % 2 ? 0 : 0.3,
               .packed_heads = random() % 2 == 0,
               .launch = Seconds(1e-5)};
  e.decode = {.memory = between(random, 0.5, 0.95),
              .launch = Seconds(1e-5),
              .wave = Seconds(4e-6),
              .overlapped_wave = Seconds(1.5e-6),
              .split = Seconds(random() % 2 ? 5e-6 : 0),
              .first_reads = random() % 2 ? 0.8 : 0,
              .first_reads_most = Seconds(2e-5),
              .tile_alone = BytesPerSecond(random() % 2 ? 17e9 : 0),
              .tile_paired = BytesPerSecond(11e9),
              .skew = random() % 2 ? 0.04 : 0};
  return e;
}

const Roof roof{FlopsPerSecond(5e14), BytesPerSecond(2e12), 108};
const Bytes l2(50e6);

AttentionShape random_shape(Random& random) {
  const double kv = std::pow(2, static_cast<double>(random() % 5)),
               group = static_cast<double>(1 + random() % 8);
  return {.query_heads = kv * group, .kv_heads = kv, .head_dim = 128, .kv_bytes = random() % 2 ? 2. : 1.};
}

BatchShape of_prompt(const PrefillChunk& chunk) {
  BatchShape batch;
  batch.prefill = std::span(&chunk, 1);
  return batch;
}

BatchShape random_decodes(Random& random) {
  const std::int64_t n = whole(random, 1, 512);
  const std::int64_t mean = whole(random, 1, 20000),
                     longest = n == 1 ? mean : mean + whole(random, 1, 4 * mean);
  return decodes_of(n,
                    n * mean - (n > 1 ? static_cast<std::int64_t>(random() % static_cast<unsigned>(n)) : 0),
                    longest, random() % 2 ? 1 : whole(random, 2, 16));
}

void require_same(const KernelCost& a, const KernelCost& b) {
  REQUIRE(a.time.value() == Approx(b.time.value()).epsilon(1e-12));
  REQUIRE(a.flops.value() == Approx(b.flops.value()).epsilon(1e-12));
  REQUIRE(a.moved[own_memory].value() == Approx(b.moved[own_memory].value()).epsilon(1e-12));
  REQUIRE(a.compute.value() == Approx(b.compute.value()).epsilon(1e-12));
  REQUIRE(a.traffic.value() == Approx(b.traffic.value()).epsilon(1e-12));
}

KernelCost after(const AffineKernelCost& affine, std::int64_t step) {
  const auto k = static_cast<double>(step);
  KernelCost cost = affine.first;
  cost.time += k * affine.slope.time;
  cost.flops += k * affine.slope.flops;
  cost.moved[own_memory] += k * affine.slope.moved[own_memory];
  cost.compute += k * affine.slope.compute;
  cost.traffic += k * affine.slope.traffic;
  return cost;
}

Roof slower_memory() {
  Roof slower = roof;
  slower.bandwidth = 0.8 * roof.bandwidth;
  return slower;
}

}  // namespace

TEST_CASE("decode attention: affine until its steps are done, as step by step") {
  Random random(2);
  int with_breakpoint = 0;
  for (int i = 0; i < 3000; ++i) {
    const AttentionEfficiency e = random_efficiency(random);
    const AttentionShape s = random_shape(random);
    BatchShape batch = random_decodes(random);
    const AffineKernelCost affine = decode_attention_cost(e, roof, s, batch);
    REQUIRE(affine.steps >= 1);
    with_breakpoint += affine.steps < 1000;
    const std::int64_t last = std::min<std::int64_t>(affine.steps, 3000) - 1;
    for (const std::int64_t step : {std::int64_t{0}, std::int64_t{1}, last / 2, last}) {
      if (step > last) continue;
      const BatchShape then = decodes_of(batch.decodes, batch.decode_context_sum + step * batch.decodes,
                                         batch.decode_context_max + step, batch.decode_rows);
      require_same(after(affine, step), attention_cost(e, roof, l2, s, then));
    }
  }
  REQUIRE(with_breakpoint > 50);  // the cases above do meet breakpoints
}

TEST_CASE("attention: nothing beats its roofline, whatever the batch") {
  Random random(3);
  for (int i = 0; i < 3000; ++i) {
    const AttentionEfficiency e = random_efficiency(random);
    const AttentionShape s = random_shape(random);
    BatchShape batch = random() % 3 ? random_decodes(random) : BatchShape{};
    std::vector<PrefillChunk> chunks(random() % 4);
    for (PrefillChunk& c : chunks) c = {whole(random, 1, 4096), whole(random, 1, 20000) - 1};
    batch.prefill = chunks;
    const KernelCost cost = attention_cost(e, roof, l2, s, batch);
    REQUIRE(cost.time >= cost.flops / roof.peak);
    REQUIRE(cost.time >= cost.moved[own_memory] / roof.bandwidth);
    if (chunks.empty()) continue;
    // More context, another prompt, another decode: never faster.
    std::vector<PrefillChunk> deeper = chunks;
    deeper[0].context += 100;
    BatchShape more = batch;
    more.prefill = deeper;
    REQUIRE(attention_cost(e, roof, l2, s, more).time >= cost.time);
    REQUIRE(attention_cost(e, slower_memory(), l2, s, batch).time >= cost.time);
  }
}

TEST_CASE("decode attention: more context and less bandwidth are never faster") {
  Random random(4);
  for (int i = 0; i < 2000; ++i) {
    const AttentionEfficiency e = random_efficiency(random);
    const AttentionShape s = random_shape(random);
    const auto time = [&](const Roof& on, const BatchShape& batch) {
      return attention_cost(e, on, l2, s, batch).time;
    };
    const BatchShape batch = random_decodes(random);
    const BatchShape longer = decodes_of(batch.decodes, batch.decode_context_sum + batch.decodes,
                                         batch.decode_context_max + 1, batch.decode_rows);
    REQUIRE(time(roof, longer) >= time(roof, batch));
    REQUIRE(time(slower_memory(), batch) >= time(roof, batch));
  }
}

TEST_CASE("decode attention: unequal contexts lie between their mean and their longest") {
  Random random(5);
  for (int i = 0; i < 2000; ++i) {
    const AttentionEfficiency e = random_efficiency(random);
    const AttentionShape s = random_shape(random);
    const std::int64_t n = whole(random, 2, 256), mean = whole(random, 1, 5000),
                       longest = mean + whole(random, 1, 20000);
    const Seconds equal = attention_cost(e, roof, l2, s, decodes_of(n, n * mean, mean)).time;
    const Seconds unequal = attention_cost(e, roof, l2, s, decodes_of(n, n * mean, longest)).time;
    const Seconds all_longest = attention_cost(e, roof, l2, s, decodes_of(n, n * longest, longest)).time;
    REQUIRE(equal <= unequal);
    REQUIRE(unequal <= all_longest);
  }
}

TEST_CASE("decode attention: drafts' rows cost their arithmetic, and read keys once") {
  AttentionEfficiency e;
  e.prefill.context = 0.5;
  const AttentionShape s{.query_heads = 128, .kv_heads = 1, .head_dim = 576, .kv_bytes = 2};
  const auto cost = [&](std::int64_t rows) {
    return attention_cost(e, roof, l2, s, decodes_of(4, 4 * 16000, 16000, rows));
  };
  // A row and a key are 128 heads x 576 elements x 4 flops: multiply and add, with the key and the value.
  for (const std::int64_t rows : {1, 2, 8}) {
    const double flops = static_cast<double>(rows) * 64000 * 128 * 576 * 4;
    CHECK(cost(rows).flops.value() == Approx(flops));
    CHECK(cost(rows).moved[own_memory].value() == Approx(cost(1).moved[own_memory].value()));
  }
  CHECK(cost(8).time.value() == Approx(8. * 64000 * 128 * 576 * 4 / (0.5 * 5e14)));
}

TEST_CASE("prefill attention: a chunk's flops are those of every query with every key it sees") {
  const AttentionShape s{.query_heads = 8, .kv_heads = 2, .head_dim = 64, .kv_bytes = 2};
  for (const PrefillChunk chunk : {PrefillChunk{1, 0}, {7, 0}, {5, 12}, {1, 300}}) {
    double pairs = 0;
    for (std::int64_t query = 0; query < chunk.tokens; ++query)
      for (std::int64_t key = 0; key <= chunk.context + query; ++key) ++pairs;
    // A product with the key and one with the value, over head_dim, in every query head, multiply-add as two.
    CHECK(attention_cost({}, roof, l2, s, of_prompt(chunk)).flops.value() == Approx(pairs * 8 * 64 * 4));
  }
}

TEST_CASE("prefill attention: a prompt in one chunk costs the flops of the same prompt in many") {
  const AttentionShape s{.query_heads = 32, .kv_heads = 8, .head_dim = 128, .kv_bytes = 2};
  const auto flops = [&](std::vector<PrefillChunk> chunks) {
    BatchShape batch;
    batch.prefill = chunks;
    return attention_cost({}, roof, l2, s, batch).flops.value();
  };
  CHECK(flops({{1000, 0}}) == Approx(flops({{300, 0}}) + flops({{300, 300}}) + flops({{400, 600}})));
  CHECK(flops({{1000, 0}}) == Approx(flops({{300, 0}, {300, 300}, {400, 600}})));
}

TEST_CASE("prefill attention as a kernel of its own: a part of what the last wave leaves idle is lost") {
  AttentionEfficiency e;
  e.prefill = {.context = 1, .causal = 1, .tile_rows = 1, .wave_share = 0.25, .launch = Seconds(0)};
  const Roof small{FlopsPerSecond(1e14), BytesPerSecond(1e15), 8};
  const AttentionShape s{.query_heads = 1, .kv_heads = 1, .head_dim = 128, .kv_bytes = 2};
  const auto time_per_row = [&](std::int64_t tokens) {
    const PrefillChunk chunk{tokens, 10000000};
    return attention_cost(e, small, l2, s, of_prompt(chunk)).time.value() / static_cast<double>(tokens);
  };
  const double busy = time_per_row(8 * 128);  // 8 tiles on 8 SMs
  CHECK(time_per_row(5 * 128) / busy == Approx(1 + 0.25 * 3 / 5).epsilon(1e-3));
  CHECK(time_per_row(12 * 128) / busy == Approx(1 + 0.25 * 4 / 12).epsilon(1e-3));
  CHECK(time_per_row(4 * 128 - 1) / busy == Approx(1).epsilon(1e-3));  // split over the context
  CHECK(time_per_row(4 * 128) / busy == Approx(1.25).epsilon(1e-3));
}

TEST_CASE("attention in waves: a tile too many costs a wave, and a long decode bounds a batch from below") {
  AttentionEfficiency e;
  e.grid = AttentionGrid::waves;
  e.prefill = {.context = 1, .causal = 1, .tile_rows = 64, .launch = Seconds(0)};
  const Roof small{FlopsPerSecond(1e14), BytesPerSecond(1e15), 8};
  const AttentionShape s{.query_heads = 8, .kv_heads = 8, .head_dim = 128, .kv_bytes = 2};
  const auto time = [&](std::int64_t tokens) {
    const PrefillChunk chunk{tokens, 100000};
    return attention_cost(e, small, l2, s, of_prompt(chunk)).time;
  };
  CHECK(time(65) / time(64) == Approx(2).epsilon(0.01));  // 8 tiles on 8 SMs, then 16
  const PrefillChunk chunk{64, 0};
  BatchShape batch = decodes_of(2, 10001, 10000);
  batch.prefill = std::span(&chunk, 1);
  const double tile = 4. * 64 * 128 * 10000 / (1e14 / 8);
  CHECK(attention_cost(e, small, l2, s, batch).time.value() >= tile);
}

TEST_CASE("attention: exponents of a pair cost as elements of its head, whatever the head") {
  const Roof roof{FlopsPerSecond(1e15), BytesPerSecond(3e12), 132};
  AttentionEfficiency plain;
  plain.grid = AttentionGrid::persistent;
  plain.prefill.packed_heads = true;
  AttentionEfficiency exponents = plain;
  exponents.prefill.softmax_elements = 64;
  const std::vector<PrefillChunk> chunks = {{4096, 0}, {1024, 2048}};
  BatchShape batch;
  batch.prefill = chunks;
  for (const double head : {64., 128., 256.}) {
    const AttentionShape shape{.query_heads = 32, .kv_heads = 8, .head_dim = head};
    const double without = attention_cost(plain, roof, Bytes(5e7), shape, batch).time.value();
    CHECK(attention_cost(exponents, roof, Bytes(5e7), shape, batch).time.value() ==
          Approx((1 + 64 / head) * without));
  }
}
