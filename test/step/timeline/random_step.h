#pragma once
// Random step graphs that mix all the timeline can express, for its laws.
#include <random>

#include "sim/step/timeline/step_graph.h"

namespace weir::test {

struct RandomStep {
  bool pools = true, alternatives = true, draws = true, unlike = true;
  bool carried =
      false;  // every chain of a layer waits for its own last operator of the layer before: it can fold
  bool bound = false;       // and for that of another chain, so that none runs ever further ahead
  std::int64_t layers = 0;  // of the repeated part; 0: few, and random
  bool ties = false;        // times and rates in quarters, so that much happens at once
  bool followers = false;   // an operator behind one with a choice may take the same
  bool yields = false;      // some parts do
  int most_chains = 3, most_operators = 4;  // independent chains (sub-batches), operators in each
};

StepGraph random_step(std::mt19937_64& random, const RandomStep& kind);
double uniform(std::mt19937_64& random, double low, double high);
int uniform_int(std::mt19937_64& random, int low, int high);  // both included

}  // namespace weir::test
