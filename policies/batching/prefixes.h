#pragma once
// What requests that wait would find in the KV cache of what was computed before, by others or by themselves,
// as it is at this point of the batch that a policy puts together. Only BatchBuilder asks, but for what two
// requests have in common.
#include <cstdint>

namespace weir {

struct SequenceView;

class Prefixes {
 public:
  struct Found {
    std::int64_t tokens = 0;  // of its beginning
    std::int64_t held = 0;    // blocks of these that somebody holds, so that they cost no free one
    bool comes = false;       // some of them come from another memory first, once it is admitted
  };

  virtual ~Prefixes() = default;
  // A request whose KV cache lies elsewhere need not fetch what is found.
  // When so many blocks of its pool have gone to this batch, found ones included.
  virtual Found find(const SequenceView& waiting, std::int64_t gone) = 0;
  // It is admitted and holds what it was last found to have; whoever comes later may share that.
  virtual void admit(const SequenceView& waiting) = 0;
  // Tokens that both begin with, as far as these are known.
  virtual std::int64_t begin_alike(const SequenceView& one, const SequenceView& other) const = 0;
  // A running one gives way. Returns the blocks that nobody holds then.
  virtual std::int64_t give_up(const SequenceView& running) = 0;
};

}  // namespace weir
