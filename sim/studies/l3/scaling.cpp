// Figure 9: host memory of more ranksets, of more capacity, and of both.
#include <algorithm>

#include "sim/app/output/output_file.h"
#include "sim/studies/l3/study.h"

namespace weir::l3 {
namespace {

constexpr int base_gib = 512, base_ranksets = 2;
constexpr int factors[] = {2, 4, 8};

struct Scaling {
  const char *id, *title;
  bool bandwidth, capacity;
};
constexpr Scaling scalings[] = {
    {"bw", "Bw-only", true, false}, {"cap", "Cap-only", false, true}, {"both", "Bw-Cap", true, true}};

SystemRun scaled(const char* model, const Scaling& how, int factor) {
  SystemRun run = scaled_run(model, how.bandwidth ? factor : 1, how.capacity ? factor : 1);
  run.paper_only = factor == 2 || factor == 4;  // bars between judged ones
  return run;
}

// One batch, where that is shorter: not in the paper.
SystemRun or_whole(int bandwidth) {
  SystemRun run = scaled_run("gpt175b", bandwidth, 1);
  run.batching = {{"interleave", "best"}};
  return run;
}

const std::vector<const char*> scaled_models = {"gpt175b", "gpt89b"};

OverSeeds gain(const Runs& runs, const char* model, const Scaling& how, int factor) {
  return ratio(runs, scaled(model, how, factor), scaled_run(model, 1, 1));
}

// The factors that Section 6.2 gives in words, for GPT-175B.
struct JudgedScaling {
  const char *id, *title;
  const Scaling& how;
  double published, low, high;
};
const JudgedScaling judged_scalings[] = {{"fig9_bw_only", "ranksets", scalings[0], 1.1, 1.0, 1.2},
                                         {"fig9_cap_only", "capacity", scalings[1], 1.6, 1.1, 1.7}};
constexpr const char *both_over_larger = "fig9_both_over_larger", *or_whole_id = "fig9_bw_only_or_whole";

std::string id_of(const Scaling& how, int factor, const char* model) {
  return fmt::format("fig9_{}_x{}_{}", how.id, factor, model);
}

// More than the judged ones, which --only may ask for by themselves.
bool wants_all_scalings(const Runs& runs) {
  bool any = runs.wants_row(both_over_larger) || runs.wants_row(or_whole_id);
  for (const char* model : scaled_models)
    for (const Scaling& how : scalings)
      for (const int factor : factors) any = any || runs.wants_row(id_of(how, factor, model));
  return any;
}

}  // namespace

SystemRun scaled_run(const char* model, int bandwidth, int capacity) {
  const int ranksets = base_ranksets * bandwidth;
  return {
      .model = model,
      .trace = "openr1",
      .memory = {{"ranks", ranksets}, {"ranksets", ranksets}, {"memory_capacity_gib", base_gib * capacity}}};
}

void want_scaling(Runs& runs) {
  const bool all = wants_all_scalings(runs);
  for (const JudgedScaling& j : judged_scalings)
    if (all || runs.wants_row(j.id)) {
      want_seeds(runs, scaled("gpt175b", j.how, 8));
      want_seeds(runs, scaled_run("gpt175b", 1, 1));
    }
  if (!all) return;
  for (const int bandwidth : {1, 8}) want_seeds(runs, or_whole(bandwidth));
  for (const char* model : scaled_models) {
    want_seeds(runs, scaled_run(model, 1, 1));
    for (const Scaling& how : scalings)
      for (const int factor : factors) want_seeds(runs, scaled(model, how, factor));
  }
}

void add_scaling(const Runs& runs, const Folder& folder, Rows& rows) {
  for (const JudgedScaling& j : judged_scalings)
    if (runs.wants_row(j.id) || wants_all_scalings(runs))
      add_row(rows, j.id, fmt::format("8 times the {}, from (512 GB, 2): GPT-175B, OpenR1", j.title),
              j.published, gain(runs, "gpt175b", j.how, 8), j.low, j.high);
  if (!wants_all_scalings(runs)) return;
  add_row(rows, or_whole_id,
          "8 times the ranksets where a step is one batch if that is shorter (interleave best)", {},
          ratio(runs, or_whole(8), or_whole(1)));
  const auto full = [&](const Scaling& how) { return gain(runs, "gpt175b", how, 8); };
  const OverSeeds bandwidth = full(scalings[0]), capacity = full(scalings[1]), both = full(scalings[2]);
  const bool more = mean(capacity.paper) > mean(bandwidth.paper);
  const OverSeeds& larger = more ? capacity : bandwidth;
  add_row(rows, both_over_larger, "gain of both over the larger one of these two: GPT-175B, OpenR1", 3.2,
          over(both, larger), 3)
      .note += fmt::format(", over {}", more ? "capacity alone" : "ranksets alone");
  OutputFile file(folder / "scaling.csv");
  file.text("model,scaled,factor,ideal,physical\n");
  for (const char* model : scaled_models)
    for (const Scaling& how : scalings) {
      file.print("{},{},1,1,1\n", model_of(model).title, how.title);
      for (const int factor : factors) {
        const OverSeeds here = gain(runs, model, how, factor);
        const bool published = model == scaled_models[0] && factor == 8;
        const std::optional<double> of_both =
            how.bandwidth && how.capacity ? std::optional(5.1) : std::nullopt;
        if (!published || of_both)
          add_row(
              rows, id_of(how, factor, model),
              fmt::format("{} x{}, from (512 GB, 2): {}, OpenR1", how.title, factor, model_of(model).title),
              published ? of_both : std::nullopt, here);
        file.print("{},{},{},{:.5g},{}\n", model_of(model).title, how.title, factor, mean(here.paper),
                   here.physical.empty() ? "" : fmt::format("{:.5g}", mean(here.physical)));
      }
    }
  file.close();
}

}  // namespace weir::l3
