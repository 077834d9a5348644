#pragma once
// Costs of a request's attention GEMV on its channel's PIM, by the tokens attended to: PimCosts in flat
// tables, so that a step of hundreds of requests takes about a microsecond. Filled as asked for, by any
// thread; one object a process for each (memory, options, fitted).
#include <array>
#include <atomic>
#include <memory>
#include <optional>

#include "models/memory/pim/mha_estimate.h"
#include "models/memory/pim/pim_costs.h"

namespace weir {

struct PimGemv {
  Seconds time;
  Joules energy;  // of its commands
  Bytes bus;      // its vectors written, its results read
};

// The `paper` assumptions have Algorithm 1 with ceilings in the place of the bank model.
struct FittedPim {
  double tile, gwrite;      // cycles
  double blocked_slowdown;  // with single row buffers
  bool operator==(const FittedPim&) const = default;
};

class PimGemvs {
 public:
  // A table is one operation's, for so many query heads of one size.
  class Table {
   public:
    Table(PimGemvs& gemvs, PimOp op, std::int64_t heads, std::int64_t head_dim)
        : gemvs_(gemvs), op_(op), heads_(heads), head_dim_(head_dim) {}
    ~Table();
    PimGemv at(std::int64_t tokens);  // at least 1; throws std::length_error beyond tens of millions

   private:
    struct Entry {
      std::atomic<double> seconds{-1}, joules{0}, bytes{0};  // seconds below 0: not yet known
    };
    static constexpr std::size_t in_block = 1024;
    using Block = std::array<Entry, in_block>;
    Block& block(std::size_t index);
    PimGemvs& gemvs_;
    PimOp op_;
    std::int64_t heads_, head_dim_;
    std::array<std::atomic<Block*>, 4096> blocks_{};
  };

  static std::shared_ptr<PimGemvs> shared(const MemorySpec& memory, const PimOptions& options,
                                          const std::optional<FittedPim>& fitted);
  PimGemvs(std::shared_ptr<PimCosts> costs, RowBuffers buffers, std::optional<FittedPim> fitted);

  const MemorySpec& memory() const { return costs_->memory(); }
  RowBuffers buffers() const { return buffers_; }
  // The share that a full stream of reads keeps of what it reaches alone, while the PIM works without a
  // pause.
  double reads_kept() { return costs_->beside_reads().reads_kept; }
  // So much longer a GEMV takes beside them, as a share. What is fitted has it in it.
  double slowed_by_reads() { return fitted_ ? 0 : costs_->beside_reads().pim_slowdown - 1; }
  std::int64_t page_elements() const;
  // Why its bank model could not play so many query heads of one size; "" if it can.
  std::string cannot_play(std::int64_t heads, std::int64_t head_dim) const;
  Table& table(PimOp op, std::int64_t heads, std::int64_t head_dim);

 private:
  PimGemv gemv(const PimRequest& request);
  double cycles(const PimRequest& request);

  std::shared_ptr<PimCosts> costs_;
  RowBuffers buffers_;
  std::optional<FittedPim> fitted_;
  std::uint32_t step_;  // tokens that cost the same
  std::mutex mutex_;
  std::map<std::tuple<PimOp, std::int64_t, std::int64_t>, Table> tables_;
};

}  // namespace weir
