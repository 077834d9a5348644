// What the paper measured on eight Ascend 910B: Figure 4, speed-ups over batch and length; Figure 5, beside
// fused GEMM and all-reduce; Table 1, whole requests.
#include <algorithm>
#include <array>

#include "sim/app/output/output_file.h"
#include "sim/app/reproduce/preserve/study.h"

namespace weir::preserve {
namespace {

constexpr std::int64_t k = 1024;

Run on_910b(const std::string& model, int devices, int batch, std::int64_t length, const char* prefetch) {
  return {.model = model,
          .device = "ascend_910b",
          .devices = devices,
          .batch = batch,
          .length = length,
          .prefetch = prefetch};
}

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

double step_ms(const Runs& runs, const Run& run, CaseResult Measured::*set) {
  // One request of one token: from its start to its end.
  return (runs.at(run).*set).e2e_mean_ms;
}

double gain(const Runs& runs, const Run& without, const Run& with, CaseResult Measured::*set) {
  return step_ms(runs, without, set) / step_ms(runs, with, set);
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

struct Published {  // Table 1: seconds without and with prefetching
  const char* model;
  int devices;
  double without, with;
};
constexpr Published table1[] = {
    {"llama3-8b", 2, 148.8, 111.3},   {"llama3-8b", 4, 128.2, 80.6},    {"llama3-8b", 8, 60.3, 54.5},
    {"llama3-70b", 2, 596.0, 515.8},  {"llama3-70b", 4, 501.5, 368.7},  {"llama3-70b", 8, 233.8, 211.1},
    {"qwen2-7b", 2, 130.9, 111.6},    {"qwen2-7b", 4, 68.8, 63.0},      {"qwen2-7b", 8, 57.6, 52.7},
    {"qwen2-72b", 2, 700.0, 616.2},   {"qwen2-72b", 4, 593.6, 438.4},   {"qwen2-72b", 8, 402.8, 342.4},
    {"phi3-small", 2, 147.8, 110.0},  {"phi3-small", 4, 128.4, 79.9},   {"phi3-small", 8, 59.2, 54.2},
    {"phi3-medium", 2, 192.8, 157.3}, {"phi3-medium", 4, 171.8, 119.9}, {"phi3-medium", 8, 89.3, 80.4}};

Run table1_run(const Published& row, const char* prefetch) {
  return on_910b(row.model, row.devices, 4, 16 * k, prefetch);
}

}  // namespace

void want_lengths(Runs& runs) {
  each_length([&](const std::string& model, int batch, std::int64_t length) {
    for (const char* prefetch : {"none", "preserve"}) runs.want(last_step(model, batch, length, prefetch));
  });
}

void add_lengths(const Runs& runs, const Folder& folder, Rows& rows) {
  OutputFile file(folder / "lengths.csv");
  file.text("model,batch,length,speedup,speedup_physical\n");
  Both most{0, 0};
  std::string where;
  each_length([&](const std::string& model, int batch, std::int64_t length) {
    const Run with = last_step(model, batch, length, "preserve"),
              without = last_step(model, batch, length, "none");
    if (!fits(runs, with) || !fits(runs, without)) return file.print("{},{},{},,\n", model, batch, length);
    const Both gains = both([&](auto set) { return gain(runs, without, with, set); });
    file.print("{},{},{},{:.5f},{:.5f}\n", model, batch, length, gains.paper, gains.physical);
    if (gains.paper > most.paper) where = fmt::format("{}, {} x {}k", model, batch, length / k);
    most = {std::max(most.paper, gains.paper), std::max(most.physical, gains.physical)};
  });
  file.close();
  ReproducedRow& max =
      add_row(rows, "fig4_max", "largest speed-up of a last step, 4 x 910B, int8", 1.82, most);
  max.note = fmt::format("at {}", where);
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

void want_servers(Runs& runs) {
  for (const Published& row : table1)
    for (const char* prefetch : {"none", "preserve"}) runs.want(table1_run(row, prefetch));
}

void add_servers(const Runs& runs, const Folder&, Rows& rows) {
  Rows each;
  double published = 0;
  Both mean{0, 0};
  std::vector<double> over_roofline;  // measured seconds over ours, without prefetching
  const double share = 1. / static_cast<double>(std::size(table1));
  for (const Published& row : table1) {
    const Run without = table1_run(row, "none"), with = table1_run(row, "preserve");
    const Both gains = both([&](auto set) { return gain(runs, without, with, set); });
    published += share * row.without / row.with;
    mean = {mean.paper + share * gains.paper, mean.physical + share * gains.physical};
    ReproducedRow& made = add_row(each, fmt::format("tab1_{}_{}", row.model, row.devices),
                                  fmt::format("speed-up of 4 x 16k, {} on {} 910B", row.model, row.devices),
                                  row.without / row.with, gains);
    const double seconds = 1e-3 * step_ms(runs, without, &Measured::physical);
    over_roofline.push_back(row.without / seconds);
    made.note = fmt::format("measured {} s without, simulated {:.1f} s", row.without, seconds);
  }
  ReproducedRow& row = add_row(rows, "tab1_mean", "mean of Table 1's 18 speed-ups", published, mean);
  const auto [least, most] = std::ranges::minmax(over_roofline);
  row.note = fmt::format(
      "the measured servers take {:.1f} to {:.1f} times the seconds that compute, memory and links explain",
      least, most);
  rows.insert(rows.end(), each.begin(), each.end());
}

}  // namespace weir::preserve
