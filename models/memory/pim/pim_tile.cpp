#include "models/memory/pim/pim_tile.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/memory/pim/pim_channel.h"

namespace weir {

Cycles tile_estimate(const MemorySpec& memory, bool artifact, int heads, int comps, int open) {
  const DramTimings& t = memory.timings;
  const PimSpec& pim = *memory.pim;
  const Cycles activations = (pim.bank_groups - 1) * t.faw;
  if (artifact)
    return open * t.rtp + activations + t.rcd_rd +
           pim.comp * (std::max(heads * comps, pim.fill_comps) + heads - 1);
  return (open > 0 ? t.rp : 1) + activations + pim.ranks + t.rcd_rd + heads * gemv_time(pim, comps);
}

Cycles after_refresh(const MemorySpec& memory) {
  return memory.organisation.banks() + memory.timings.rp + memory.timings.rfc;
}

std::string cannot_play(const MemorySpec& memory, const PimRequest& request, const PimOptions& options) {
  if (!options.refresh) return "";
  const DramTimings& t = memory.timings;
  const int banks = memory.organisation.banks();
  PimRequest page = request;  // a longer one has more of the same tiles
  page.length = std::min(page.length, memory.organisation.row_bytes / memory.pim->element_bytes);
  Cycles longest = t.rtp + t.rp + t.rcd_rd + memory.pim->gwrite;
  for (const PimChunk& chunk : gemv_chunks(memory, page))
    longest = std::max(longest, tile_estimate(memory, options.timing == PimTiming::artifact, chunk.heads,
                                              chunk.comps, banks));
  const Cycles between = t.refi / memory.pim->ranks;
  if (longest + after_refresh(memory) < between) return "";
  return fmt::format(
      "a GWRITE or a PIM tile for heads of {} takes up to {} cycles and a refresh {}, more than the {} "
      "between two refreshes (refi_ck / pim_ranks)",
      request.head_dim, longest, after_refresh(memory), between);
}

}  // namespace weir
