#pragma once
// SimGrid as Weir means it, and how much it was asked for. One a process, which plays one plan.
#include <simgrid/forward.h>

#include <cstdint>
#include <memory>

namespace weir {

// With the network model that Weir means. Before any Cluster.
std::unique_ptr<simgrid::s4u::Engine> make_engine();

struct Activities {
  std::int64_t actors = 0, executions = 0, flows = 0;  // that were begun
};
Activities activities();
// Called where a flow begins: SimGrid 3.32 has no signal of it (Comm::on_start is declared alone).
void count_flow();

}  // namespace weir
