#include "models/memory/dimm_pim/head_pipeline.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>

namespace weir {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// ESTIMATE: as wide as the banks' bandwidth asks for (Section 4.4): a chunk in the time of its column reads.
// The paper's heads are of 128 elements (its Table 3); the unit does not grow with another model's.
constexpr std::int64_t paper_head_dim = 128;

}  // namespace

std::int64_t token_columns(const MemorySpec& memory, std::int64_t head_dim) {
  return ceil_div(head_dim * dimm_pim_element_bytes, memory.organisation.access_bytes);
}

HeadPipeline head_pipeline(const MemorySpec& memory, const DimmPimOptions& options, std::int64_t head_dim) {
  const DramOrganisation& o = memory.organisation;
  const DramTimings& t = memory.timings;
  const std::int64_t banks = o.banks_per_rank(), k_columns = token_columns(memory, head_dim);
  if (head_dim < 1) throw std::invalid_argument("a head_dim below 1");
  if (k_columns > std::min(banks, o.columns()))
    throw std::invalid_argument("a head_dim of more columns than a rank has banks, or a row columns");
  if (options.softmax_elements_per_column && !(*options.softmax_elements_per_column > 0))
    throw std::invalid_argument("a softmax unit of no width");
  const bool tailored = options.mapping == KvMapping::tailored;
  // V of a token over so many banks, a power of two; the rest of their columns is empty.
  const auto v_banks =
      static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(tailored ? k_columns : 1)));
  const std::int64_t v_columns = tailored ? v_banks : k_columns;  // that a chunk takes of a row

  const Cycles column = std::max(t.burst, t.ccd_l), burst = std::max(t.burst, t.ccd_s);
  const auto bursts = [&](std::int64_t bytes) { return burst * ceil_div(bytes, o.access_bytes); };
  const double width = options.softmax_elements_per_column.value_or(
      static_cast<double>(banks) / static_cast<double>(token_columns(memory, paper_head_dim)));
  const auto softmax = static_cast<Cycles>(std::ceil(static_cast<double>(banks * column) / width - 1e-9));
  // One FP16 of every bank and chip; each chip has its own wires, in both directions.
  const Cycles wires = bursts(banks * memory.currents.devices * dimm_pim_element_bytes);

  const auto phase = [&](std::int64_t passes, std::int64_t columns, std::int64_t row_columns) {
    return PhasePipeline{static_cast<int>(passes),
                         static_cast<int>(columns),
                         static_cast<int>(o.columns() / row_columns),
                         columns * column,
                         wires,
                         softmax};
  };
  HeadPipeline p{};
  p.chunk_tokens = banks;
  p.score = phase(1, k_columns, k_columns);
  p.context = tailored ? phase(1, v_banks, v_columns) : phase(k_columns, 1, v_columns);
  p.query = bursts(head_dim * dimm_pim_element_bytes);
  p.readout = burst * banks;  // a column's worth of accumulators a bank
  // The chips' sums are added in a tree, a clock a level: eight FP16 adders (Table 5) keep up with a burst.
  p.result_way = t.cl + std::bit_width(static_cast<unsigned>(memory.currents.devices)) - 1;
  p.broadcast_way = t.cwl;
  // ESTIMATE: the buffer chip's memory is as fast as the wires, which it was made for.
  p.buffer = bursts(banks * dimm_pim_element_bytes);
  return p;
}

}  // namespace weir
