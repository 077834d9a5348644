#include "models/memory/dimm_pim/bus_stream.h"

#include <tuple>
#include <vector>

#include "models/memory/dram/energy.h"
#include "sim/core/cache/made_once.h"

namespace weir {
namespace {

ChannelRun play_bytes(const MemorySpec& memory, StreamKind kind, std::int64_t bytes, bool refresh) {
  const std::int64_t step = memory.organisation.access_bytes;
  std::vector<MemoryRequest> requests;
  for (std::int64_t at = 0; at < bytes; at += step)
    requests.push_back({0, static_cast<std::uint64_t>(at), kind == StreamKind::write});
  return play(memory, requests, {.refresh = refresh});
}

BusStream played_stream(const MemorySpec& memory, StreamKind kind, bool refresh) {
  // 4 MB meet a score of refreshes; the second half is free of the start.
  constexpr std::int64_t half = std::int64_t{4} << 20;
  const ChannelRun longer = play_bytes(memory, kind, 2 * half, refresh);
  const Cycles first = stream_cycles(memory, kind, half, refresh);
  const Bytes bytes(static_cast<double>(half));
  const Seconds second_half = static_cast<double>(longer.last_data_end - first) * memory.clock;
  const ChannelEnergy used = energy(memory, longer);
  return {
      .start = static_cast<double>(stream_cycles(memory, kind, memory.organisation.access_bytes, refresh)) *
               memory.clock,
      .rate = bytes / second_half,
      .energy = JoulesPerByte((used.activate + used.read + used.write).value() / (2 * bytes.value()))};
}

}  // namespace

Cycles stream_cycles(const MemorySpec& memory, StreamKind kind, std::int64_t bytes, bool refresh) {
  return play_bytes(memory, kind, bytes, refresh).last_data_end;
}

BusStream play_stream(const MemorySpec& memory, StreamKind kind, bool refresh) {
  static MadeOnce<std::tuple<StreamKind, bool, MemorySpec>, BusStream> all;
  return all.of({kind, refresh, memory}, [&] { return played_stream(memory, kind, refresh); });
}

}  // namespace weir
