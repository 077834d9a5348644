// Figure 8: throughputs of the systems on the traces, over that of GPUs alone, and how large the batches are.
#include <algorithm>

#include "sim/app/output/output_file.h"
#include "sim/studies/l3/end_to_end.h"

namespace weir::l3 {
namespace {

// The paper's word or bar, and an honest model's (systems of the same setting).
struct Judged {
  const char *system, *base, *model, *trace;
  std::optional<double> published;
  double low, high;
};
const Judged judged[] = {
    {"l3", "gpu", "opt66b", "dolphin", 5.0, 4.0, 6.0},
    {"l3", "hbmpim", "opt66b", "dolphin", 6.1, 5.0, 7.5},
    {"hbmpim", "gpu", "opt66b", "dolphin", .82, .7, .95},
    {"l3", "rpim", "gpt175b", "openr1", 9.2, 7.5, 9.5},
    {"l3", "gpu", "gpt175b", "longbench", {}, 1.1, 1.5},
};
struct JudgedBatch {
  const char *model, *trace;
  std::optional<double> published;
  double low, high;
};
const JudgedBatch judged_batches[] = {{"opt66b", "dolphin", 14.3, 11, 15},
                                      {"gpt175b", "openr1", {}, 6.5, 7.5}};

const System& system_of(const std::string& id) {
  const auto found = std::ranges::find(baselines, id, [](const System& s) { return std::string(s.id); });
  return found == baselines.end() ? l3_system : *found;
}

std::vector<System> systems_on(const TraceLengths& trace) {
  std::vector<System> all = baselines_on(trace);
  all.push_back(l3_system);
  return all;
}

template <class Action>
void each_workload(const Action& action) {
  for (const TraceLengths& trace : traces)
    for (const ServedModel& model : models) action(model, trace);
}

// The ids of the rows.
std::string ratio_id(const SystemRun& run, const SystemRun& base) {
  return fmt::format("fig8_{}_over_{}_{}_{}", run.system.id, base.system.id, run.model, run.trace);
}
std::string batch_id(const JudgedBatch& j) {
  return fmt::format("batch_ratio_{}_{}", j.model, j.trace);
}

// NeuPIMs' way, which the paper's baseline may have had: an ablation beside the judged row.
SystemRun in_sub_batches(const ServedModel& model, const TraceLengths& trace) {
  SystemRun run = run_of(hbm_pim, model, trace);
  run.batching = {{"interleave", "on"}};
  return run;
}

void add_in_sub_batches(const Runs& runs, const Judged& j, const ServedModel& model,
                        const TraceLengths& trace, Rows& rows) {
  const SystemRun gpu = run_of(gpu_only, model, trace);
  add_row(rows, ratio_id(in_sub_batches(model, trace), gpu) + "_two_sub_batches",
          fmt::format("the same, HBM-PIM always in two sub-batches: {}, {}", model.title, trace.title),
          j.published, ratio(runs, in_sub_batches(model, trace), gpu))
      .note = "a half reads all weights, for half as many tokens";
}

// Each system's attending units are busy for a share of the run: a ratio of throughputs is one of bandwidths
// times one of these.
std::string busy(const Runs& runs, const SystemRun& run) {
  const OverSeeds pim = sample(runs, run, &CaseResult::pim_utilisation);
  return fmt::format("{} {:.0f} % (physical {:.0f} %)", run.system.title, 100 * mean(pim.paper),
                     100 * mean(pim.physical));
}

void explain(const Runs& runs, const Judged& j, const ServedModel& model, const TraceLengths& trace,
             ReproducedRow& row) {
  if (j.system == std::string("hbmpim"))
    add_note(row, "HBM-PIM at its better setting, in two sub-batches only where a step of them is shorter");
  if (j.base == std::string("rpim"))
    add_note(row, fmt::format("units that attend are busy: {}, {}; the bandwidths differ by 8",
                              busy(runs, run_of(l3_system, model, trace)),
                              busy(runs, run_of(rank_pim, model, trace))));
}

// Both runs of every ratio that is asked for; those with another base than the GPUs first.
template <class Action>
void each_ratio(const Runs& runs, const Action& action) {
  const auto add = [&](const System& system, const System& base, const ServedModel& model,
                       const TraceLengths& trace) {
    const SystemRun a = run_of(system, model, trace), b = run_of(base, model, trace);
    if (runs.wants_row(ratio_id(a, b))) action(a, b);
  };
  for (const Judged& j : judged)
    if (j.base != std::string(gpu_only.id))
      add(system_of(j.system), system_of(j.base), model_of(j.model), trace_of(j.trace));
  each_workload([&](const ServedModel& model, const TraceLengths& trace) {
    for (const System& system : systems_on(trace))
      if (system.id != gpu_only.id) add(system, gpu_only, model, trace);
  });
}

const Judged* judged_of(const SystemRun& a, const SystemRun& b) {
  const auto j = std::ranges::find_if(judged, [&](const Judged& row) {
    return row.system == std::string(a.system.id) && row.base == std::string(b.system.id) &&
           row.model == a.model && row.trace == a.trace;
  });
  return j == std::end(judged) ? nullptr : j;
}

void add_ratios(const Runs& runs, Rows& rows) {
  each_ratio(runs, [&](const SystemRun& a, const SystemRun& b) {
    const ServedModel& model = model_of(a.model);
    const TraceLengths& trace = trace_of(a.trace);
    const Judged* j = judged_of(a, b);
    const std::optional<double> none;
    ReproducedRow& row = add_row(rows, ratio_id(a, b),
                                 fmt::format("throughput, {} over {}: {}, {}", a.system.title, b.system.title,
                                             model.title, trace.title),
                                 j ? j->published : none, ratio(runs, a, b), j ? std::optional(j->low) : none,
                                 j ? std::optional(j->high) : none);
    if (j) explain(runs, *j, model, trace, row);
    for (const SystemRun& run : {a, b}) add_note(row, refused(runs, run));
    if (j && a.system.id == hbm_pim.id) add_in_sub_batches(runs, *j, model, trace, rows);
  });
}

void add_batches(const Runs& runs, Rows& rows) {
  for (const JudgedBatch& j : judged_batches) {
    if (!runs.wants_row(batch_id(j))) continue;
    const ServedModel& model = model_of(j.model);
    const TraceLengths& trace = trace_of(j.trace);
    const SystemRun l3 = run_of(l3_system, model, trace), gpu = run_of(gpu_only, model, trace);
    ReproducedRow& row =
        add_row(rows, batch_id(j),
                fmt::format("mean running requests, L3 over GPU: {}, {}", model.title, trace.title),
                j.published, ratio(runs, l3, gpu, &CaseResult::running), j.low, j.high);
    const auto running = [&](const SystemRun& run) {
      return mean(sample(runs, run, &CaseResult::running).paper);
    };
    add_note(row, fmt::format("{:.4g} and {:.4g} requests of all replicas", running(l3), running(gpu)));
    if (!j.published) add_note(row, "the paper: up to 14.3, of all");
  }
}

void write(const Runs& runs, const Folder& folder) {
  OutputFile file(folder / "end_to_end.csv");
  file.text(
      "trace,model,system,ideal_tokens_per_s,physical_tokens_per_s,ideal_over_gpu,physical_over_gpu,"
      "ideal_running,physical_running,ideal_rejected\n");
  each_workload([&](const ServedModel& model, const TraceLengths& trace) {
    const OverSeeds gpu = throughput(runs, run_of(gpu_only, model, trace));
    for (const System& system : systems_on(trace)) {
      const SystemRun run = run_of(system, model, trace);
      const OverSeeds tokens = throughput(runs, run), running = sample(runs, run, &CaseResult::running),
                      relative = over(tokens, gpu);
      file.print("{},{},{}", trace.title, model.title, system.title);
      for (const OverSeeds* s : {&tokens, &relative, &running})
        for (const auto* values : {&s->paper, &s->physical})
          file.text(values->empty() ? "," : fmt::format(",{:.5g}", mean(*values)));
      file.print(",{:.1f}\n", mean(sample(runs, run, &CaseResult::rejected).paper));
    }
  });
  file.close();
}

}  // namespace

void want_end_to_end(Runs& runs) {
  if (wants_orders(runs))
    each_workload([&](const ServedModel& model, const TraceLengths& trace) {
      for (const System& system : systems_on(trace)) want_seeds(runs, run_of(system, model, trace));
    });
  each_ratio(runs, [&](const SystemRun& a, const SystemRun& b) {
    for (const SystemRun& run : {a, b}) want_seeds(runs, run);
    if (const Judged* j = judged_of(a, b); j && a.system.id == hbm_pim.id)
      want_seeds(runs, in_sub_batches(model_of(a.model), trace_of(a.trace)));
  });
  for (const JudgedBatch& j : judged_batches)
    if (runs.wants_row(batch_id(j)))
      for (const System& system : {l3_system, gpu_only})
        want_seeds(runs, run_of(system, model_of(j.model), trace_of(j.trace)));
}

void add_end_to_end(const Runs& runs, const Folder& folder, Rows& rows) {
  add_ratios(runs, rows);
  add_batches(runs, rows);
  if (!wants_orders(runs)) return;
  add_orders(runs, rows);
  write(runs, folder);
}

}  // namespace weir::l3
