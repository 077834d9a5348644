// Figure 11: time between tokens of one batch of decodes, on L3 of so many ranksets and on GPUs whose memory
// has no end.
#include <algorithm>

#include "sim/app/output/output_file.h"
#include "sim/app/reproduce/l3/study.h"

namespace weir::l3 {
namespace {

constexpr int latency_batches[] = {16, 32, 48, 64};
constexpr int ranksets[] = {2, 4, 8, 16};

Run gpus(int batch) {
  return {.system = gpu_only,
          .model = "gpt89b",
          .profile = "eff",
          .memory = {{"memory_capacity_gib", 1024}},
          .batch = batch};
}

Run with_ranksets(int batch, int count) {
  return {
      .model = "gpt89b", .profile = "eff", .memory = {{"ranks", count}, {"ranksets", count}}, .batch = batch};
}

struct Both {
  double paper, physical;
};
Both over_gpu(const Runs& runs, int batch, int count, Figure what) {
  const Measured &l3 = runs.at(with_ranksets(batch, count)), &gpu = runs.at(gpus(batch));
  return {l3.paper.*what / gpu.paper.*what, l3.physical.*what / gpu.physical.*what};
}

constexpr Figure between_tokens = &CaseResult::tpot_mean_ms, first_step = &CaseResult::ttft_mean_ms;

void add_extreme(const Runs& runs, Rows& rows, const char* id, int count, bool largest,
                 std::optional<double> published, std::optional<double> low, std::optional<double> high) {
  const auto extreme = [&](Figure what) {
    std::optional<Both> found;
    const auto pick = [&](double a, double b) { return largest ? std::max(a, b) : std::min(a, b); };
    for (const int batch : latency_batches) {
      const Both here = over_gpu(runs, batch, count, what);
      found = found ? Both{pick(found->paper, here.paper), pick(found->physical, here.physical)} : here;
    }
    return *found;
  };
  const Both tokens = extreme(between_tokens), first = extreme(first_step);
  add_row(rows, id,
          fmt::format("TBT of {} ranksets over GPU, {} of 4 batches of 6,000 tokens: GPT-89B", count,
                      largest ? "the largest" : "the least"),
          published, tokens.paper, tokens.physical, low, high)
      .note = fmt::format(
      "eff: decode attention FITTED to this figure; of the batch's first step alone {:.3g}, physical {:.3g}",
      first.paper, first.physical);
}

}  // namespace

void want_latency(Runs& runs) {
  for (const int batch : latency_batches) {
    runs.want(gpus(batch));
    for (const int count : ranksets) runs.want(with_ranksets(batch, count));
  }
}

void add_latency(const Runs& runs, const Folder& folder, Rows& rows) {
  add_extreme(runs, rows, "fig11_rs16_min", 16, false, .29, .27, {});
  add_extreme(runs, rows, "fig11_rs16_max", 16, true, .53, {}, .57);
  add_extreme(runs, rows, "fig11_rs2_max", 2, true, {}, 1.0, 1.25);
  for (const int batch : latency_batches)
    for (const int count : ranksets) {
      const Both here = over_gpu(runs, batch, count, between_tokens);
      add_row(rows, fmt::format("fig11_rs{}_batch{}", count, batch),
              fmt::format("TBT of {} ranksets over GPU, batch {}", count, batch), {}, here.paper,
              here.physical);
    }
  OutputFile file(folder / "latency.csv");
  file.text("batch,ranksets,eff_tbt_ms,physical_tbt_ms,eff_first_step_ms\n");  // 0 ranksets: GPU
  for (const int batch : latency_batches) {
    const auto write = [&](int count, const Measured& m) {
      file.print("{},{},{:.5g},{:.5g},{:.5g}\n", batch, count, m.paper.*between_tokens,
                 m.physical.*between_tokens, m.paper.*first_step);
    };
    write(0, runs.at(gpus(batch)));
    for (const int count : ranksets) write(count, runs.at(with_ranksets(batch, count)));
  }
  file.close();
}

}  // namespace weir::l3
