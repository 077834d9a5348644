// Table 5: what the units of DIMM-PIM draw; what its banks reach, by how they may open rows; and what each of
// Sections 4.1 to 4.4 is worth to the system.
#include "models/energy/power.h"
#include "models/memory/dimm_pim/rank_attention.h"
#include "sim/app/output/output_file.h"
#include "sim/studies/l3/study.h"

namespace weir::l3 {
namespace {

constexpr const char* dimm_memory = "ddr4_3200_l3";
constexpr int ranks = 64, ranks_a_dimm = 2, gpus = 8;
constexpr double dimm_watts = 10;  // Section 6.4: "an entire power of 10W"

struct Variant {
  const char *id, *title;
  Json memory;
};
const std::vector<Variant>& variants() {
  static const std::vector<Variant> all = {
      {"relayout_by_cpu", "elements transposed by the CPU", {{"relayout", "cpu_transposition"}}},
      {"uniform_mapping", "V laid out as K", {{"kv_mapping", "uniform"}}},
      {"not_fused", "softmax after all scores", {{"kernels_fused", "no"}}},
      {"rows_at_once", "rows opened at once, in every bank", {{"activation", "at_once"}}},
      {"rows_rrd_apart", "rows opened tRRD apart, without tFAW", {{"activation", "rrd"}}},
      {"peak", "a column read every tCCD_L and nothing else", {{"dimm_timing", "peak"}}},
  };
  return all;
}

// The DIMMs by their commands in both sets: the switches are of these.
SystemRun run_of(const Json& memory) {
  SystemRun run{.model = "gpt175b", .trace = "openr1", .memory = {{"dimm_timing", "commands"}}};
  run.memory.update(memory);
  return run;
}
const SystemRun& l3_by_commands() {
  static const SystemRun run = run_of(Json::object());
  return run;
}

void add_bandwidths(Rows& rows) {
  const MemorySpec memory = find_memory(dimm_memory);
  constexpr std::int64_t head_dim = 128;
  const struct {
    const char *id, *title;
    ActivationMode mode;
  } modes[] = {{"at_once", "all banks in one cycle", ActivationMode::at_once},
               {"rrd", "tRRD apart", ActivationMode::rrd},
               {"faw", "tRRD apart and within tFAW", ActivationMode::faw}};
  for (const auto& mode : modes) {
    const RankAttention attention(memory, {.activation = mode.mode});
    const double peak = ranks * attention.peak().value() / 1e12;
    add_row(rows, fmt::format("pim_bandwidth_{}", mode.id),
            fmt::format("TB/s that attention reads K and V at, rows opened {}", mode.title), 13.0,
            ranks * attention.reached(head_dim).value() / 1e12, {})
        .note = fmt::format(
        "the paper's is a column read every tCCD_L, {:.4g}; rows, refresh and chunks left out", peak);
  }
}

// Runs are for the rows of energy and of what each switch is worth; bandwidths and watts are the models' own.
bool wants_runs(const Runs& runs) {
  bool any = runs.wants_row("tab5_energy_per_token") || runs.wants_row("tab5_units_energy_share");
  for (const Variant& variant : variants())
    any = any || runs.wants_row(fmt::format("hardware_{}", variant.id));
  return any;
}

void add_power(const Runs& runs, Rows& rows) {
  const Watts rank = bank_level_unit_power(find_memory(dimm_memory));
  add_row(rows, "tab5_rank_watts", "W of the units of a rank, all at work", {}, rank.value(), {}).note =
      "128 bank units (16 banks, 8 chips), an adder, a softmax and a re-layout unit at Table 5's mW";
  add_row(rows, "tab5_dimm_share", "% of a DIMM's 10 W that the units of its two ranks draw", {},
          100 * ranks_a_dimm * rank.value() / dimm_watts, {});
  if (!wants_runs(runs)) return;
  const SystemRun& l3 = l3_by_commands();
  const OverSeeds watts = sample(runs, l3, &CaseResult::device_watts),
                  tokens = sample(runs, l3, &CaseResult::output_throughput),
                  busy = sample(runs, l3, &CaseResult::pim_utilisation);
  const auto per_seed = [&](const auto& of) {
    OverSeeds found;
    for (const auto set : {&OverSeeds::paper, &OverSeeds::physical})
      for (std::size_t i = 0; i < (watts.*set).size(); ++i)
        (found.*set).push_back(of((watts.*set)[i], (tokens.*set)[i], (busy.*set)[i]));
    return found;
  };
  add_row(rows, "tab5_energy_per_token", "J a token, GPUs and DIMMs: L3, GPT-175B, OpenR1", {},
          per_seed([](double w, double t, double) { return gpus * w / t; }))
      .note = unmeasured_power_note;
  add_row(rows, "tab5_units_energy_share", "% of it by the PIM's units, at work while their rankset is", {},
          per_seed([&](double w, double, double b) { return 100 * ranks * rank.value() * b / (gpus * w); }))
      .note = unmeasured_power_note;
}

}  // namespace

void want_hardware(Runs& runs) {
  if (!wants_runs(runs)) return;
  want_seeds(runs, l3_by_commands());
  for (const Variant& variant : variants()) want_seeds(runs, run_of(variant.memory));
}

void add_hardware(const Runs& runs, const Folder& folder, Rows& rows) {
  add_power(runs, rows);
  add_bandwidths(rows);
  if (!wants_runs(runs)) return;
  OutputFile file(folder / "hardware.csv");
  file.text("variant,ideal,physical\n");
  for (const Variant& variant : variants()) {
    const OverSeeds here = ratio(runs, run_of(variant.memory), l3_by_commands());
    add_row(rows, fmt::format("hardware_{}", variant.id),
            fmt::format("throughput with {}, over L3 by the bank model: GPT-175B, OpenR1", variant.title), {},
            here);
    file.print("{},{:.5g},{:.5g}\n", variant.id, mean(here.paper), mean(here.physical));
  }
  file.close();
}

}  // namespace weir::l3
