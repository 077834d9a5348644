#pragma once
#include "models/llm/operator_graph.h"

namespace weir {

// Without what does nothing in steps of decodes alone: attention of prompts where decodes have their own, and
// where its results are stored. The engine plays such steps with it.
StageGraph without_prompts(StageGraph stage);

}  // namespace weir
