// The offline mapping of LLaMA2-70B's neurons, with all layers, by the integer program.
#include "sim/studies/hermes/decoding.h"
#include "sim/studies/hermes/study.h"

namespace weir::hermes {
namespace {

constexpr Seconds patience(120);  // the paper's solver took 110 s

struct Solved {
  bool in_time;
  double gap;
};

Solved solved(const char* assumptions) {
  HermesRun run = run_of(hermes_system, "llama2_70b");
  run.policy["followed_layers"] = nullptr;
  const StartMapping start = start_mapping(*neurons_of(run, assumptions));
  return {start.took <= patience, start.mapping.gap};
}

}  // namespace

void add_placement(const Runs&, const Folder&, Rows& rows) {
  const Solved paper = solved("paper"), physical = solved("physical");
  add_row(rows, "ilp_seconds_llama2_70b", "1 if the solver ended within 120 s: LLaMA2-70B, all layers", 1,
          {paper.in_time ? 1. : 0., physical.in_time ? 1. : 0.}, {1, 1})
      .note = "the paper's took 110 s; seconds are left out here, as they differ from run to run";
  add_row(rows, "ilp_gap_llama2_70b", "how far its time may be above the least, relative", {},
          {paper.gap, physical.gap}, {{}, 0.01});
}

}  // namespace weir::hermes
