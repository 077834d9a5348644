#pragma once
// Cycles of PIM requests, each shape played once (pim_channel.h) and remembered: a system-level simulation
// asks for the same shapes again and again. Any thread may ask.
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <tuple>

#include "models/memory/pim/beside.h"

namespace weir {

class PimCosts {
 public:
  // Throws std::invalid_argument for a memory without PIM. options.log is not used.
  explicit PimCosts(MemorySpec memory, PimOptions options = {});
  // One object a process for each memory and options, so that nothing is played twice.
  static std::shared_ptr<PimCosts> shared(const MemorySpec& memory, const PimOptions& options = {});

  const MemorySpec& memory() const { return memory_; }

  std::string cannot_play(const PimRequest& request) const;  // pim_channel.h; ask before any other
  Cycles alone(const PimRequest& request);                   // on an idle channel, right after a refresh
  // Its share of a long stream of such requests: refreshes fall where they fall, and the last result's way
  // out is behind the next request.
  double sustained(const PimRequest& request);
  double sustained(std::span<const PimRequest> requests);  // of one channel, one after the other
  PimEnergy energy(const PimRequest& request);             // of its commands; without its share of refreshes
  const PimInterference& beside_reads();                   // with a full stream of them on the channel

 private:
  struct Cost {
    Cycles alone;
    double sustained;
    PimEnergy energy;
  };
  using Shape = std::tuple<PimOp, std::int64_t, std::int64_t, std::int64_t>;
  const Cost& cost(const PimRequest& request);
  Cost play(const PimRequest& request) const;

  MemorySpec memory_;
  PimOptions options_;
  std::mutex mutex_;
  std::map<Shape, Cost> costs_;
  std::optional<PimInterference> beside_reads_;
};

}  // namespace weir
