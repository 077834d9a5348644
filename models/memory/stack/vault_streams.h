#pragma once
// How many bytes a second one vault of a stack gives to who computes below it: streams and gathers of
// patches, played on its channel (dram/channel.h) with refresh, each shape once, and remembered; any thread
// may ask. Requests wait for the vault, never the vault for them, so that no answer is above its peak, and
// what data two patches have in common is read twice: reuse is the caller's to count.
#include <compare>
#include <map>
#include <memory>
#include <mutex>

#include "models/memory/memory_spec.h"

namespace weir {

// The patches that im2col takes from a map of height x width x channels (channels innermost, 4 B each) with a
// window of k x k: runs of k x channels x 4 bytes, k runs a patch, a row of the map (width x channels x 4
// bytes) from one to the next, and from a patch to the next one the window's stride x channels x 4 bytes.
struct PatchGather {
  std::int64_t run_bytes;     // contiguous
  std::int64_t stride_bytes;  // from the begin of a run to that of the next one of its patch
  std::int64_t runs;          // of a patch
  std::int64_t step_bytes;    // from a patch to the next
  auto operator<=>(const PatchGather&) const = default;
};

class VaultStreams {
 public:
  explicit VaultStreams(MemorySpec vault);
  // One object a process for each vault, so that nothing is played twice.
  static std::shared_ptr<const VaultStreams> shared(const MemorySpec& vault);

  const MemorySpec& vault() const { return vault_; }

  // Address after address, of one kind.
  BytesPerSecond reads() const { return mixed(0); }
  BytesPerSecond writes() const { return mixed(1); }
  // Reads in order and writes in order to another half of the vault, in turn: a copy at 0.5. Both count.
  // Throws std::invalid_argument for a share of the bytes that is not within 0 and 1.
  BytesPerSecond mixed(double write_share) const;

  // Bytes of the patches alone: of a block that a run needs in part the rest is moved in vain. Throws
  // std::invalid_argument for runs of nothing or that overlap, and for a patch that the vault cannot hold.
  BytesPerSecond gathers(const PatchGather& shape) const;

 private:
  BytesPerSecond play_mix(double write_share) const;
  BytesPerSecond play_gather(const PatchGather& shape) const;
  void check(const PatchGather& shape) const;

  MemorySpec vault_;
  mutable std::mutex mutex_;
  mutable std::map<double, BytesPerSecond> mixes_;
  mutable std::map<PatchGather, BytesPerSecond> gathers_;
};

}  // namespace weir
