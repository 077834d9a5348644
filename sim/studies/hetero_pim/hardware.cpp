// The numbers that all runs stand on: the pairs' peak and banks, whole windows in them, the least time of a
// step.
#include <cmath>
#include <numeric>

#include "devices/hetero_pim/pair_banks.h"
#include "sim/studies/hetero_pim/study.h"

namespace weir::hetero_pim {
namespace {

const DeviceSpec& stack_of(const TrainingJob& job) {
  return job.machine.memory->spec();
}

int pairs_of(const DeviceSpec& stack) {
  for (const Unit& unit : stack.units)
    if (unit.amount > 0) return static_cast<int>(unit.amount);
  return 0;
}

// True if every corner has as many as any edge, and every edge more than any bank of the centre.
bool edges_first(const BankGrid& grid, const std::vector<int>& pairs) {
  const auto in = [&](BankPlace place) {
    std::vector<int> found;
    for (int bank = 0; bank < grid.banks(); ++bank)
      if (grid.place(bank) == place) found.push_back(pairs[static_cast<std::size_t>(bank)]);
    return std::ranges::minmax(found);
  };
  return in(BankPlace::corner).min >= in(BankPlace::edge).max &&
         in(BankPlace::edge).min > in(BankPlace::central).max;
}

void add_pairs(const DeviceSpec& stack, Rows& rows) {
  const BankGrid grid;
  const std::vector<int> pairs = pairs_by_bank(pairs_of(stack), grid);
  add_row(rows, "peak_tflops", "pairs x clock x 2, TFLOP/s", {},
          same(stack.peak(DataType::fp32).value() / 1e12), exactly(0.2775))
      .note = "the paper has the factors alone: 444 pairs of a multiplier and an adder at 312.5 MHz";
  add_row(rows, "pairs_placed", fmt::format("pairs in {} banks", grid.banks()), 444,
          same(std::accumulate(pairs.begin(), pairs.end(), 0)), exactly(444));
  add_row(rows, "pairs_edges_first",
          "1: corner banks have no fewer pairs than edges, edges more than the centre", 1,
          same(edges_first(grid, pairs)), exactly(1))
      .note = "how many each bank has is not published";
}

// A window of k elements takes k multipliers and k - 1 adders; as many whole ones as fit.
double window_use(int side, int units) {
  const int window = 2 * side * side - 1;
  return static_cast<double>(units / window * window) / units;
}

void add_windows(const DeviceSpec& stack, Rows& rows) {
  struct Window {
    int side;
    std::optional<double> published;
    double accepted;
  };
  for (const Window& w :
       {Window{11, 0.54, 241. / 444}, {7, {}, 388. / 444}, {5, {}, 441. / 444}, {3, {}, 442. / 444}})
    add_row(rows, fmt::format("window_use_{0}x{0}", w.side),
            fmt::format("share of 444 units in whole windows of {0} x {0}", w.side), w.published,
            same(window_use(w.side, pairs_of(stack))), exactly(w.accepted))
        .note =
        "the paper counts multipliers and adders as single units, where it has as many pairs: of these more "
        "windows fit, and the device takes pairs";
}

void add_floor(const TrainingJob& job, Rows& rows) {
  const Flops flops = matrix_flops(job.graph);
  const FlopsPerSecond peak = stack_of(job).peak(DataType::fp32);
  add_row(rows, "step_floor_vgg19_s", "FLOPs of a step over the pairs' peak, VGG-19, s", {},
          same((flops / peak).value()), {13.3, 13.9})
      .note = fmt::format("the paper has no times; a hypothetical {} lanes a pair {:.2f} s",
                          hypothetical_lanes, (flops / peak).value() / hypothetical_lanes);
}

}  // namespace

void add_hardware(const Runs&, const Folder&, Rows& rows) {
  const TrainingJob job = job_of(run_of(hetero, net_of("vgg19")), "paper");
  add_pairs(stack_of(job), rows);
  add_windows(stack_of(job), rows);
  add_floor(job, rows);
}

}  // namespace weir::hetero_pim
