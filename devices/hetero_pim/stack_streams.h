#pragma once
// A whole memory stack gives streams, and the patches of convolutions' gradients, to what computes on its
// logic die: each vault as VaultStreams plays it and all of them alike. Asked by the device for every kernel.
#include "models/memory/stack/vault_streams.h"
#include "models/nn/tensor_operation.h"

namespace weir {

class StackStreams {
 public:
  StackStreams(const MemorySpec& vault, int vaults);

  BytesPerSecond reads() const { return vaults_ * streams_->reads(); }
  // Tensors are read and written in order, in turn: such a mix reaches 0.84 to 0.95 of the peak,
  // where reads alone (stream_efficiency) reach 0.95. Five shares of writes are played, 30 ms each, and times
  // between them are on a line, within 3 % of what a play gives.
  Seconds time(Bytes read, Bytes written) const;
  // A matrix of patches is gathered from its map and written in order, one after the other: turns of
  // the bus are left out, and so is what patches have in common, which a core's cache may hold (an
  // assumption). Only a time beyond `hidden` counts: 0 where it cannot be more, because playing a shape for
  // the first time takes 20 to 45 ms.
  Seconds patches(const TensorOperation& operation, Seconds hidden) const;

 private:
  BytesPerSecond least(const PatchGather& shape) const;

  std::shared_ptr<const VaultStreams> streams_;
  double vaults_;
};

}  // namespace weir
