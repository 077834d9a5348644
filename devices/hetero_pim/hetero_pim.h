#pragma once
// A memory stack whose logic die computes (Liu et al., Processing-in-Memory for Energy-efficient Neural
// Network Training, MICRO 2018): pairs of a multiplier and an adder, of which an operator takes whole
// windows, and ARM cores, which together run one operator at a time. Both read and write the stack and
// nothing else. Units: pairs (a pool) and arm; either may be left out. Made by catalog_row.cpp.
#include <memory>
#include <vector>

#include "devices/device.h"
#include "devices/hetero_pim/stack_streams.h"

namespace weir {

struct StackProcessors {
  std::vector<int> pairs;       // by bank
  double pairs_per_second = 0;  // cycles of a pair's clock
  double lanes = 1;             // multiplications and additions of a pair and cycle, each
  int arm_cores = 0;
  double arm_multiply_adds = 0;  // flops a second of one core, of multiplications and additions
  double arm_elements = 0;       // elements a second of one core, of all else, patches that it moves too
  Watts arm_power;               // of a core that works

  int all_pairs() const;
};

// `spec` has the stack as its own memory, and no units yet.
std::shared_ptr<const Device> make_hetero_pim(DeviceSpec spec, StackProcessors processors,
                                              StackStreams streams);

}  // namespace weir
