#pragma once
// A sweep's results for the page: the summary of a real run, its keys and main metrics changed by formulas
// that a test can redo. Points differ in tensor, batching kind and rate; every `fail_each`-th failed.
#include "sim/app/results/result_set.h"

namespace weir::test {

struct SampleSweep {
  int rates = 6;  // times 4 tensor times 3 batching: the points
  int fail_each = 0;
  int seeds = 1;  // repetitions of each
};
ResultSet sample_sweep(const SampleSweep& shape);

// The results of a real run, in a directory.
void run_quickstart(const std::filesystem::path& directory);

}  // namespace weir::test
