#include "models/memory/memory_checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/memory/dram/energy.h"
#include "models/memory/pim/beside.h"

namespace weir {
namespace {

// JEDEC's delays within a bank group are no shorter than between groups, and a current is above that of the
// standby it comes on top of.
void check_order(Params& params, const MemorySpec& m) {
  const auto at_least = [&](const char* key, auto value, const char* other, auto least) {
    if (value < least)
      params.fail(key, fmt::format("expected at least {}, {} (got {})", other, least, value));
  };
  const DramTimings& t = m.timings;
  at_least("rrd_l_ck", t.rrd_l, "rrd_s_ck", t.rrd_s);
  at_least("ccd_l_ck", t.ccd_l, "ccd_s_ck", t.ccd_s);
  at_least("ccd_wr_l_ck", t.ccd_wr_l, "ccd_s_ck", t.ccd_s);
  at_least("wtr_l_ck", t.wtr_l, "wtr_s_ck", t.wtr_s);
  at_least("ras_ck", t.ras, "rcd_rd_ck", t.rcd_rd);
  const DramCurrents& c = m.currents;
  at_least("idd3n_ma", c.idd3n_ma, "idd2n_ma", c.idd2n_ma);
  at_least("idd4r_ma", c.idd4r_ma, "idd3n_ma", c.idd3n_ma);
  at_least("idd4w_ma", c.idd4w_ma, "idd3n_ma", c.idd3n_ma);
  at_least("idd5_ma", c.idd5_ma, "idd3n_ma", c.idd3n_ma);
  if (dram_energies(m).activate < Joules(0))
    params.fail("idd0_ma", "less than the standby of idd3n_ma over tRAS and idd2n_ma over tRP");
}

// Between two of its refreshes a rank closes its rows, one command a cycle, is refreshed, and a row is
// opened, read or written whole, and closed; and each rank in turn closes its rows in its share of tREFI. Or
// nothing would ever be served.
void check_refresh(Params& params, const char* ranks_key, const MemorySpec& m) {
  const DramOrganisation& o = m.organisation;
  const DramTimings& t = m.timings;
  const Cycles column = std::max({t.burst, t.ccd_l, t.ccd_wr_l});
  const Cycles closing = o.banks_per_rank() * std::max<Cycles>(1, t.ppd) +
                         std::max({t.ras, t.rtp, t.cwl + t.burst + t.wr}) + t.rp;
  const Cycles whole = closing + t.rfc + std::max(t.rcd_rd, t.rcd_wr) + o.columns() * column + t.cl;
  if (t.refi <= whole)
    params.fail("refi_ck", fmt::format("expected more than {}: a refresh, and a row of {} columns read or "
                                       "written whole (got {})",
                                       whole, o.columns(), t.refi));
  else if (t.refi / o.ranks <= closing)
    params.fail("refi_ck",
                fmt::format("expected more than {} for each of {} {}, whose rows close in turn (got {})",
                            closing, o.ranks, ranks_key, t.refi));
}

// A PIM's GEMV reads a row many times, and its controller's normal accesses are as NeuPIMs has them.
void check_page(Params& params, const MemorySpec& m) {
  if (m.pim && m.controller.page == PagePolicy::closed)
    params.fail("page", "expected \"open\" of a memory with pim_ keys, whose banks keep their rows");
}

// A GEMV as the device models play it where they ask what reads beside it lose.
void check_pim(Params& params, const MemorySpec& m) {
  for (const RowBuffers buffers : {RowBuffers::dual, RowBuffers::single})
    if (const std::string why = cannot_play(m, interference_request, {.buffers = buffers}); !why.empty())
      return params.fail("refi_ck", why);
}

}  // namespace

void check_memory(Params& params, const MemorySpec& m) {
  if (params.describing() || params.reading().failed()) return;
  check_order(params, m);
  check_page(params, m);
  check_refresh(params, "ranks", m);
  if (m.pim) check_refresh(params, "pim_ranks", pim_memory(m));
  if (m.pim && !params.reading().failed()) check_pim(params, m);
}

}  // namespace weir
