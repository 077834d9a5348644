#include "models/memory/pim/beside.h"

#include <algorithm>

namespace weir {
namespace {

std::int64_t done_by(const ChannelRun& run, Cycles when) {
  return std::count_if(run.requests.begin(), run.requests.end(),
                       [&](const ServedRequest& r) { return r.data_end >= 0 && r.data_end <= when; });
}

}  // namespace

std::vector<MemoryRequest> sequential_reads(const MemorySpec& memory, std::int64_t count, Cycles interval) {
  std::vector<MemoryRequest> reads(static_cast<std::size_t>(count));
  const std::int64_t step = memory.organisation.access_bytes, places = memory.organisation.capacity() / step;
  for (std::int64_t i = 0; i < count; ++i)
    reads[static_cast<std::size_t>(i)] = {i * interval, static_cast<std::uint64_t>(i % places * step), false};
  return reads;
}

PimBesideReads play_pim_beside_reads(const MemorySpec& memory, std::span<const PimChunk> chunks,
                                     const PimOptions& options, Cycles interval) {
  PimOptions unlogged = options;
  unlogged.log = nullptr;
  PimBesideReads both;
  both.alone = play_pim(memory, chunks, unlogged).cycles;
  const Cycles fastest = std::max(interval, memory.timings.burst);
  // The stream must outlast the PIM, which it slows.
  for (std::int64_t count = both.alone * 5 / 4 / fastest + 64;; count *= 2) {
    const std::vector<MemoryRequest> reads = sequential_reads(memory, count, interval);
    const PimBeside run = play_pim_beside(memory, chunks, reads, unlogged);
    if (run.normal.last_data_end <= run.pim.cycles) continue;
    both.cycles = run.pim.cycles;
    both.reads = done_by(run.normal, both.cycles);
    both.reads_alone =
        static_cast<double>(done_by(play(pim_memory(memory), reads, {options.refresh}), both.cycles));
    return both;
  }
}

PimInterference play_interference(const MemorySpec& memory, const PimOptions& options) {
  const std::vector<PimChunk> once = gemv_chunks(memory, interference_request);
  const Cycles period = 32 * memory.timings.refi / memory.pim->ranks;
  const Cycles alone = play_pim(memory, once, {options.timing, options.buffers, options.refresh}).cycles;
  std::vector<PimChunk> stream;
  for (Cycles played = 0; played < period; played += alone)
    stream.insert(stream.end(), once.begin(), once.end());
  const PimBesideReads both = play_pim_beside_reads(memory, stream, options);
  return {both.reads_kept(), both.pim_slowdown()};
}

}  // namespace weir
