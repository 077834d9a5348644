#pragma once
// Closed forms of the collectives a sharded model needs, on the links of one node or between nodes. Pure; used by
// devices/ for the step timeline and by sim/engine to lay out the same algorithm as SimGrid flows.
#include <string>
#include <vector>

#include "sim/core/params.h"

namespace weir {

enum class Collective { all_reduce, all_gather, reduce_scatter, all_to_all, send_receive };
enum class LinkShape { switched, ring, full_mesh };

// Links between the devices of one group, with the library's measured behaviour folded in where it is known.
struct LinkSpec {
  std::string name;          // nvlink4_switch, or "custom"
  LinkShape shape = LinkShape::switched;
  BytesPerSecond bandwidth;  // per device and direction, as a collective sees it
  Seconds latency;           // one hop
};

class CollectiveModel {
 public:
  virtual ~CollectiveModel() = default;
  // `bytes` is the payload of one rank: what an all-reduce reduces, what an all-gather yields, what all-to-all sends.
  virtual Seconds time(Collective op, Bytes bytes, int devices) const = 0;
  // Sent by each rank over its links.
  virtual Bytes sent(Collective op, Bytes bytes, int devices) const = 0;
};

}  // namespace weir
