#pragma once
// Collectives of a group that spans nodes, by level: a reduce-scatter inside each node, an all-reduce of
// every device's part with its like in the other nodes, over a ring or a tree, and an all-gather inside.
// Between nodes a tree is for what is small, a ring for what is large; the shorter one goes
// (developer.nvidia.com/blog, "Massively scale your deep learning training with NCCL 2.4"). ESTIMATE: levels
// follow each other, as NCCL's NVLS tree has them; its other algorithms overlap them chunk by chunk.
#include "models/latency/collectives.h"

namespace weir {

// Ranks are dealt out to nodes one after another, each node's share at once.
struct NodeLevels {
  int nodes = 1, per_node = 1;
  // Between a device and its like in another node: its share of the rails, the latency of the way.
  LinkSpec network;
};

// `inside` and `library` as of make_collectives; a serving engine's own kernels stay inside a node, and NCCL
// does what crosses.
std::shared_ptr<const CollectiveModel> make_collectives_by_level(const LinkSpec& inside,
                                                                 const std::string& library,
                                                                 const NodeLevels& levels);

// The rounds that it is made of over links that nobody measured; messages of a round go at once.
std::vector<std::vector<Message>> rounds_by_level(Collective op, Bytes bytes, const LinkSpec& inside,
                                                  const NodeLevels& levels);

}  // namespace weir
