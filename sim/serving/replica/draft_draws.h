#pragma once
// Which drafts are accepted, drawn. A draw belongs to a request and to how many tokens it has by then, so
// that neither batching, routing, preemption nor fast-forwarding changes what is accepted. Pure.
#include <cstdint>
#include <memory>

#include "policies/speculation/speculation.h"
#include "sim/core/rng.h"

namespace weir {

class DraftDraws {
 public:
  DraftDraws(std::shared_ptr<const Speculation> speculation, std::uint64_t seed)
      : speculation_(std::move(speculation)), key_(random_stream(seed, "drafts")()) {}

  // The number accepted of the drafts that a request verifies in its next decode, having generated so many
  // tokens.
  std::int64_t accepted(std::int32_t request, std::int64_t generated) const {
    const auto name = static_cast<std::uint64_t>(request) << 40 ^ static_cast<std::uint64_t>(generated);
    return speculation_->acceptance.accepted(mixed(key_ + mixed(name)));
  }

 private:
  // The output function of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
  static std::uint64_t mixed(std::uint64_t z) {
    z += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }

  std::shared_ptr<const Speculation> speculation_;
  std::uint64_t key_;
};

}  // namespace weir
