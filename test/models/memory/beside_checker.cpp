#include "test/models/memory/beside_checker.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir::test {
namespace {

struct Both {
  Cycles cycle;
  DramCommand command;
  int bank, comps;
  std::int64_t row;
  bool of_pim;
};

bool applies(DramLevel level, const DramOrganisation& o, int a, int b) {
  const bool rank = a / o.banks_per_rank() == b / o.banks_per_rank();
  if (level == DramLevel::bank) return a == b;
  if (level == DramLevel::bank_group) return a / o.banks_per_group == b / o.banks_per_group;
  return level == DramLevel::rank ? rank : !rank;
}

std::string too_early(const DramOrganisation& o, const std::vector<TimingConstraint>& table,
                      const std::vector<Both>& log, std::size_t at) {
  const Both& later = log[at];
  for (const TimingConstraint& c : table) {
    if (c.following != later.command) continue;
    int seen = 0;
    for (std::size_t i = at; i-- > 0 && later.cycle - log[i].cycle < c.latency;)
      if (log[i].command == c.preceding && applies(c.level, o, log[i].bank, later.bank) && ++seen == c.window)
        return fmt::format("{} of bank {} at {}: {} cycles after {} of bank {}, {} asks for {}",
                           to_string(later.command), later.bank, later.cycle, later.cycle - log[i].cycle,
                           to_string(log[i].command), log[i].bank, c.name, c.latency);
  }
  return "";
}

struct Rows {
  std::vector<std::int64_t> normal;  // by bank, -1: none
  std::vector<bool> pim;
};

std::string misplaced(const DramOrganisation& o, bool single, Rows& rows, const Both& c) {
  const auto bank = static_cast<std::size_t>(c.bank);
  std::int64_t& row = rows.normal[bank];
  switch (c.command) {
    case DramCommand::activate:
      if (row >= 0 || (single && rows.pim[bank])) return "activates an open bank";
      row = c.of_pim ? o.rows : c.row;
      return "";
    case DramCommand::precharge:
      if (row < 0) return "precharges a closed bank";
      row = -1;
      return "";
    case DramCommand::read:
    case DramCommand::write:
      return row == c.row ? "" : "another row is open, or none";
    case DramCommand::gwrite:
      return row == o.rows ? "" : "GWRITE of another row";
    case DramCommand::group_activate:
      for (std::size_t b = bank; b < bank + static_cast<std::size_t>(o.banks_per_group); ++b) {
        if (rows.pim[b] || (single && rows.normal[b] >= 0)) return "activates an open bank";
        rows.pim[b] = true;
      }
      return "";
    case DramCommand::pim_precharge:
      if (!rows.pim[bank]) return "precharges a closed bank";
      rows.pim[bank] = false;
      return "";
    case DramCommand::refresh:
      for (std::size_t b = bank; b < bank + static_cast<std::size_t>(o.banks_per_rank()); ++b)
        if (rows.pim[b] || rows.normal[b] >= 0) return "refreshes an open bank";
      return "";
    default:
      return "";
  }
}

}  // namespace

std::string beside_violation(const MemorySpec& memory, const PimOptions& options,
                             const std::vector<PimCommand>& pim, const std::vector<IssuedCommand>& normal) {
  const DramOrganisation o = pim_organisation(memory);
  const DramTimings& t = memory.timings;
  const auto table = shared_constraints(memory, options.timing, options.buffers);
  const bool physical = options.timing == PimTiming::physical;
  std::vector<Both> log;
  for (const PimCommand& c : pim) log.push_back({c.cycle, c.command, c.bank, c.comps, -1, true});
  for (const IssuedCommand& c : normal) log.push_back({c.cycle, c.command, c.bank, 0, c.row, false});
  std::stable_sort(log.begin(), log.end(), [](const Both& a, const Both& b) { return a.cycle < b.cycle; });
  const auto banks = static_cast<std::size_t>(o.banks());
  Rows rows{std::vector<std::int64_t>(banks, -1), std::vector<bool>(banks)};
  std::vector<Cycles> bursts;
  for (std::size_t i = 0; i < log.size(); ++i) {
    const Both& c = log[i];
    const bool together =
        i > 0 && physical && c.command == DramCommand::pim_precharge && log[i - 1].command == c.command;
    if (i > 0 && c.cycle == log[i - 1].cycle && !together) return fmt::format("two commands at {}", c.cycle);
    if (std::string early = too_early(o, table, log, i); !early.empty()) return early;
    if (std::string what = misplaced(o, options.buffers == RowBuffers::single, rows, c); !what.empty())
      return fmt::format("{} of bank {} at {}: {}", to_string(c.command), c.bank, c.cycle, what);
    if (c.command == DramCommand::read) bursts.push_back(c.cycle + t.cl);
    if (c.command == DramCommand::write) bursts.push_back(c.cycle + t.cwl);
    if (c.command == DramCommand::gemv && physical)  // its result comes out as that of a read then
      bursts.push_back(c.cycle + gemv_time(*memory.pim, c.comps) + t.cl);
  }
  std::sort(bursts.begin(), bursts.end());
  for (std::size_t i = 1; i < bursts.size(); ++i)
    if (bursts[i] < bursts[i - 1] + t.burst) return fmt::format("the data bus is taken at {}", bursts[i]);
  return "";
}

}  // namespace weir::test
