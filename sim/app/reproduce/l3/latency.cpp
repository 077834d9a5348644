// Figure 11: time between tokens of one batch of decodes, on L3 of so many ranksets and on GPUs whose memory
// has no end. The figure's parts (attention, QKV generation, projection and feed-forward) add up to the time,
// so that the batch is one; in two sub-batches, whose parts overlap, beside it.
#include <algorithm>

#include "sim/app/output/output_file.h"
#include "sim/app/reproduce/l3/study.h"

namespace weir::l3 {
namespace {

constexpr int latency_batches[] = {16, 32, 48, 64};
constexpr int ranksets[] = {2, 4, 8, 16};

SystemRun gpus_alone(int batch) {
  return {.system = gpu_only,
          .model = "gpt89b",
          .profile = "eff",
          .memory = {{"memory_capacity_gib", 1024}},
          .batch = batch};
}

SystemRun with_ranksets(int batch, int count, bool interleaved) {
  SystemRun run{
      .model = "gpt89b", .profile = "eff", .memory = {{"ranks", count}, {"ranksets", count}}, .batch = batch};
  if (!interleaved) run.system.batching = "prefill_first", run.system.id = "l3_one_batch";
  return run;
}

struct Both {
  double paper, physical;
};
constexpr Figure between_tokens = &CaseResult::tpot_mean_ms;

Both over_gpu(const Runs& runs, int batch, int count, bool interleaved) {
  const Measured &l3 = runs.at(with_ranksets(batch, count, interleaved)), &gpu = runs.at(gpus_alone(batch));
  return {l3.paper.*between_tokens / gpu.paper.*between_tokens,
          l3.physical.*between_tokens / gpu.physical.*between_tokens};
}

void add_extreme(const Runs& runs, Rows& rows, const char* id, int count, bool largest,
                 std::optional<double> published, std::optional<double> low, std::optional<double> high) {
  const auto extreme = [&](bool interleaved) {
    std::optional<Both> found;
    const auto pick = [&](double a, double b) { return largest ? std::max(a, b) : std::min(a, b); };
    for (const int batch : latency_batches) {
      const Both here = over_gpu(runs, batch, count, interleaved);
      found = found ? Both{pick(found->paper, here.paper), pick(found->physical, here.physical)} : here;
    }
    return *found;
  };
  const Both tokens = extreme(false), halves = extreme(true);
  add_row(rows, id,
          fmt::format("TBT of {} ranksets over GPU, {} of 4 batches of 6,000 tokens: GPT-89B", count,
                      largest ? "the largest" : "the least"),
          published, tokens.paper, tokens.physical, low, high)
      .note = fmt::format(
      "eff: decode attention FITTED to this figure; in two sub-batches where that is shorter {:.3g}, "
      "physical {:.3g}",
      halves.paper, halves.physical);
}

}  // namespace

void want_latency(Runs& runs) {
  for (const int batch : latency_batches) {
    runs.want(gpus_alone(batch));
    for (const int count : ranksets)
      for (const bool interleaved : {false, true}) runs.want(with_ranksets(batch, count, interleaved));
  }
}

void add_latency(const Runs& runs, const Folder& folder, Rows& rows) {
  add_extreme(runs, rows, "fig11_rs16_min", 16, false, .29, .27, {});
  add_extreme(runs, rows, "fig11_rs16_max", 16, true, .53, {}, .57);
  add_extreme(runs, rows, "fig11_rs2_max", 2, true, {}, 1.0, 1.25);
  for (const int batch : latency_batches)
    for (const int count : ranksets) {
      const Both here = over_gpu(runs, batch, count, false);
      add_row(rows, fmt::format("fig11_rs{}_batch{}", count, batch),
              fmt::format("TBT of {} ranksets over GPU, batch {}", count, batch), {}, here.paper,
              here.physical);
    }
  OutputFile file(folder / "latency.csv");
  file.text("batch,ranksets,eff_tbt_ms,physical_tbt_ms,eff_interleaved_tbt_ms\n");  // 0 ranksets: GPU
  for (const int batch : latency_batches) {
    const auto write = [&](int count, const Measured& m, const Measured& halves) {
      file.print("{},{},{:.5g},{:.5g},{:.5g}\n", batch, count, m.paper.*between_tokens,
                 m.physical.*between_tokens, halves.paper.*between_tokens);
    };
    write(0, runs.at(gpus_alone(batch)), runs.at(gpus_alone(batch)));
    for (const int count : ranksets)
      write(count, runs.at(with_ranksets(batch, count, false)), runs.at(with_ranksets(batch, count, true)));
  }
  file.close();
}

}  // namespace weir::l3
