#pragma once
// Layers whose weights come over the link to the host before they run. Policies that keep weights in the
// host's memory share it.
#include "models/llm/operator_graph.h"

namespace weir {

// The GEMMs of a part read these, each once.
Bytes weights_of(const OperatorGraph& operators);

inline bool is_layer(const Part& part) {
  return part.name == "block";
}

// Appends the part with a load in front of each of its times, on that unit: it waits for the load before, and
// for what ran before the part unless it comes ahead.
void append_fetched(StageGraph& stage, Part part, Bytes load, int link, bool ahead);

// So many bytes from the host's memory, whatever the batch.
Operator load_operator(const char* name, Bytes bytes, int link);

}  // namespace weir
