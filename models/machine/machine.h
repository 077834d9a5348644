#pragma once
// A machine is to its kernels: units, which work by themselves and at the same time, memories, in which
// weights, KV caches and prefetched lines lie, and resources, the bandwidths of memories and links, which
// operators draw from. A device names them (devices/device.h), policies place operators on units by what
// these run, and the step timeline shares resources among all that draws from one.
#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/machine/kernel.h"

namespace weir {

// A place for bytes: a device's own memory, its cache, its share of its host's DIMMs.
struct Memory {
  std::string name;          // in messages
  Bytes capacity;            // usable, of all members
  BytesPerSecond bandwidth;  // of all members
  // Operators reach this together, if less; any memory but its own the device fills with so much.
  std::optional<BytesPerSecond> sustained = {};
  int members = 1;             // alike; what a request keeps of a layer lies in one (PIM channels, ranksets)
  bool evenly_filled = false;  // each member holds an equal share of everything (an assumption)
  // Prefetches: a unit that runs these fills it. KV caches (and, it may be, weights), or weights alone: they
  // live here, and not in the device's own memory.
  enum class KeptFor { anything, prefetches, kv_caches, weights } kept_for = KeptFor::anything;
  bool of_host = false;                       // behind the link to the host
  std::int64_t page_elements = 0, banks = 0;  // of a member that computes in its banks

  bool operator==(const Memory&) const = default;
  BytesPerSecond reached() const { return sustained.value_or(bandwidth); }
};

// A link of the cluster that a resource is, or its host's memory: what operators draw from it and what others
// send over it share it.
enum class ClusterLink { none, to_host, from_host, host_memory };

struct Resource {
  std::string name;
  BytesPerSecond bandwidth;  // of all that draws from it together
  ClusterLink link = ClusterLink::none;
};

// Indices of the two that every machine has first; the bandwidth of the second is the interconnect's. Others,
// as the link to a host, are known to the device that adds them. The first memory of a device is its own,
// too.
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
  std::string name;               // in results and messages
  std::vector<KernelKind> kinds;  // that it runs
  std::vector<Port> ports = {Port{}};
  int members = 1;  // alike, side by side, each with its own share of an operator (PIM channels)
  // They share what lies in the one channel of a memory; else each has a channel of its own.
  bool share_channel = false;
  // > 0: so many small machines, of which an operator takes some, and not its members (Device::pool_share).
  double amount = 0;

  bool runs(KernelKind kind) const { return lists(kind) || (is_custom(kind) && lists(KernelKind::custom)); }

 private:
  bool lists(KernelKind kind) const { return std::ranges::find(kinds, kind) != kinds.end(); }
};

// Index of the first one that runs it; -1: none does.
int unit_running(std::span<const Unit> units, KernelKind kind);
// Their names, for messages.
std::string unit_names(std::span<const Unit> units);

// Collectives, over the machine's link to others of its kind.
Unit link_unit();

}  // namespace weir
