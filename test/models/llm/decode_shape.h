#pragma once
#include <algorithm>
#include <span>

#include "models/machine/batch_shape.h"

namespace weir::test {

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
