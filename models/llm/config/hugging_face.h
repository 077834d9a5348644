#pragma once
// From a Hugging Face config.json to an Architecture: a row of families/*.json for its model_type, with the
// defaults that the transformers library gives to keys its files leave out. Called by catalog.cpp for the
// embedded models and for a user's own file.
#include "models/llm/architecture.h"

namespace weir {

// Keys that it neither reads nor knows as harmless are noted by name, or are problems where it is `strict`;
// problems go to `reading`.
Architecture read_architecture(const Json& config, Reading& reading, std::string name, bool strict = false);

}  // namespace weir
