#include "test/policies/measured_batches.h"

#include <algorithm>

namespace weir::test {
namespace {

// An A100 as data sheets have it, FlashAttention's tiles and launches in it; GEMMs of 4096 x 16384, all of 64
// layers.
constexpr double layers = 64;
const Roof a100{FlopsPerSecond(312e12), BytesPerSecond(2039e9), 108};

}  // namespace

double attention_seconds(AttentionGrid grid, const Chunks& chunks) {
  AttentionEfficiency efficiency;
  efficiency.grid = grid;
  efficiency.prefill.launch = Seconds(5e-6);
  BatchShape batch;
  batch.prefill = chunks;
  const AttentionShape shape{.query_heads = 36, .kv_heads = 36, .head_dim = 128};
  return layers * attention_cost(efficiency, a100, Bytes(40e6), shape, batch).time.value();
}

double roofline_seconds(double rows) {
  const double weights = 4096. * 16384;
  return layers * std::max((2 * weights + 2 * rows * (4096 + 16384)) / a100.bandwidth.value(),
                           2 * weights * rows / a100.peak.value());
}

Truth gpu_and_pim(double slower, double noise) {
  return {[slower](const Chunks& c) { return slower * attention_seconds(AttentionGrid::separate, c); },
          [slower](std::int64_t rows) { return slower * roofline_seconds(static_cast<double>(rows)); },
          [slower](const OffloadedWork& w) {
            return slower *
                   (2e-4 + 3e-9 * static_cast<double>(w.context_sum) + 1e-6 * static_cast<double>(w.decodes) +
                    2e-7 * static_cast<double>(w.prompt_tokens));
          },
          noise};
}

void observe(LearnedTimes& times, const Truth& truth, Batches& batches, int count) {
  for (int i = 0; i < count; ++i) {
    const Chunks chunks = batches.chunks();
    times.observe_prefill_attention(chunks, Seconds(batches.measured(truth.attention(chunks), truth.noise)));
    const std::int64_t prompt = batches.prompt_tokens(), decodes = batches.decodes();
    times.observe_batched(prompt, decodes,
                          Seconds(batches.measured(truth.batched(prompt + decodes), truth.noise)));
    const OffloadedWork work = batches.offloaded();
    times.observe_offloaded(work, Seconds(batches.measured(truth.offloaded(work), truth.noise)));
  }
}

}  // namespace weir::test
