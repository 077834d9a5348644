#pragma once
#include <vector>

#include "models/memory/pim/pim_channel.h"

namespace weir::test {

// Every timing mode with every kind of row buffers, with refresh and without.
inline std::vector<PimOptions> all_pim_options() {
  std::vector<PimOptions> all;
  for (const PimTiming timing : {PimTiming::artifact, PimTiming::physical})
    for (const RowBuffers buffers : {RowBuffers::dual, RowBuffers::single})
      for (const bool refresh : {true, false}) all.push_back({timing, buffers, refresh, nullptr});
  return all;
}

}  // namespace weir::test
