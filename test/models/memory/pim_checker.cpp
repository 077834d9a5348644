#include "test/models/memory/pim_checker.h"

#include <fmt/format.h>

#include <set>

namespace weir::test {
namespace {

bool applies(DramLevel level, const DramOrganisation& o, int a, int b) {
  const bool rank = a / o.banks_per_rank() == b / o.banks_per_rank();
  switch (level) {
    case DramLevel::bank:
      return a == b;
    case DramLevel::bank_group:
      return a / o.banks_per_group == b / o.banks_per_group;
    case DramLevel::rank:
      return rank;
    case DramLevel::other_ranks:
      break;
  }
  return !rank;
}

std::string too_early(const DramOrganisation& o, const std::vector<TimingConstraint>& table,
                      const std::vector<PimCommand>& log, std::size_t at) {
  const PimCommand& later = log[at];
  for (const TimingConstraint& c : table) {
    if (c.following != later.command) continue;
    for (std::size_t i = at; i-- > 0 && later.cycle - log[i].cycle < c.latency;)
      if (log[i].command == c.preceding && applies(c.level, o, log[i].bank, later.bank))
        return fmt::format("{} at {}: {} cycles after {}, {} asks for {}", to_string(later.command),
                           later.cycle, later.cycle - log[i].cycle, to_string(log[i].command), c.name,
                           c.latency);
  }
  return "";
}

struct State {
  std::set<int> pim_rows;
  bool normal_row = false, header = false;
  Cycles results_done = 0, first_comp = 0;
  int comps = 0;
};

// What `c` may not do in this state, and what it makes of it.
std::string misplaced(const DramOrganisation& o, const MemorySpec& memory, const PimOptions& options,
                      State& s, const PimCommand& c) {
  const bool single = options.buffers == RowBuffers::single, physical = options.timing == PimTiming::physical;
  const std::size_t all = static_cast<std::size_t>(o.banks());
  const PimSpec& pim = *memory.pim;
  switch (c.command) {
    case DramCommand::activate:
      if (s.normal_row || (single && s.pim_rows.contains(c.bank))) return "activates an open bank";
      s.normal_row = true;
      return "";
    case DramCommand::precharge:
      if (!s.normal_row) return "precharges a closed bank";
      s.normal_row = false;
      return "";
    case DramCommand::gwrite:
      if (!s.normal_row) return "GWRITE of a closed row";
      return physical && c.cycle < s.results_done ? "GWRITE over a vector in use" : "";
    case DramCommand::header:
      s.header = true;
      return s.pim_rows.empty() ? "" : "header with open rows";
    case DramCommand::group_activate:
      for (int bank = c.bank; bank < c.bank + o.banks_per_group; ++bank)
        if (!s.pim_rows.insert(bank).second || (single && bank == 0 && s.normal_row)) return "an open bank";
      return s.header ? "" : "no header before it";
    case DramCommand::gemv:
      if (s.pim_rows.size() != all) return "not all rows are open";
      if (c.cycle < s.results_done && physical) return "the last is not through";
      s.results_done = c.cycle + gemv_time(pim, c.comps);
      return "";
    case DramCommand::comp:
      if (s.pim_rows.size() != all) return "not all rows are open";
      if (s.comps++ == 0) s.first_comp = c.cycle;
      return "";
    case DramCommand::result:
      if (physical && c.cycle < s.first_comp + pim.comp * pim.fill_comps) return "the pipeline is not full";
      s.comps = 0;
      s.results_done = c.cycle + pim.comp;
      return "";
    case DramCommand::pim_precharge:
      s.header = false;
      if (physical && c.cycle < s.results_done + memory.timings.rtp) return "closes a row in use";
      return s.pim_rows.erase(c.bank) ? "" : "precharges a closed bank";
    case DramCommand::refresh:
      for (const int bank : s.pim_rows)
        if (bank / o.banks_per_rank() == c.bank / o.banks_per_rank()) return "refreshes an open bank";
      return c.bank == 0 && s.normal_row ? "refreshes an open bank" : s.header ? "refresh inside a GEMV" : "";
    default:
      return "no command of a PIM";
  }
}

}  // namespace

std::string pim_violation(const MemorySpec& memory, const PimOptions& options,
                          const std::vector<PimCommand>& log) {
  const DramOrganisation o = pim_organisation(memory);
  const auto table = pim_constraints(memory, options.timing, options.buffers);
  State state;
  Cycles refreshes = 0;
  for (std::size_t i = 0; i < log.size(); ++i) {
    const PimCommand& c = log[i];
    const bool together = i > 0 && options.timing == PimTiming::physical &&
                          c.command == DramCommand::pim_precharge && log[i - 1].command == c.command;
    if (i > 0 && c.cycle < log[i - 1].cycle + (together ? 0 : 1)) return "two commands in one cycle";
    if (const std::string early = too_early(o, table, log, i); !early.empty()) return early;
    if (const std::string what = misplaced(o, memory, options, state, c); !what.empty())
      return fmt::format("{} of bank {} at {}: {}", to_string(c.command), c.bank, c.cycle, what);
    if (c.command != DramCommand::refresh) continue;
    const Cycles due = ++refreshes * memory.timings.refi / o.ranks;
    if (c.cycle < due || c.cycle > due + o.banks() + memory.timings.rp + memory.timings.rfc)
      return fmt::format("refresh at {}, due at {}", c.cycle, due);
  }
  return "";
}

}  // namespace weir::test
