// Figure 11: time between tokens of one batch of decodes, on L3 of so many ranksets and on GPUs whose memory
// has no end. L3 is the one of all figures: two sub-batches. The figure's own parts (attention, QKV
// generation, projection and feed-forward) add up to its time, as they do in one batch: that beside it.
#include <algorithm>

#include "sim/app/output/output_file.h"
#include "sim/studies/l3/study.h"

namespace weir::l3 {
namespace {

constexpr int latency_batches[] = {16, 32, 48, 64};
constexpr int ranksets[] = {2, 4, 8, 16};

enum class Batch { halves, whole, shorter };
constexpr struct {
  Batch batch;
  const char *id, *title;
} alternatives[] = {{Batch::whole, "one_batch", "in one batch (prefill-first)"},
                    {Batch::shorter, "or_whole", "in one batch where that is shorter (interleave best)"}};

SystemRun as(Batch batch, SystemRun run) {
  if (batch == Batch::whole) run.system.batching = "prefill_first", run.system.id = "l3_one_batch";
  if (batch == Batch::shorter) run.batching = {{"interleave", "best"}};
  return run;
}

struct Both {
  double paper, physical;
};
constexpr Figure between_tokens = &CaseResult::tpot_mean_ms;

Both over_gpu(const Runs& runs, int batch, int count, Batch how) {
  const Measured &l3 = runs.at(as(how, with_ranksets(batch, count))), &gpu = runs.at(gpus_alone(batch));
  return {l3.paper.*between_tokens / gpu.paper.*between_tokens,
          l3.physical.*between_tokens / gpu.physical.*between_tokens};
}

struct Extreme {
  const char* id;
  int count;
  bool largest;
  std::optional<double> published;
  const char* why = "";  // it is not as published, shown at so many requests
  int shown_at = 0;
};
const Extreme extremes[] = {
    {"rs16_min", 16, false, .29},
    {"rs16_max", 16, true, .53,
     "a half of few requests reads all weights, so two of them take twice as long as one batch", 16},
    {"rs2_max",
     2,
     true,
     {},
     "where attention is the longer part two halves hide it, and the time is below the GPU's",
     64},
};

Both extreme(const Runs& runs, const Extreme& of, Batch how) {
  std::optional<Both> found;
  const auto pick = [&](double a, double b) { return of.largest ? std::max(a, b) : std::min(a, b); };
  for (const int batch : latency_batches) {
    const Both here = over_gpu(runs, batch, of.count, how);
    found = found ? Both{pick(found->paper, here.paper), pick(found->physical, here.physical)} : here;
  }
  return *found;
}

std::string metric_of(const Extreme& of) {
  return fmt::format("TBT of {} ranksets over GPU, {} of 4 batches of 6,000 tokens: GPT-89B", of.count,
                     of.largest ? "the largest" : "the least");
}

// Reported, not judged: how decode attention reads the GPU's memory is fitted to this figure.
void add_extreme(const Runs& runs, Rows& rows, const Extreme& of) {
  const Both halves = extreme(runs, of, Batch::halves), whole = extreme(runs, of, Batch::whole);
  ReproducedRow& row = add_row(rows, fmt::format("fig11_{}", of.id), metric_of(of), of.published,
                               halves.paper, halves.physical);
  row.note = fmt::format(
      "eff: decode attention FITTED to this figure in one batch, in which its parts add up: {:.3g}, physical "
      "{:.3g}",
      whole.paper, whole.physical);
  if (of.shown_at > 0) {
    const auto ms = [&](Batch how) {
      return runs.at(as(how, with_ranksets(of.shown_at, of.count))).paper.*between_tokens;
    };
    row.note += fmt::format(
        "; in two sub-batches, as Section 5.3 has it, {}: of {} requests {:.4g} ms in two, {:.4g} in one, "
        "{:.4g} "
        "on GPUs",
        of.why, of.shown_at, ms(Batch::halves), ms(Batch::whole),
        runs.at(gpus_alone(of.shown_at)).paper.*between_tokens);
  }
}

}  // namespace

SystemRun gpus_alone(int batch) {
  return {.system = gpu_only,
          .model = "gpt89b",
          .profile = "eff",
          .memory = {{"memory_capacity_gib", 1024}},
          .batch = batch};
}

SystemRun with_ranksets(int batch, int count) {
  return {
      .model = "gpt89b", .profile = "eff", .memory = {{"ranks", count}, {"ranksets", count}}, .batch = batch};
}

void want_latency(Runs& runs) {
  for (const int batch : latency_batches) {
    runs.want(gpus_alone(batch));
    for (const int count : ranksets)
      for (const Batch how : {Batch::halves, Batch::whole, Batch::shorter})
        runs.want(as(how, with_ranksets(batch, count)));
  }
}

void add_latency(const Runs& runs, const Folder& folder, Rows& rows) {
  for (const Extreme& of : extremes) add_extreme(runs, rows, of);
  for (const auto& other : alternatives)
    for (const Extreme& of : extremes) {
      const Both here = extreme(runs, of, other.batch);
      add_row(rows, fmt::format("fig11_{}_{}", other.id, of.id),
              fmt::format("{}, {}", metric_of(of), other.title), of.published, here.paper, here.physical);
    }
  for (const int batch : latency_batches)
    for (const int count : ranksets) {
      const Both here = over_gpu(runs, batch, count, Batch::halves);
      add_row(rows, fmt::format("fig11_rs{}_batch{}", count, batch),
              fmt::format("TBT of {} ranksets over GPU, batch {}", count, batch), {}, here.paper,
              here.physical);
    }
  OutputFile file(folder / "latency.csv");
  file.text("batch,ranksets,eff_tbt_ms,physical_tbt_ms,eff_one_batch_tbt_ms\n");  // 0 ranksets: GPU
  for (const int batch : latency_batches) {
    const auto write = [&](int count, const Measured& m, const Measured& whole) {
      file.print("{},{},{:.5g},{:.5g},{:.5g}\n", batch, count, m.paper.*between_tokens,
                 m.physical.*between_tokens, whole.paper.*between_tokens);
    };
    write(0, runs.at(gpus_alone(batch)), runs.at(gpus_alone(batch)));
    for (const int count : ranksets)
      write(count, runs.at(with_ranksets(batch, count)),
            runs.at(as(Batch::whole, with_ranksets(batch, count))));
  }
  file.close();
}

}  // namespace weir::l3
