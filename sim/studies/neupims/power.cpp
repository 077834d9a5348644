// Table 5: what an HBM channel draws, as the paper counts it: Micron's model of power (models/memory/dram
// energy.h), PIM's commands and the background of the second row buffer; how busy they are is Table 4's
// runs'.
#include <fmt/format.h>

#include "models/memory/dram/energy.h"
#include "models/memory/pim/pim_costs.h"
#include "sim/studies/neupims/study.h"

namespace weir::neupims {
namespace {

// Powers are a channel's, in W.
struct ChannelPower {
  double reads = 0, rows = 0;          // of its normal accesses
  double pim = 0, second_buffers = 0;  // of PIM's commands; what their open rows draw
  double refresh = 0, standby = 0;
  double total() const { return reads + rows + pim + second_buffers + refresh + standby; }
};

struct Use {
  double bandwidth, pim;   // shares of the time
  double pim_watts_while;  // of its commands, of a channel, while it runs
};

// All that crosses the bus as reads, row after row: 4 MB of them by the bank model. The results of PIM are
// among them and, 1 to 2 mW, among its commands.
class PowerOfUse {
 public:
  PowerOfUse() : memory_(find_memory(pim_memory_name)) {
    constexpr std::int64_t reads = 65536;
    const ChannelRun run = play(memory_, sequential_reads(memory_, reads), {});
    const Seconds time = static_cast<double>(run.last_data_end) * memory_.clock;
    const ChannelEnergy spent = energy(memory_, run);
    const double full = static_cast<double>(reads * memory_.organisation.access_bytes) / time.value() /
                        memory_.peak().value();  // of the peak
    stream_.reads = spent.read.value() / time.value() / full;
    stream_.rows = spent.activate.value() / time.value() / full;
    stream_.refresh = spent.refresh.value() / time.value();
    stream_.standby = spent.standby.value() / time.value();
  }

  // ESTIMATE: the second row buffers' open rows add what the first ones' do (IDD3N - IDD2N), while PIM runs.
  ChannelPower of(const Use& use) const {
    const DramEnergies one = dram_energies(memory_);
    ChannelPower power = stream_;
    power.reads *= use.bandwidth;
    power.rows *= use.bandwidth;
    power.pim = use.pim * use.pim_watts_while;
    power.second_buffers = use.pim * (one.active - one.idle).value();
    return power;
  }

  // A PIM's commands whose every tile uses whole rows (queries of four heads), never stopped by a refresh.
  double of_full_rows() const {
    PimCosts costs(memory_, {.refresh = false});
    const PimRequest logit{PimOp::logit, 2048, 4, 128};
    return costs.energy(logit).total().value() / (costs.sustained(logit) * memory_.clock.value());
  }

 private:
  MemorySpec memory_;
  ChannelPower stream_;  // at the peak
};

// Sums up the PIM commands of one token, on the mean channel of a device, as its runs charge them.
Joules pim_energy_of_token(const StudyPoint& point) {
  const Plan plan = read_plan(scenario_of(point, "physical"), "Table 5");
  const Scenario& s = plan.scenario;
  PimCosts costs(find_memory(pim_memory_name));
  Joules sum(0);
  for (const Request& request : s.workload.requests)
    for (int step = 0; step < steps_of_a_batch; ++step)
      sum += costs
                 .energy({PimOp::both, request.input_tokens + step, plan.replicas[0].mha.heads,
                          s.model.most_heads().dim})
                 .total();
  const auto tokens = static_cast<double>(s.workload.requests.size() * steps_of_a_batch);
  return static_cast<double>(s.model.layer_count()) / point.pipeline / channels / tokens * sum;
}

Use use_of(const CaseResult& run, Joules pim_of_token) {
  const double pim = run.pim_utilisation;
  return {run.memory_utilisation, pim, pim > 0 ? pim_of_token.value() * run.output_throughput / pim : 0};
}

struct Pair {  // of the machines that Table 5 has
  ChannelPower npu_only, neupims;
  double speedup;
  double device_energy;  // of a token, all of the device, over NPU-only's

