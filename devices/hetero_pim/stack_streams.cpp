#include "devices/hetero_pim/stack_streams.h"

#include <algorithm>

namespace weir {
namespace {

// A window that is wider than its map takes whole rows.
PatchGather gather_of(const TensorOperation::Patches& patches, DataType type) {
  const std::int64_t point = patches.channels * static_cast<std::int64_t>(bytes_per_element(type));
  return {.run_bytes = std::min(patches.width, patches.map_width) * point,
          .stride_bytes = patches.map_width * point,
          .runs = patches.height,
          .step_bytes = patches.stride * point};
}

// Else it is so large, or so little is known of it, that it counts as a stream.
bool can_be_played(const PatchGather& shape, std::int64_t capacity) {
  return shape.run_bytes > 0 && shape.runs > 0 && shape.step_bytes <= capacity &&
         shape.stride_bytes <= capacity / shape.runs;
}

// The first write costs more turns of the bus than the next ones.
constexpr double write_shares[] = {0, 0.1, 0.25, 0.5, 1};

}  // namespace

StackStreams::StackStreams(const MemorySpec& vault, int vaults)
    : streams_(VaultStreams::shared(vault)), vaults_(vaults) {}

Seconds StackStreams::time(Bytes read, Bytes written) const {
  const Bytes all = read + written;
  if (!(all > Bytes(0))) return Seconds(0);
  const double share = written / all;
  std::size_t above = 0;
  while (write_shares[above] < share) ++above;
  const Seconds time = all / (vaults_ * streams_->mixed(write_shares[above]));
  if (write_shares[above] == share) return time;
  const double below = write_shares[above - 1];
  const double part = (share - below) / (write_shares[above] - below);
  return part * time + (1 - part) * (all / (vaults_ * streams_->mixed(below)));
}

Seconds StackStreams::patches(const TensorOperation& operation, Seconds hidden) const {
  const Bytes bytes(operation.patches.elements * bytes_per_element(operation.type));
  if (!(bytes > Bytes(0))) return Seconds(0);
  const PatchGather shape = gather_of(operation.patches, operation.type);
  if (!can_be_played(shape, streams_->vault().organisation.capacity()))
    return bytes / reads() + bytes / (vaults_ * streams_->writes());
  const Seconds written = bytes / (vaults_ * streams_->writes());
  if (bytes / (vaults_ * least(shape)) + written <= hidden) return Seconds(0);
  return bytes / (vaults_ * streams_->gathers(shape)) + written;
}

// Each block waits for a whole row cycle of one bank, and a run lies over as many blocks as it can; half of
// that, so that refresh and queues change nothing.
BytesPerSecond StackStreams::least(const PatchGather& shape) const {
  const MemorySpec& vault = streams_->vault();
  const std::int64_t block = vault.organisation.access_bytes;
  const double blocks = static_cast<double>((shape.run_bytes + block - 2) / block + 1);
  const double cycles = blocks * static_cast<double>(vault.timings.ras + vault.timings.rp);
  return Bytes(0.5 * static_cast<double>(shape.run_bytes)) / (cycles * vault.clock);
}

}  // namespace weir
