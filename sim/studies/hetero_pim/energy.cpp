// Figures 9 and 10: dynamic energy of a step, of the whole system.
#include "sim/studies/hetero_pim/study.h"

namespace weir::hetero_pim {
namespace {

std::vector<StepRatio> energy_ratios() {
  const std::string no_watts = "no bounds: the paper publishes no watts of its GPU";
  std::vector<StepRatio> all;
  for (const TrainingSystem* system : {&cpu, &gpu})
    for (const bool most : {false, true}) {
      StepRatio row{.id = fmt::format("fig9_{}_over_hetero_{}", system->id, most ? "max" : "min"),
                    .metric = fmt::format("dynamic energy of the {} over Hetero PIM's, {} of the nets",
                                          system->title, most ? "largest" : "least"),
                    .published = system == &cpu ? (most ? 24 : 3) : (most ? 5 : 1.3),
                    .figure = &CaseResult::step_joules,
                    .of = over_nets(on(*system), on(hetero)),
                    .picked = most ? largest : least};
      if (system == &gpu) {
        row.note = no_watts;
      } else if (most) {
        row.note =
            "no bounds: it hangs on how often operands leave the stack and on what the host draws meanwhile, "
            "which "
            "the paper does not give";
      } else {
        row.bounds = {4, {}};
        row.note = "joules above idle; of the CPU those of its own operators alone";
        row.variants = {sooner};
      }
      all.push_back(row);
    }
  return all;
}

void add_neurocube(Rows& rows) {
  add_row(rows, "fig10_over_neurocube_dcgan", "speed-up and energy over Neurocube, DCGAN", 3, {}).note =
      "no bounds: Neurocube is not modelled, and the paper says nothing of how its own comparison did it";
}

void write_energy(const Runs& runs, const Folder& folder) {
  std::vector<StepLine> lines;
  for (const StudiedNet& net : nets)
    for (const TrainingSystem* system : systems)
      lines.push_back({net.title, system->title, run_of(*system, net), run_of(hetero, net)});
  write_steps(runs, folder / "energy.csv", lines);
}

bool wants_energy_csv(const Runs& runs) {
  return runs.wants_row("fig9_cpu_over_hetero_max");
}

}  // namespace

void want_energy(Runs& runs) {
  want_ratios(runs, energy_ratios());
  if (!wants_energy_csv(runs)) return;
  for (const StudiedNet& net : nets)
    for (const TrainingSystem* system : systems) runs.want(run_of(*system, net));
}

void add_energy(const Runs& runs, const Folder& folder, Rows& rows) {
  add_ratios(runs, energy_ratios(), rows);
  add_neurocube(rows);
  if (wants_energy_csv(runs)) write_energy(runs, folder);
}

}  // namespace weir::hetero_pim
