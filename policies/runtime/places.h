#pragma once
// Where an operator of a training step may run, and the machine as a runtime sees it when one becomes ready:
// the registers of idleness of the paper (Liu et al., MICRO 2018, Section IV-D), and how long they will last.
#include "sim/core/units.h"

namespace weir {

enum class OperatorPlace {
  cpu,
  gpu,
  programmable,    // cores in the memory
  fixed_function,  // the memory's pairs of a multiplier and an adder
  split,           // multiplications and additions on the pairs, the rest where the runtime says
};

// Units work off what they hold in the order in which it came. Backlogs are until all of that is done.
struct RuntimeSnapshot {
  Seconds cpu = {}, gpu = {}, programmable = {};
  Seconds pairs = {};         // of all of them together
  double free_pairs = 0;      // held by nobody
  int waiting_for_pairs = 0;  // operators, which come before whoever joins them
};

// One of the places that the operator may go to.
struct PlaceOption {
  OperatorPlace place = OperatorPlace::cpu;
  Seconds alone = {};  // until the host knows that it is done, with the place to itself
  // A place on the pairs cannot start without so many: one window's, or all pairs where operators
  // have them one at a time.
  double least_pairs = 0;
  // A split operator's rest is done here.
  OperatorPlace rest = OperatorPlace::cpu;
};

// Until the operator can start there. Of a split one both sides have to be free.
Seconds wait_for(const PlaceOption& option, const RuntimeSnapshot& now);
// It can start at once.
bool is_idle(const PlaceOption& option, const RuntimeSnapshot& now);

}  // namespace weir
