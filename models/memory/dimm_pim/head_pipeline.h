#pragma once
// Decode attention of one query head on the banks of one rank, as a pipeline over chunks: as many tokens as
// there are banks. Per phase what a chunk takes of each unit, in cycles; who plays them command by command is
// rank_play.h, and a step timeline can be built of the same numbers.
//
//   score    K by token over banks: a bank reads the columns of one token, its unit sums the products, and
//   the
//            partial sums of all chips and banks come out over the wires to the buffer chip, whose adders add
//            the chips'. The softmax unit takes a chunk of them.
//   context  The softmax unit normalises a chunk, which goes out to the units' shared buffers. V by element
//            over banks, one column of a token a bank: a unit then sums what its multipliers give, one
//            accumulator each.
// With the uniform mapping a bank has all of a token's columns, and a unit accumulators for one of them: it
// goes over the rows once a column, and the scores go out each time. ESTIMATE: the paper gives no cost, only
// that uniform mappings ask for communication between units and row switches (Section 2.5).
#include "models/memory/dimm_pim/dimm_pim_options.h"
#include "models/memory/memory_spec.h"

namespace weir {

struct PhasePipeline {
  int passes;          // over all rows
  int columns;         // of a chunk in a pass
  int chunks_per_row;  // of every bank
  Cycles banks;        // a chunk's columns
  Cycles wires;        // score: its partial sums out; context: its scores in
  Cycles softmax;      // score: its exponentials and their sum; context: its normalisation
};

struct HeadPipeline {
  std::int64_t chunk_tokens;
  PhasePipeline score, context;
  Cycles query;          // the head's query into the shared buffers, over the wires
  Cycles readout;        // accumulators of a context pass out, over the wires
  Cycles result_way;     // from the wires' end until the sums are added up on the buffer chip
  Cycles broadcast_way;  // from the wires' end until the units have the scores
  Cycles buffer;         // a chunk's scores into the buffer chip's memory, or out of it

  std::int64_t chunks(std::int64_t tokens) const { return (tokens + chunk_tokens - 1) / chunk_tokens; }
};

inline constexpr std::int64_t dimm_pim_element_bytes = 2;  // FP16 (L3, Table 5)
// Scores of a head wait in the buffer chip: 256 KB, 128 K tokens (Section 4.4).
inline constexpr std::int64_t dimm_pim_most_tokens = std::int64_t{256} * 1024 / dimm_pim_element_bytes;

// Column reads of a token's K, or V.
std::int64_t token_columns(const MemorySpec& memory, std::int64_t head_dim);

// Throws std::invalid_argument for a head_dim below 1, or of more columns than there are banks.
HeadPipeline head_pipeline(const MemorySpec& memory, const DimmPimOptions& options, std::int64_t head_dim);

}  // namespace weir
