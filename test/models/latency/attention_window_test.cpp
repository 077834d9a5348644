// Attention that sees the last tokens alone, and attention to latents.
#include <catch2/catch.hpp>
#include <vector>

#include "models/latency/attention.h"

using namespace weir;

namespace {

const Roof machine{FlopsPerSecond(5e14), BytesPerSecond(2e12), 108};
const Bytes machine_l2(50e6);

AttentionEfficiency window_efficiency(AttentionGrid grid) {
  AttentionEfficiency e;
  e.grid = grid;
  e.prefill.context = e.prefill.causal = 0.7;
  e.prefill.softmax_elements = 16;
  e.prefill.tile_tokens = 300;
  e.prefill.packed_heads = true;
  e.prefill.launch = Seconds(5e-6);
  e.decode.memory = 0.9;
  e.decode.launch = Seconds(8e-6);
  e.decode.wave = Seconds(3e-6);
  e.decode.overlapped_wave = Seconds(1e-6);
  e.decode.split = Seconds(2e-6);
  e.decode.skew = 0.03;
  return e;
}

AttentionShape heads_in(double window) {
  return {.query_heads = 32, .kv_heads = 4, .head_dim = 64, .window = window};
}

BatchShape equal_decodes(std::int64_t n, std::int64_t mean, std::int64_t longest) {
  BatchShape batch;
  batch.decodes = n;
  batch.decode_context_sum = n * mean;
  batch.decode_context_max = longest;
  return batch;
}

BatchShape one_prompt(const PrefillChunk& chunk) {
  BatchShape batch;
  batch.prefill = {&chunk, 1};
  batch.prefill_tokens = chunk.tokens;
  return batch;
}

constexpr AttentionGrid grids[] = {AttentionGrid::separate, AttentionGrid::persistent, AttentionGrid::waves};

}  // namespace

TEST_CASE("attention windows: decodes cost the same however long their contexts are beyond the window") {
  for (const AttentionGrid grid : grids) {
    const auto time = [&](double window, std::int64_t context) {
      return attention_cost(window_efficiency(grid), machine, machine_l2, heads_in(window),
                            equal_decodes(64, context, context))
          .time;
    };
    CHECK(time(128, 128) == time(128, 129));
    CHECK(time(128, 128) == time(128, 100'000));
    CHECK(time(128, 127) == time(0, 127));
    CHECK(time(2048, 5000) > time(2048, 1000));
    CHECK(time(128, 5000) < time(0, 5000));
  }
}

TEST_CASE("attention windows: a prompt's arithmetic and bytes are those of every query with its window") {
  for (const std::int64_t window : {1, 7, 128, 5000})
    for (const std::int64_t tokens : {1, 6, 100, 1000})
      for (const std::int64_t context : {0, 3, 127, 128, 4000}) {
        double pairs = 0;
        for (std::int64_t i = 1; i <= tokens; ++i)
          pairs += static_cast<double>(std::min(window, context + i));
        const AttentionShape s = heads_in(static_cast<double>(window));
        const PrefillChunk chunk{tokens, context};
        CAPTURE(window, tokens, context);
        for (const AttentionGrid grid : grids) {
          const KernelCost cost =
              attention_cost(window_efficiency(grid), machine, machine_l2, s, one_prompt(chunk));
          const KernelCost whole =
              attention_cost(window_efficiency(grid), machine, machine_l2, heads_in(0), one_prompt(chunk));
          CHECK(cost.flops.value() == Approx(pairs * s.flops_per_pair()));
          // Its own keys and values, and those of the window before it: 4 heads of 64, twice, in 16 bits.
          CHECK(cost.moved[own_memory].value() ==
                static_cast<double>(tokens + std::min(window, context)) * 4 * 64 * 2 * 2);
          CHECK(cost.time <= whole.time);
          CHECK(cost.time >= cost.flops / machine.peak);
        }
      }
}

TEST_CASE("attention windows: decodes that grow are affine until their steps are done, as step by step") {
  const AttentionEfficiency e = window_efficiency(AttentionGrid::persistent);
  for (const double window : {128., 1000.})
    for (const std::int64_t mean : {1, 50, 126, 127, 128, 600, 999, 1000, 5000})
      for (const std::int64_t more : {0, 1, 3, 500}) {
        const BatchShape batch = equal_decodes(40, mean, mean + more);
        const AffineKernelCost affine = decode_attention_cost(e, machine, heads_in(window), batch);
        REQUIRE(affine.steps >= 1);
        const std::int64_t last = std::min<std::int64_t>(affine.steps, 4000) - 1;
        CAPTURE(window, mean, more, affine.steps);
        for (const std::int64_t step : {std::int64_t{0}, last / 2, last}) {
          const KernelCost then = attention_cost(e, machine, machine_l2, heads_in(window),
                                                 equal_decodes(40, mean + step, mean + more + step));
          CHECK((affine.first.time + static_cast<double>(step) * affine.slope.time).value() ==
                Approx(then.time.value()).epsilon(1e-9));
          CHECK((affine.first.flops + static_cast<double>(step) * affine.slope.flops).value() ==
                Approx(then.flops.value()).epsilon(1e-9));
        }
        if (static_cast<double>(mean) >= window) CHECK(last == 3999);  // nothing changes any more
      }
}

TEST_CASE("latent attention: every head multiplies with a latent that is read once") {
  const AttentionEfficiency e = window_efficiency(AttentionGrid::persistent);
  const AttentionShape latents{
      .query_heads = 128, .kv_heads = 1, .head_dim = 576, .met = 576 + 512, .read = 576};
  const KernelCost cost = attention_cost(e, machine, machine_l2, latents, equal_decodes(32, 4000, 4000));
  CHECK(cost.moved[own_memory].value() == 32. * 4000 * 576 * 2);
  CHECK(cost.flops.value() == 32. * 4000 * 2 * 128 * (576 + 512));
  // 128 heads on one rank are bound by arithmetic, an eighth of them by memory.
  CHECK(cost.compute > cost.traffic);
  AttentionShape eighth = latents;
  eighth.query_heads = 16;
  const KernelCost less = attention_cost(e, machine, machine_l2, eighth, equal_decodes(32, 4000, 4000));
  CHECK(less.compute < less.traffic);
  CHECK(less.moved[own_memory] == cost.moved[own_memory]);
}
