#include "models/memory/pim/pim_timing.h"

#include <algorithm>

namespace weir {
namespace {

// The authors' simulator keeps these between normal accesses and PIM commands (NewtonSim's timing.cc).
void artifact_crossings(const DramTimings& t, std::vector<TimingConstraint>& all) {
  using enum DramCommand;
  using enum DramLevel;
  all.insert(all.end(), {
                            {"tRRD_L", bank_group, activate, group_activate, t.rrd_l},
                            {"tRRD_S", rank, activate, group_activate, t.rrd_s},
                            {"tCCD_S", rank, read, gwrite, std::max(t.burst, t.ccd_s)},
                            {"tCCD_S", rank, gwrite, read, std::max(t.burst, t.ccd_s)},
                        });
  for (const DramLevel level : {rank, other_ranks})
    all.insert(all.end(), {
                              {"tCCD_S", level, read, gemv, std::max(t.burst, t.ccd_s)},
                              {"tWTR_S", level, write, gemv, t.cwl + t.burst + t.wtr_s},
                              {"tRTRS", level, gemv, read, t.burst + t.rtrs},
                              {"tRTRS", level, gemv, write, t.cl + t.burst - t.cwl + t.rtrs},
                          });
}

}  // namespace

DramOrganisation pim_organisation(const MemorySpec& memory) {
  DramOrganisation o = memory.organisation;
  o.ranks = memory.pim->ranks, o.bank_groups = memory.pim->bank_groups;
  o.banks_per_group = memory.pim->banks_per_group;
  return o;
}

Cycles gemv_time(const PimSpec& pim, int comps) {
  return pim.comp * (std::max(comps, pim.fill_comps) + 1);
}

// Read from the command streams of reference dram/commands/newtonsim_*_1024.csv.gz; the values are the row's.
std::vector<TimingConstraint> pim_constraints(const MemorySpec& memory, PimTiming mode, RowBuffers buffers) {
  using enum DramCommand;
  using enum DramLevel;
  const DramTimings& t = memory.timings;
  const PimSpec& pim = *memory.pim;
  std::vector<TimingConstraint> all = {
      {"tRC", bank, activate, activate, t.ras + t.rp},
      {"tRCD", bank, activate, gwrite, t.rcd_rd},
      {"tRAS", bank, activate, precharge, t.ras},
      {"tRP", bank, precharge, activate, t.rp},
      {"tRP", rank, precharge, refresh, t.rp},
      {"GWRITE", bank, gwrite, precharge, pim.gwrite},
      {"GWRITE", bank, gwrite, read, pim.gwrite},
      {"GWRITE", bank, gwrite, write, pim.gwrite},

      {"tFAW", rank, group_activate, group_activate, t.faw},  // 4 banks are the window
      {"tFAW", rank, group_activate, activate, t.faw},
      {"tRAS", bank_group, group_activate, pim_precharge, t.ras},
      {"tRP", bank_group, pim_precharge, group_activate, t.rp},
      {"tRP", rank, pim_precharge, refresh, t.rp},
      {"tRFC", rank, refresh, activate, t.rfc},
      {"tRFC", rank, refresh, group_activate, t.rfc},
      {"tRFC", rank, refresh, refresh, t.rfc},
  };
  for (const DramLevel level : {rank, other_ranks})  // of the whole channel
    all.insert(all.end(), {
                              {"GWRITE", level, gwrite, header, pim.gwrite},
                              {"GWRITE", level, gwrite, pim_precharge, pim.gwrite},
                              {"GWRITE", level, gwrite, gwrite, pim.gwrite},
                              {"tRCD", level, group_activate, gemv, t.rcd_rd},
                              {"tRCD", level, group_activate, comp, t.rcd_rd},
                              {"COMP", level, comp, comp, pim.comp},
                              {"COMP", level, comp, result, pim.comp},
                              {"COMP", level, result, comp, pim.comp},
                              {"COMP", level, result, gwrite, pim.comp},
                              {"COMP", level, gemv, gwrite, pim.comp},
                              {"tRTP", level, gemv, pim_precharge, t.rtp},
                              {"tRTP", level, result, pim_precharge, t.rtp},
                          });
  if (mode == PimTiming::physical)
    all.push_back({"tFAW", rank, activate, group_activate, t.faw});
  else
    artifact_crossings(t, all);
  if (buffers == RowBuffers::single) {
    all.push_back({"tRP", bank, pim_precharge, activate, t.rp});
    if (mode == PimTiming::physical) all.push_back({"tRP", bank_group, precharge, group_activate, t.rp});
  }
  std::erase_if(all, [&](const TimingConstraint& c) {
    return c.latency <= 0 || (c.level == other_ranks && pim.ranks == 1);
  });
  return all;
}

MemorySpec pim_memory(const MemorySpec& memory) {
  MemorySpec shared = memory;
  shared.organisation = pim_organisation(memory);
  shared.controller.bank_queue = memory.pim->bank_queue;
  return shared;
}

std::vector<TimingConstraint> shared_constraints(const MemorySpec& memory, PimTiming mode,
                                                 RowBuffers buffers) {
  std::vector<TimingConstraint> all = timing_constraints(pim_memory(memory));
  const std::vector<TimingConstraint> more = pim_constraints(memory, mode, buffers);
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

}  // namespace weir
