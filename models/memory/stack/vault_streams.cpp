#include "models/memory/stack/vault_streams.h"

#include <algorithm>
#include <stdexcept>

#include "models/memory/dram/channel.h"
#include "sim/core/cache/made_once.h"

namespace weir {
namespace {

// 2 MB from an HMC's vault meet some 28 refreshes: the one that a play just meets or misses is 0.2 % of it.
constexpr std::int64_t blocks_played = std::int64_t{1} << 15;

// From cycle 0 on: the first row's time is too little to be taken out (one part in 5000). Requests that the
// queues served together, which takes places that come again in a tiny memory, count once.
BytesPerSecond rate(const MemorySpec& vault, const std::vector<MemoryRequest>& requests,
                    double bytes_a_request) {
  const ChannelRun run = play(vault, requests);
  return Bytes(bytes_a_request * static_cast<double>(run.accesses())) /
         (static_cast<double>(run.last_data_end) * vault.clock);
}

// Block after block of one patch that begins at `first`; one that two of its runs need is read once.
void add_patch(const PatchGather& shape, std::uint64_t first, std::uint64_t block, std::uint64_t capacity,
               std::vector<MemoryRequest>& requests) {
  std::uint64_t next = 0;  // block of the patch that was not read yet
  for (std::int64_t i = 0; i < shape.runs; ++i) {
    const std::uint64_t begin = first + static_cast<std::uint64_t>(i * shape.stride_bytes);
    const std::uint64_t end = begin + static_cast<std::uint64_t>(shape.run_bytes);
    for (next = std::max(next, begin / block); next * block < end; ++next)
      requests.push_back({0, next * block % capacity, false});
  }
}

}  // namespace

VaultStreams::VaultStreams(MemorySpec vault) : vault_(std::move(vault)) {}

std::shared_ptr<const VaultStreams> VaultStreams::shared(const MemorySpec& vault) {
  static MadeOnce<MemorySpec, std::shared_ptr<const VaultStreams>> all;
  return all.of(vault, [&] { return std::make_shared<const VaultStreams>(vault); });
}

BytesPerSecond VaultStreams::mixed(double write_share) const {
  if (!(write_share >= 0 && write_share <= 1))
    throw std::invalid_argument("a share of writes that is not within 0 and 1");
  const std::lock_guard lock(mutex_);
  const auto known = mixes_.find(write_share);
  if (known != mixes_.end()) return known->second;
  return mixes_.emplace(write_share, play_mix(write_share)).first->second;
}

BytesPerSecond VaultStreams::gathers(const PatchGather& shape) const {
  check(shape);
  const std::lock_guard lock(mutex_);
  const auto known = gathers_.find(shape);
  if (known != gathers_.end()) return known->second;
  return gathers_.emplace(shape, play_gather(shape)).first->second;
}

BytesPerSecond VaultStreams::play_mix(double write_share) const {
  const auto block = static_cast<std::uint64_t>(vault_.organisation.access_bytes);
  const auto half = static_cast<std::uint64_t>(vault_.organisation.capacity()) / 2;
  std::vector<MemoryRequest> requests;
  std::uint64_t reads = 0, writes = 0;
  while (reads + writes < blocks_played) {
    const double due = write_share * static_cast<double>(reads + writes + 1);
    const bool is_write = static_cast<double>(writes + 1) <= due;
    const std::uint64_t at = is_write ? half + writes++ * block % half : reads++ * block % half;
    requests.push_back({0, at, is_write});
  }
  return rate(vault_, requests, static_cast<double>(block));
}

// Each patch is of a map of its own, whose places are in the banks and columns of the one map's but in other
// rows: else the controller's queues would serve neighbours that overlap together, a little of the reuse
// that is the caller's to count.
BytesPerSecond VaultStreams::play_gather(const PatchGather& shape) const {
  const DramOrganisation& o = vault_.organisation;
  const auto capacity = static_cast<std::uint64_t>(o.capacity());
  const std::int64_t round = o.row_bytes * o.banks();
  const std::int64_t patch = (shape.runs - 1) * shape.stride_bytes + shape.run_bytes;
  const auto apart = static_cast<std::uint64_t>((patch + round - 1) / round * round + shape.step_bytes);
  std::vector<MemoryRequest> requests;
  double bytes = 0;
  for (std::uint64_t first = 0; requests.size() < blocks_played; first = (first + apart) % capacity) {
    add_patch(shape, first, static_cast<std::uint64_t>(o.access_bytes), capacity, requests);
    bytes += static_cast<double>(shape.runs * shape.run_bytes);
  }
  return rate(vault_, requests, bytes / static_cast<double>(requests.size()));
}

void VaultStreams::check(const PatchGather& shape) const {
  const std::int64_t capacity = vault_.organisation.capacity();
  if (shape.run_bytes < 1 || shape.runs < 1 || shape.step_bytes < 0)
    throw std::invalid_argument("a patch of nothing, or patches that go backwards");
  if (shape.runs > 1 && shape.stride_bytes < shape.run_bytes)
    throw std::invalid_argument("runs of a patch that overlap");
  if (shape.run_bytes > capacity || shape.step_bytes > capacity ||
      (shape.runs > 1 && (capacity - shape.run_bytes) / shape.stride_bytes < shape.runs - 1))
    throw std::invalid_argument("a patch beyond the vault's capacity");
}

}  // namespace weir
