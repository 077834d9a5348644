#pragma once
#include <algorithm>
#include <span>

#include "models/machine/batch_shape.h"

namespace weir::test {

// Decodes whose contexts add up to `sum`, each with rows of drafts behind its next token.
inline BatchShape decodes_of(std::int64_t decodes, std::int64_t sum, std::int64_t longest,
                             std::int64_t rows = 1) {
  BatchShape shape;
  shape.decodes = shape.sequences = decodes;
  shape.decode_rows = rows;
  shape.decode_context_sum = sum;
  shape.decode_context_max = longest;
  return shape;
}

inline BatchShape equal_decodes(std::int64_t decodes, std::int64_t context, std::int64_t rows = 1) {
  return decodes_of(decodes, decodes * context, context, rows);
}

// A batch of these decodes, which must outlive it.
inline BatchShape decode_shape(std::span<const DecodeContext> contexts) {
  BatchShape shape;
  shape.contexts = contexts;
  shape.decodes = shape.sequences = std::ssize(contexts);
  for (const DecodeContext& c : contexts) {
    shape.decode_context_sum += c.tokens;
    shape.decode_context_max = std::max(shape.decode_context_max, c.tokens);
  }
  return shape;
}

}  // namespace weir::test