  double ratio() const { return neupims.total() / npu_only.total(); }
};

Pair pair_of(const PowerOfUse& power, const CaseResult& only, const CaseResult& neu, Joules pim_of_token) {
  const double speedup = neu.output_throughput / only.output_throughput;
  return {power.of(use_of(only, Joules(0))), power.of(use_of(neu, pim_of_token)), speedup,
          neu.device_watts / only.device_watts / speedup};
}

std::string parts(const ChannelPower& p) {
  std::string text = fmt::format("reads {:.0f}, rows {:.0f}", 1e3 * p.reads, 1e3 * p.rows);
  if (p.pim > 0)
    text +=
        fmt::format(", PIM commands {:.0f}, second row buffers {:.0f}", 1e3 * p.pim, 1e3 * p.second_buffers);
  return text + fmt::format(", refresh {:.0f}, standby {:.0f}", 1e3 * p.refresh, 1e3 * p.standby);
}

}  // namespace

void add_power(const Runs& runs, Rows& rows) {
  const Measured &only = runs.at(table4_point(npu_only)), &neu = runs.at(table4_point(interleaved));
  const PowerOfUse power;
  const Joules pim = pim_energy_of_token(table4_point(interleaved));
  const Pair paper = pair_of(power, only.paper, neu.paper, pim),
             physical = pair_of(power, only.physical, neu.physical, pim);
  // Where the runs are as busy as Table 4 says: what is left is the model of power.
  const double busy = use_of(neu.physical, pim).pim_watts_while;
  const Pair published{power.of({.676, 0, 0}), power.of({.854, .264, busy}), 2.4, 0};
  const double full_rows = power.of_full_rows();
  const double standby =
      published.neupims.total() - published.neupims.second_buffers + published.neupims.standby;
  const auto add = [&](const char* id, const char* metric, double reference, auto value, std::string note) {
    ReproducedRow row;
    row.id = id;
    row.metric = metric;
    row.paper = reference;
    row.simulated = value(paper);
    row.physical = value(physical);
    row.note = std::move(note);
    rows.push_back(row);
  };
  add(
      "tab5_npuonly_mw", "NPU-only: power of an HBM channel, mW; runs of Table 4", 364.1,
      [](const Pair& p) { return 1e3 * p.npu_only.total(); },
      fmt::format(
          "the paper does not say which run, Table 4's (GPT3-30B, ShareGPT, 256) here; {}; physical: {}; "
          "at the paper's 67.6 % of the bandwidth {:.1f} mW: the rest is the utilisation ({:.1f} and {:.1f} "
          "%)",
          parts(paper.npu_only), parts(physical.npu_only), 1e3 * published.npu_only.total(),
          100 * only.paper.memory_utilisation, 100 * only.physical.memory_utilisation));
  add(
      "tab5_neupims_mw", "NeuPIMs: power of an HBM channel, mW; the same", 634.8,
      [](const Pair& p) { return 1e3 * p.neupims.total(); },
      fmt::format(
          "{}; physical: {}; at the paper's 85.4 % of the bandwidth and 26.4 % of PIM {:.1f} mW; a PIM "
          "draws {:.0f} mW a channel while it runs (COMPs at 4 times a read's power, activations). What "
          "would "
          "fill the gap at that utilisation: a whole standby for the second row buffers, always: {:.1f} mW; "
          "or "
          "PIM of full rows alone, no refresh ({:.0f} mW while it runs): {:.1f} mW",
          parts(paper.neupims), parts(physical.neupims), 1e3 * published.neupims.total(), 1e3 * busy,
          1e3 * standby, 1e3 * full_rows, 1e3 * power.of({.854, .264, full_rows}).total()));
  add(
      "tab5_power_ratio", "NeuPIMs over NPU-only: power of a channel", 1.8,
      [](const Pair& p) { return p.ratio(); },
      fmt::format("the paper's own 634.8 / 364.1 is 1.74; at its utilisation here {:.2f}",
                  published.ratio()));
  add(
      "tab5_energy_ratio", "NeuPIMs over NPU-only: energy of the channels, a token", .75,
      [](const Pair& p) { return p.ratio() / p.speedup; },
      fmt::format(
          "that ratio over the speed-up, {:.2f}, physical {:.2f}; at the paper's utilisation and 2.4: "
          "{:.2f}; "
          "of whole devices (energy_j: 90 W idle, arithmetic, 48 pJ a byte of HBM and PHY, the same PIM "
          "commands) {:.2f}, physical {:.2f}",
          paper.speedup, physical.speedup, published.ratio() / published.speedup, paper.device_energy,
          physical.device_energy));
}

}  // namespace weir::neupims
