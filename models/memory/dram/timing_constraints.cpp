#include "models/memory/dram/timing_constraints.h"

#include <algorithm>

namespace weir {

const char* to_string(DramCommand command) {
  constexpr const char* names[] = {"activate", "precharge",      "read", "write", "refresh", "gwrite",
                                   "header",   "group_activate", "gemv", "comp",  "result",  "pim_precharge"};
  return names[static_cast<std::size_t>(command)];
}

namespace {

// From a column command to where its row is closed, by a precharge or by itself. An auto-precharge is as a
// precharge in the first cycle that may have one (JESD79-4, 4.20): nobody issues it, so that its tRP counts
// from the column command, and a refresh waits for tRAS and tRP, too.
std::vector<TimingConstraint> closing_constraints(const MemorySpec& memory) {
  using enum DramCommand;
  using enum DramLevel;
  const DramTimings& t = memory.timings;
  const Cycles after_read = t.rtp, after_write = t.cwl + t.burst + t.wr;
  if (memory.controller.page == PagePolicy::open)
    return {{"tRTP", bank, read, precharge, after_read}, {"tWR", bank, write, precharge, after_write}};
  return {{"tRTP", bank, read, activate, after_read + t.rp},
          {"tRTP", rank, read, refresh, after_read + t.rp},
          {"tWR", bank, write, activate, after_write + t.rp},
          {"tWR", rank, write, refresh, after_write + t.rp},
          {"tRC", rank, activate, refresh, t.ras + t.rp}};
}

}  // namespace

// JESD79-4 (DDR4) and JESD235 (HBM) as DRAMsim3 composes them (its src/timing.cc), which the reference cases
// come from.
std::vector<TimingConstraint> timing_constraints(const MemorySpec& memory) {
  using enum DramCommand;
  using enum DramLevel;
  const DramTimings& t = memory.timings;
  const Cycles write_end = t.cwl + t.burst, turn = t.cl + t.burst - t.cwl + t.rtrs;
  std::vector<TimingConstraint> all = {
      {"tRC", bank, activate, activate, t.ras + t.rp},
      {"tRRD_L", bank_group, activate, activate, t.rrd_l},
      {"tRRD_S", rank, activate, activate, t.rrd_s},
      {"tFAW", rank, activate, activate, t.faw, 4},
      {"tRCD", bank, activate, read, t.rcd_rd},
      {"tRCD", bank, activate, write, t.rcd_wr},
      {"tRAS", bank, activate, precharge, t.ras},

      {"tCCD_L", bank_group, read, read, std::max(t.burst, t.ccd_l)},
      {"tCCD_S", rank, read, read, std::max(t.burst, t.ccd_s)},
      {"tRTRS", other_ranks, read, read, t.burst + t.rtrs},
      {"read to write", rank, read, write, turn},
      {"read to write", other_ranks, read, write, turn},

      {"tCCD_L", bank_group, write, write, std::max(t.burst, t.ccd_wr_l)},
      {"tCCD_S", rank, write, write, std::max(t.burst, t.ccd_s)},
      {"burst", other_ranks, write, write, t.burst},
      {"tWTR_L", bank_group, write, read, write_end + t.wtr_l},
      {"tWTR_S", rank, write, read, write_end + t.wtr_s},
      {"write to read", other_ranks, write, read, write_end + t.rtrs - t.cl},

      {"tRP", bank, precharge, activate, t.rp},
      {"tRP", rank, precharge, refresh, t.rp},
      {"tPPD", rank, precharge, precharge, t.ppd},

      {"tRFC", rank, refresh, activate, t.rfc},
      {"tRFC", rank, refresh, refresh, t.rfc},
  };
  for (const TimingConstraint& c : closing_constraints(memory)) all.push_back(c);
  std::erase_if(all, [&](const TimingConstraint& c) {
    return c.latency <= 0 || (c.level == other_ranks && memory.organisation.ranks == 1);
  });
  return all;
}

}  // namespace weir
