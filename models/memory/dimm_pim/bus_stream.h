#pragma once
// Long streams over a channel's bus, as the channel model plays them (dram/channel.h): what the CPU, the
// buffer chip of a rank, and the storing of K and V get.
#include "models/memory/memory_spec.h"

namespace weir {

enum class StreamKind { read, write };

// Requests are of one kind, address after address, over all ranks of the memory; with refresh.
struct BusStream {
  Seconds start;         // beyond the bytes' time: first row, latency
  BytesPerSecond rate;   // of a long one
  JoulesPerByte energy;  // its commands; no standby, no refresh
};
BusStream play_stream(const MemorySpec& memory, StreamKind kind, bool refresh);

// One such stream, to its last data.
Cycles stream_cycles(const MemorySpec& memory, StreamKind kind, std::int64_t bytes, bool refresh);

}  // namespace weir
