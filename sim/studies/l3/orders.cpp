// Figure 8's bars in order: L3 the fastest, CPU offloading the slowest.
#include "sim/plan/plan.h"
#include "sim/studies/l3/end_to_end.h"

namespace weir::l3 {
namespace {

constexpr const char *first_id = "fig8_l3_first", *last_id = "cpu_offload_last",
                     *cpu_last_id = "cpu_attends_to_all_last";

// Compared are the systems that serve every request.
struct Order {
  bool first = true;     // L3
  bool last = true;      // NEO
  bool cpu_last = true;  // the CPU
  std::string left_out;
};

Order order(const Runs& runs, std::vector<double> OverSeeds::*set, const std::vector<TraceLengths>& of) {
  Order found;
  for (const TraceLengths& trace : of)
    for (const ServedModel& model : models) {
      const auto tokens = [&](const System& system) {
        return mean(throughput(runs, run_of(system, model, trace)).*set);
      };
      const double l3 = tokens(l3_system);
      const bool with_neo = runs_neo(trace);
      for (const System& system : baselines_on(trace)) {
        const double other = tokens(system);
        if (const SystemRun run = run_of(system, model, trace); !refused(runs, run).empty()) {
          found.left_out +=
              fmt::format("{}{} {} {} (L3 {:.2f} times as fast)",
                          found.left_out.empty() ? "left out, as not every request fits: " : ", ",
                          system.title, model.title, trace.title, l3 / other);
          continue;
        }
        found.first = found.first && l3 > other;
        found.last = found.last && (system.id == neo.id || !with_neo || tokens(neo) < other);
        found.cpu_last = found.cpu_last && (system.id == cpu_offload.id || tokens(cpu_offload) < other);
      }
      found.last = found.last && with_neo && tokens(neo) < l3;
      found.cpu_last = found.cpu_last && tokens(cpu_offload) < l3;
    }
  return found;
}

// Throughputs as shares of the GPUs' alone, by model.
std::string of_gpu(const Runs& runs, const System& system, const TraceLengths& trace) {
  std::string text = system.title;
  for (const ServedModel& model : models) {
    const OverSeeds share = ratio(runs, run_of(system, model, trace), run_of(gpu_only, model, trace));
    text += fmt::format("{}{} {:.2f} (physical {:.2f})", &model == models.data() ? " over GPU: " : ", ",
                        model.title, mean(share.paper), mean(share.physical));
  }
  return text;
}

}  // namespace

// NEO where the order of all is judged: it decides anew every few steps, and all traces would take a minute.
bool runs_neo(const TraceLengths& trace) {
  return trace.id == std::string("openr1");
}

std::vector<System> baselines_on(const TraceLengths& trace) {
  std::vector<System> all = baselines;
  if (runs_neo(trace)) all.push_back(neo);
  return all;
}

std::string refused(const Runs& runs, const SystemRun& run) {
  const OverSeeds rejected = sample(runs, run, &CaseResult::rejected);
  if (rejected.paper.empty() || mean(rejected.paper) == 0) return "";
  const Plan plan = read_plan(scenario_of(run, "paper"), name_of(run));
  const ReplicaPlan& replica = plan.replicas[0];
  return fmt::format(
      "{}: {:.0f} of 1,000 requests (physical {:.0f}) never fit: longer than the {} tokens of KV cache that "
      "weights leave a replica of {} GPUs; they are left out",
      run.system.title, mean(rejected.paper), mean(rejected.physical),
      replica.kv_blocks * replica.spec.kv_cache.block_tokens, replica.spec.parallelism.tensor);
}

bool wants_orders(const Runs& runs) {
  return runs.wants_row(first_id) || runs.wants_row(last_id) || runs.wants_row(cpu_last_id);
}

void add_orders(const Runs& runs, Rows& rows) {
  const std::vector<TraceLengths> reasoning(traces.begin(), traces.begin() + 3),
      openr1(traces.begin(), traces.begin() + 1);
  const auto add = [&](const char* id, const char* metric, const std::vector<TraceLengths>& of,
                       bool Order::*what, bool judged_here) -> ReproducedRow& {
    const Order paper = order(runs, &OverSeeds::paper, of), physical = order(runs, &OverSeeds::physical, of);
    const std::optional<double> bound = judged_here ? std::optional(1.) : std::nullopt;
    ReproducedRow& row = add_row(rows, id, metric, 1, paper.*what, physical.*what, bound, bound);
    row.note = paper.left_out;
    return row;
  };
  add(first_id, "1: L3 beats every baseline on OpenR1, Dolphin and OpenThoughts, three models", reasoning,
      &Order::first, true);
  add_note(
      add(last_id, "1: CPU offloading, as NEO has it, is the slowest on OpenR1, three models", openr1,
          &Order::last, true),
      fmt::format("{}; {}; {}. NEO keeps in the GPUs the requests that they hold, and adds no more of the "
                  "host's than hide behind these; for a CPU that attends to every decode see "
                  "cpu_attends_to_all_last",
                  of_gpu(runs, neo, openr1[0]), of_gpu(runs, rank_pim, openr1[0]),
                  of_gpu(runs, cpu_offload, openr1[0])));
  add(cpu_last_id,
      "1: CPU offloading of all decodes, as FastDecode has it, is the slowest on OpenR1, three models",
      openr1, &Order::cpu_last, false);
}

}  // namespace weir::l3
