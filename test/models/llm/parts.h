#pragma once
// The parts of a stage by name, for tests that build or look at some of them.
#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "models/llm/operator_graph.h"

namespace weir {

// Empty where the stage has none.
inline const OperatorGraph& part(const StageGraph& stage, std::string_view name) {
  static const OperatorGraph none;
  const auto found = std::ranges::find(stage.parts, name, &Part::name);
  return found == stage.parts.end() ? none : found->operators;
}

// Added at the end where the stage has none yet.
inline OperatorGraph& part(StageGraph& stage, std::string_view name) {
  const auto found = std::ranges::find(stage.parts, name, &Part::name);
  if (found != stage.parts.end()) return found->operators;
  return stage.parts.emplace_back(Part{std::string(name), {}}).operators;
}

// A stage of these; `block` so many times.
inline StageGraph stage_of(OperatorGraph prologue, OperatorGraph block, OperatorGraph epilogue,
                           std::int64_t layers) {
  StageGraph stage;
  if (boost::num_vertices(prologue) > 0) stage.parts.push_back({"prologue", std::move(prologue)});
  if (boost::num_vertices(block) > 0) stage.parts.push_back({"block", std::move(block), layers});
  if (boost::num_vertices(epilogue) > 0) stage.parts.push_back({"epilogue", std::move(epilogue)});
  return stage;
}

inline std::vector<const OperatorGraph*> graphs_of(const StageGraph& stage) {
  std::vector<const OperatorGraph*> all;
  for (const Part& part : stage.parts) all.push_back(&part.operators);
  return all;
}

// How often its block runs; it has one.
inline std::int64_t layers_of(const StageGraph& stage) {
  return part_named(stage, "block").times;
}
inline void set_layers(StageGraph& stage, std::int64_t layers) {
  std::ranges::find(stage.parts, "block", &Part::name)->times = layers;
}

}  // namespace weir
