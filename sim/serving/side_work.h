#pragma once
// Work of a replica's steps that rows do not say (SideLoads): the replica asks for it before every step of
// decodes, and runs such steps one by one.
#include <cstdint>
#include <span>

#include "models/machine/batch_shape.h"

namespace weir {

class SideWork {
 public:
  struct Sequence {
    std::int32_t request;
    std::int64_t prompt_tokens;
  };

  virtual ~SideWork() = default;
  // Each sequence generates a token in this step of decodes, which has these loads. Valid until the next
  // call.
  virtual const SideLoads* next(std::span<const Sequence> sequences, const BatchShape& batch) = 0;
  // A step with prompts does all there is: decodes in it go on by a token.
  virtual void pass(std::span<const Sequence> decodes) = 0;
  virtual void forget(std::int32_t request) = 0;
};

}  // namespace weir
