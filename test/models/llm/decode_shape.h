#pragma once
#include <algorithm>
#include <span>

#include "models/machine/batch_shape.h"

namespace weir::test {

// So many decodes of equal contexts, each with rows of drafts behind its next token.
inline BatchShape equal_decodes(std::int64_t decodes, std::int64_t context, std::int64_t rows = 1) {
  BatchShape shape;
  shape.decodes = shape.sequences = decodes;
  shape.decode_rows = rows;
  shape.decode_context_sum = decodes * context;
  shape.decode_context_max = context;
  return shape;
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
