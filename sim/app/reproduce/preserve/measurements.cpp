// What the paper measured of last steps on four Ascend 910B: Figure 4, speed-ups over batch and length;
// Figure 5, beside fused GEMM and all-reduce.
#include <algorithm>

#include "sim/app/output/output_file.h"
#include "sim/app/reproduce/preserve/study.h"

namespace weir::preserve {
namespace {

constexpr std::int64_t k = 1024;

Run last_step(const std::string& model, int batch, std::int64_t length, const char* prefetch) {
  Run run = on_910b(model, 4, batch, length, prefetch);
  run.measure = Measure::last_step;
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
  Both most{0, 0}, most_strided{0, 0};
  std::string where, where_strided;
  const auto grow = [](Both& sum, std::string& at, const Both& more, const std::string& here) {
    if (more.paper > sum.paper) at = here;
    sum = {std::max(sum.paper, more.paper), std::max(sum.physical, more.physical)};
  };
  each_length([&](const std::string& model, int batch, std::int64_t length) {
    const Run with = last_step(model, batch, length, "preserve"),
              without = last_step(model, batch, length, "none");
    if (!fits(runs, with) || !fits(runs, without)) return file.print("{},{},{},,\n", model, batch, length);
    const Both gains = both([&](auto set) { return gain(runs, without, with, set); });
    file.print("{},{},{},{:.5f},{:.5f}\n", model, batch, length, gains.paper, gains.physical);
    const std::string here = fmt::format("{}, {} x {}k", model, batch, length / k);
    grow(most, where, gains, here);
    grow(most_strided, where_strided,
         both([&](auto set) { return gain(runs, strided(without), strided(with), set); }), here);
  });
  file.close();
  ReproducedRow& max =
      add_row(rows, "fig4_max", "largest speed-up of a last step, 4 x 910B, int8", 1.82, most);
  max.note = fmt::format("at {}", where);
  add_row(rows, "fig4_max_strided", "the same, K and V of several heads read at half the bandwidth", 1.82,
          most_strided)
      .note = fmt::format("at {}; {}", where_strided, note_on_strides);
  const auto speedup = [&](std::int64_t length, CaseResult Measured::*set) {
    return gain(runs, last_step("phi3-medium", 4, length, "none"),
                last_step("phi3-medium", 4, length, "preserve"), set);
  };
  ReproducedRow& falls =
      add_row(rows, "fig4_falls", "it falls when K and V no longer fit the L2 (Phi3-medium, batch 4)", 1,
              both([&](auto set) {
                double best = 0;
                for (std::int64_t length = k; length < 64 * k; length *= 2)
                  best = std::max(best, speedup(length, set));
                return static_cast<double>(speedup(64 * k, set) < best);
              }));
  falls.note = fmt::format("{:.3f} at 8k, {:.3f} at 32k, {:.3f} at 64k", speedup(8 * k, &Measured::paper),
                           speedup(32 * k, &Measured::paper), speedup(64 * k, &Measured::paper));
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
  each_fused([&](int batch, std::int64_t length) {
    const Run with = preserve_fp16(batch, length), without = fused(batch, length, "none", chunks_of(batch));
    if (!fits(runs, with)) return file.print("{},{},,\n", batch, length);
    const Both gains = both([&](auto set) { return gain(runs, without, with, set); });
    file.print("{},{},{:.5f},{:.5f}\n", batch, length, gains.paper, gains.physical);
  });
  file.close();
  const auto add = [&](int batch, double published, std::optional<double> low, std::optional<double> high) {
    ReproducedRow& row = add_row(
        rows, fmt::format("fig5_batch{}", batch),
        fmt::format("over fused GEMM and all-reduce, batch {}, mean over lengths, Llama3-70B fp16", batch),
        published, both([&](auto set) { return over_fused(runs, batch, chunks_of(batch), set); }), low, high);
    row.note = fmt::format(
        "fused in chunks of 384 rows at least, as CANN's operator: {} here. In 2, 4, 8 chunks "
        "of columns at any batch: {:.3f}, {:.3f}, {:.3f}",
        chunks_of(batch), over_fused(runs, batch, 2, &Measured::paper),
        over_fused(runs, batch, 4, &Measured::paper), over_fused(runs, batch, 8, &Measured::paper));
  };
  add(16, 1.19, 1, {});
  add(1024, 0.93, {}, 1);
}

}  // namespace weir::preserve
