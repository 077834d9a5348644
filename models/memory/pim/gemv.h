#pragma once
// Attention asks this of the PIM of one channel: which GEMVs, laid out how. A row of the matrix is in one
// bank, rows go round the banks (NeuPIMs, Section 6.3), and a tile is a row of DRAM of every bank:
//   logit  = K q: one global buffer holds the queries of several heads; a tile is as many tokens as banks;
//   attend = V s: one global buffer holds a page of one head's scores; a tile is as many elements of the head
//            as banks.
// Grouped-query attention: `heads` are query heads. Heads that share K and V share no command, each has its
// own vector: this is where a PIM loses what an NPU gains.
#include <span>
#include <vector>

#include "models/memory/memory_spec.h"

namespace weir {

enum class PimOp { logit, attend, both };  // both: a logit, then its attend

struct PimRequest {
  PimOp op = PimOp::both;
  std::int64_t length = 1, heads = 1, head_dim = 1;  // all at least 1
  bool operator==(const PimRequest&) const = default;
};

// One GWRITE, then equal tiles that use it.
struct PimChunk {
  std::int64_t tiles;
  int heads, comps;  // a tile gives `heads` results a bank, of `comps` COMPs each
};

// Throws std::invalid_argument for a memory without PIM, or a number below 1.
std::vector<PimChunk> gemv_chunks(const MemorySpec& memory, const PimRequest& request);
std::vector<PimChunk> gemv_chunks(const MemorySpec& memory, std::span<const PimRequest> requests);

}  // namespace weir
