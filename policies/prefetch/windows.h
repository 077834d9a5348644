#pragma once
// Where a stage communicates, and what it reads from memory thereafter: the windows of PRESERVE's
// Algorithm 1.
#include "models/llm/operator_graph.h"

namespace weir {

struct CommunicationWindow {
  struct Place {
    std::size_t part;  // of the stage
    std::size_t vertex;
    bool next = false;  // in the layer, or the part, after the communication's
  };
  Place communication;  // the last chunk of one in chunks: beside the others its GEMM still reads memory
  // Matrices and attention in the order of a breadth-first search, up to the next communication on the way.
  std::vector<Place> reached;
  bool alone = true;  // all else of its part comes before it or after it
};

// In the order of the stage; after its last time the collectives of a part that repeats lead to the next
// part, which is a window of its own. Those that reach nothing are left out; so is the next part for one that
// its own starts with.
std::vector<CommunicationWindow> communication_windows(const StageGraph& stage);

}  // namespace weir
