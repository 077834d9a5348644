#pragma once
// Speculative decoding of a replica (its `speculative`): who drafts tokens, how many, and how many of them
// the model accepts. Plans and replicas ask; a scenario reads it once. Pure.
#include <string>

#include "models/llm/acceptance.h"
#include "models/llm/drafts.h"
#include "sim/core/catalog.h"

namespace weir {

struct Speculation {
  std::string kind;
  Drafting drafting;
  Acceptance acceptance;                     // of drafting.tokens drafts
  const AcceptancePreset* preset = nullptr;  // that it was taken from; null: it was given

  std::int64_t drafts() const { return drafting.tokens; }
};

const Catalog<Speculation>& speculations();

}  // namespace weir
