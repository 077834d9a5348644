#include "models/llm/parts/without_prompts.h"

#include "models/llm/parts/rewrite.h"

namespace weir {
StageGraph without_prompts(StageGraph stage) {
  return rewrite(std::move(stage), [](const OperatorGraph& from, std::size_t v) {
    return is_of_prompts(from[v]) ? Replacement() : Replacement(from[v]);
  });
}

}  // namespace weir
