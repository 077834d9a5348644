#pragma once
// Closed forms of the collectives a sharded model needs, on the links of one node or between nodes. Pure;
// used by devices/ for the step timeline and by sim/serving to lay out the same algorithm as SimGrid flows.
#include <memory>
#include <string>
#include <vector>

#include "models/machine/kernel.h"
#include "sim/core/params.h"

namespace weir {

enum class LinkShape { switched, ring, full_mesh };

struct MeasuredLibrary;  // measured_collectives.h
struct ExchangeLibrary;  // expert_exchange.h

// Links between the devices of one group.
struct LinkSpec {
  std::string name = "none";  // nvlink4_switch, "custom", "network" (between nodes), "none"
  LinkShape shape = LinkShape::switched;
  BytesPerSecond bandwidth;   // per device and direction, as a collective sees it; 0: no links
  Seconds latency;            // one hop
  bool latency_once = false;  // of a whole collective, however many rounds it takes
  std::shared_ptr<const MeasuredLibrary> measured = {};  // null: nobody has
  std::shared_ptr<const ExchangeLibrary> exchange = {};  // of tokens between experts; null: nobody has
  // Links of a full mesh that make up the bandwidth: a group of n devices has n - 1 of them. 0: as many as
  // the group has peers, whatever its size.
  int links = 0;
  // Payload of an all-reduce that the switch itself adds up in a second, whatever the number of devices
  // (NVLink SHARP); 0: it cannot.
  BytesPerSecond in_network{0};
  Bytes buffers{0};  // that a library takes of each device's memory for a group over these links

  bool operator==(const LinkSpec&) const = default;
};

class CollectiveModel {
 public:
  virtual ~CollectiveModel() = default;
  // `bytes` is the payload of one rank: what an all-reduce reduces, what an all-gather yields, what a
  // reduce-scatter takes, what all-to-all and send send. Infinite over no links.
  virtual Seconds time(Collective op, Bytes bytes, int devices) const = 0;
  // Sent by each rank over its links.
  virtual Bytes sent(Collective op, Bytes bytes, int devices) const = 0;
};

// The named interconnects of a node; find_interconnect throws std::out_of_range on any other name.
std::vector<std::string> interconnect_names();
std::string interconnect_summary(const std::string& name);
LinkSpec find_interconnect(const std::string& name);
// The key "interconnect" of a node: a name, the path of a file like models/latency/interconnects/*.json, or
// numbers, over a base or by themselves. Another bandwidth, latency or shape is one that nobody measured.
LinkSpec read_interconnect(Params& node);

// `library` is how an engine does them: "nccl", or "vllm", "trtllm" or "sglang" (its own one-shot and
// two-shot all-reduce below a size, NCCL above; vLLM's where its own were not measured) as measured under
// CUDA graphs on that interconnect. On links nobody measured, and for "", it is the plain algorithm: a ring,
// or on a full mesh everyone to everyone at once. "tree", "one_shot" and "two_shot" name the other plain
// ones. Throws std::out_of_range on another library.
std::shared_ptr<const CollectiveModel> make_collectives(const LinkSpec& links, const std::string& library);

// The plain algorithm itself, message by message: those of a round go at once, and the next round starts when
// all have arrived. On idle links it takes what the closed form says.
struct Message {
  int from, to;  // ranks
  Bytes bytes;
};
std::vector<std::vector<Message>> plain_rounds(Collective op, Bytes bytes, int devices, LinkShape shape);

}  // namespace weir
