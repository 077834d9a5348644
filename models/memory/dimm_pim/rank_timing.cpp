#include "models/memory/dimm_pim/rank_timing.h"

#include <algorithm>

namespace weir {

MemorySpec one_rank(const MemorySpec& memory) {
  MemorySpec alone = memory;
  alone.organisation.ranks = 1;
  return alone;
}

std::vector<TimingConstraint> dimm_pim_constraints(const MemorySpec& memory, ActivationMode mode) {
  using enum DramCommand;
  using enum DramLevel;
  const DramTimings& t = memory.timings;
  const Cycles column = std::max(t.burst, t.ccd_l), burst = std::max(t.burst, t.ccd_s);
  std::vector<TimingConstraint> all = {
      {"tRC", bank, activate, activate, t.ras + t.rp},
      {"tRAS", bank, activate, precharge, t.ras},
      {"tRP", bank, precharge, activate, t.rp},
      {"tRP", rank, precharge, refresh, t.rp},
      {"tRFC", rank, refresh, activate, t.rfc},
      {"tRFC", rank, refresh, refresh, t.rfc},

      {"tRCD", rank, activate, comp, t.rcd_rd},
      {"tCCD_L", rank, comp, comp, column},  // every group reads in every one
      {"tRTP", rank, comp, precharge, t.rtp},

      {"tCCD_S", rank, result, result, burst},
      {"tCCD_S", rank, gwrite, gwrite, burst},
      {"read to write", rank, result, gwrite, t.cl + t.burst - t.cwl + t.rtrs},
      {"tWTR_S", rank, gwrite, result, t.cwl + t.burst + t.wtr_s},
  };
  if (mode != ActivationMode::at_once) {
    all.push_back({"tRRD_L", bank_group, activate, activate, t.rrd_l});
    all.push_back({"tRRD_S", rank, activate, activate, t.rrd_s});
  }
  if (mode == ActivationMode::faw) all.push_back({"tFAW", rank, activate, activate, t.faw, 4});
  std::erase_if(all, [](const TimingConstraint& c) { return c.latency <= 0; });
  return all;
}

}  // namespace weir
