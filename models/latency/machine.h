#pragma once
// What a machine is to its kernels: units, which work by themselves and at the same time, and resources,
// memories and links, which their operators draw bandwidth from. A device names both (devices/device.h),
// policies place operators on units by what these run, and the step timeline shares resources among all that
// draws from one.
#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "models/llm/operator_graph.h"

namespace weir {

struct Resource {
  std::string name;
  BytesPerSecond bandwidth;  // of all that draws from it together
};

// Indices of the two that every machine has first; the bandwidth of the second is the interconnect's. Others,
// as of the link to a host, are known to the device that adds them.
inline constexpr int own_memory = 0, interconnect = 1;
inline constexpr std::size_t most_resources = 6;

struct Port {  // from a unit to a resource
  int resource = own_memory;
  // Share of its bandwidth that others lose while the unit works, beside what its operator moves. 1: they
  // stop.
  double withheld = 0;
  double slowed = 0;  // the unit takes so much longer, as a share, beside a full stream of others
};

struct Unit {
  std::string name;                 // in results and messages
  std::vector<OperatorKind> kinds;  // that it runs
  std::vector<Port> ports = {Port{}};
  int members = 1;  // alike, side by side, each with its own share of an operator (PIM channels)

  bool runs(OperatorKind kind) const { return std::ranges::find(kinds, kind) != kinds.end(); }
};

// Index of the first one that runs it; -1: none does.
int unit_running(std::span<const Unit> units, OperatorKind kind);
// Their names, for messages.
std::string unit_names(std::span<const Unit> units);

// Collectives, over the machine's link to others of its kind.
Unit link_unit();

}  // namespace weir
