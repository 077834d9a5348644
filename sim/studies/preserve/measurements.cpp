// The paper measured last steps on four Ascend 910B: Figure 4, speed-ups over batch and length;
// Figure 5, beside fused GEMM and all-reduce.
#include <algorithm>
#include <functional>

#include "sim/app/output/output_file.h"
#include "sim/studies/preserve/study.h"

namespace weir::preserve {
namespace {

constexpr std::int64_t k = 1024;

Run last_step(const std::string& model, int batch, std::int64_t length, const char* prefetch) {
  Run run = on_910b(model, 4, batch, length, prefetch);
  run.measure = Measure::last_step;
  return run;
}

// K and V of a layer are 268 MB.
Run too_long(const char* prefetch) {
  return last_step("llama3-70b", 128, 4 * k, prefetch);
}
Run with_all_l2(Run run) {
  run.l2_mb = 2000;
  return run;
}

template <class Action>
void each_length(const Action& action) {  // Figure 4
  for (const std::string& model : largest_models)
    for (int batch = 1; batch <= 256; batch *= 2)
      for (std::int64_t length = k; length <= 64 * k; length *= 2) action(model, batch, length);
}

// CANN's fused operator makes no chunk of less than 384 rows (ops-transformer, mc2, matmul_performance: 3 x
// 128): a batch of fewer than two of them is one chunk, that is, not overlapped.
int chunks_of(int batch) {
  return std::max(1, batch / 384);
}

Run fused(int batch, std::int64_t length, const char* prefetch, int chunks) {
  Run run = last_step("llama3-70b", batch, length, prefetch);
  run.type = "fp16";
  run.fused_chunks = chunks;
  return run;
}
Run preserve_fp16(int batch, std::int64_t length) {
  return fused(batch, length, "preserve", 1);
}

template <class Action>
void each_fused(const Action& action) {  // Figure 5
  for (int batch = 16; batch <= 1024; batch *= 2)
    for (std::int64_t length = 128; length <= 8 * k; length *= 2) action(batch, length);
}

bool fits(const Runs& runs, const Run& run) {
  return runs.error(run).empty();
}

// Over fused kernels of so many chunks, the mean over the lengths that fit.
double over_fused(const Runs& runs, int batch, int chunks, CaseResult Measured::*set) {
  double sum = 0, n = 0;
  each_fused([&](int b, std::int64_t length) {
    const Run with = preserve_fp16(batch, length);
    if (b != batch || !fits(runs, with)) return;
    sum += gain(runs, fused(batch, length, "none", chunks), with, set);
    ++n;
  });
  return sum / n;
}

}  // namespace

void want_lengths(Runs& runs) {
  for (const char* prefetch : {"none", "preserve"}) runs.want(with_all_l2(too_long(prefetch)));
  each_length([&](const std::string& model, int batch, std::int64_t length) {
    for (const char* prefetch : {"none", "preserve"}) {
      runs.want(last_step(model, batch, length, prefetch));
      runs.want(strided(last_step(model, batch, length, prefetch)));
    }
  });
}

void add_lengths(const Runs& runs, const Folder& folder, Rows& rows) {
  OutputFile file(folder / "lengths.csv");
  file.text("model,batch,length,speedup,speedup_physical\n");
  Both most{0, 0};
  double most_strided = 0;
  std::string where, where_strided;
  each_length([&](const std::string& model, int batch, std::int64_t length) {
    const Run with = last_step(model, batch, length, "preserve"),
              without = last_step(model, batch, length, "none");
    if (!fits(runs, with) || !fits(runs, without)) return file.print("{},{},{},,\n", model, batch, length);
    const Both gains = both([&](auto set) { return gain(runs, without, with, set); });
    file.print("{},{},{},{:.5f},{:.5f}\n", model, batch, length, gains.paper, gains.physical);
    const std::string here = fmt::format("{}, {} x {}k", model, batch, length / k);
    if (gains.paper > most.paper) where = here;
    most = {std::max(most.paper, gains.paper), std::max(most.physical, gains.physical)};
    const double strides = gain(runs, strided(without), strided(with), &Measured::paper);
    if (strides > most_strided) where_strided = here;
    most_strided = std::max(most_strided, strides);
  });
  file.close();
  ReproducedRow& max =
      add_row(rows, "fig4_max", "largest speed-up of a last step, 4 x 910B, int8", 1.82, most);
  max.note = fmt::format(
      "at {}; the paper's are largest for long sequences, which it puts down to strided reads: next row",
      where);
  add_fitted_row(rows, "fig4_max_strided", "the same, K and V of several heads read at half the bandwidth",
                 1.82, most_strided)
      .note = fmt::format("at {}; {}", where_strided, note_on_strides);
  const auto of = [&](const std::function<Run(Run)>& changed, CaseResult Measured::*set) {
    return gain(runs, changed(too_long("none")), changed(too_long("preserve")), set);
  };
  const auto as_it_is = [](Run run) { return run; };
  ReproducedRow& falls =
      add_row(rows, "fig4_falls", "it falls where K and V no longer fit the L2 (Llama3-70B, 128 x 4k)", 1,
              both([&](auto set) { return static_cast<double>(of(as_it_is, set) < of(with_all_l2, set)); }));
  falls.note = fmt::format("{:.3f} as it is, {:.3f} with 2 GB of L2; at 128 x 2k, where they fit, {:.3f}",
                           of(as_it_is, &Measured::paper), of(with_all_l2, &Measured::paper),
                           gain(runs, last_step("llama3-70b", 128, 2 * k, "none"),
                                last_step("llama3-70b", 128, 2 * k, "preserve"), &Measured::paper));
}

void want_fused(Runs& runs) {
  each_fused([&](int batch, std::int64_t length) {
    runs.want(preserve_fp16(batch, length));
    for (const int chunks : {1, 2, 4, 8}) runs.want(fused(batch, length, "none", chunks));
  });
}

void add_fused(const Runs& runs, const Folder& folder, Rows& rows) {
  OutputFile file(folder / "fused.csv");
  file.text("batch,length,speedup,speedup_physical\n");
  Both most{0, 0}, least{9, 9};
  each_fused([&](int batch, std::int64_t length) {
    const Run with = preserve_fp16(batch, length), without = fused(batch, length, "none", chunks_of(batch));
    if (!fits(runs, with)) return file.print("{},{},,\n", batch, length);
    const Both gains = both([&](auto set) { return gain(runs, without, with, set); });
    file.print("{},{},{:.5f},{:.5f}\n", batch, length, gains.paper, gains.physical);
    most = {std::max(most.paper, gains.paper), std::max(most.physical, gains.physical)};
    least = {std::min(least.paper, gains.paper), std::min(least.physical, gains.physical)};
  });
  file.close();
  const auto add = [&](const std::string& id, int batch, int chunks, std::optional<double> low,
                       std::optional<double> high) -> ReproducedRow& {
    return add_row(rows, id,
                   fmt::format("over GEMM + all-reduce in {} chunk{}, batch {}, mean over lengths, "
                               "Llama3-70B fp16",
                               chunks, chunks == 1 ? "" : "s", batch),
                   {}, both([&](auto set) { return over_fused(runs, batch, chunks, set); }), low, high);
  };
  const auto over = [&](int batch, int chunks) { return over_fused(runs, batch, chunks, &Measured::paper); };
  constexpr int small = 16, large = 1024;
  for (const int chunks : {2, 4}) {
    ReproducedRow& row = add(chunks == 2 ? "fig5_batch16" : "fig5_batch16_4_chunks", small, chunks, 1, {});
    // Llama3-70B's gate and up: 8192 x 57344 in fp16, over four devices.
    constexpr double gate_up_mb = 8192. * 57344 * 2 / 4 / 1e6;
    row.note = fmt::format(
        "{}over plain kernels PRESERVE gains {:.4f}, the chunks {:.4f}: of gate and up a device has {:.0f} "
        "MB, "
        "which its L2 of 201 MB does not hold, so that Algorithm 1 hides nothing of every second all-reduce; "
        "chunks, of columns, hide a part of each. In 8 chunks: {:.3f}",
        over(small, chunks) < 1 ? "outside: the paper's is above 1, but " : "", over(small, 1),
        over(small, 1) / over(small, chunks), gate_up_mb, over(small, 8));
  }
  add("fig5_batch16_1_chunk", small, chunks_of(small), {}, {}).note =
      "CANN's fused operator makes no chunk of less than 384 rows: one here, which fuses nothing";
  add("fig5_batch1024", large, chunks_of(large), {}, 1).note = fmt::format(
      "as many as CANN's operator makes; in 4 and 8: {:.3f}, {:.3f}", over(large, 4), over(large, 8));
  add_row(rows, "fig5_max", "the largest of all batches and lengths, in CANN's chunks", 1.19, most).note =
      "below batch 768 these are one chunk, which fuses nothing";
  add_row(rows, "fig5_min", "the smallest", 0.93, least);
  add_row(rows, "fig5_first_below_1", "smallest batch whose mean over lengths is below 1", 512,
          both([&](auto set) {
            for (int batch = 16; batch <= 1024; batch *= 2)
              if (over_fused(runs, batch, chunks_of(batch), set) < 1) return static_cast<double>(batch);
            return 0.;
          }))
      .note = "a batch of 512 is one chunk";
}

}  // namespace weir::preserve
