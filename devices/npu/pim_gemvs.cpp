#include "devices/npu/pim_gemvs.h"

#include <algorithm>
#include <stdexcept>

#include "sim/core/cache/made_once.h"

namespace weir {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

// Vectors are written to the bank that a GWRITE copies them from, a result of every bank comes with a tile.
double bus_bytes(const MemorySpec& memory, const PimRequest& r) {
  const std::int64_t element = memory.pim->element_bytes, banks = memory.organisation.banks();
  const std::int64_t page = memory.organisation.row_bytes / element;
  const std::int64_t scores = ceil_div(r.length, banks) * banks, head = ceil_div(r.head_dim, banks) * banks;
  const std::int64_t elements =
      r.op == PimOp::logit ? r.head_dim + ceil_div(r.head_dim, page) * scores  // q in, scores out
                           : r.length + ceil_div(r.length, page) * head;       // scores in, sums of pages out
  return static_cast<double>(r.heads * elements * element);
}

}  // namespace

std::shared_ptr<PimGemvs> PimGemvs::shared(const MemorySpec& memory, const PimOptions& options,
                                           const std::optional<FittedPim>& fitted) {
  static MadeOnce<std::pair<std::shared_ptr<PimCosts>, std::optional<FittedPim>>, std::shared_ptr<PimGemvs>>
      all;
  const std::shared_ptr<PimCosts> costs = PimCosts::shared(memory, options);
  return all.of({costs, fitted}, [&] { return std::make_shared<PimGemvs>(costs, options.buffers, fitted); });
}

PimGemvs::PimGemvs(std::shared_ptr<PimCosts> costs, RowBuffers buffers, std::optional<FittedPim> fitted)
    : costs_(std::move(costs)),
      buffers_(buffers),
      fitted_(fitted),
      step_(static_cast<std::uint32_t>(std::min<std::int64_t>(
          memory().pim->comp_bytes / memory().pim->element_bytes, memory().organisation.banks()))) {}

std::int64_t PimGemvs::page_elements() const {
  return memory().organisation.row_bytes / memory().pim->element_bytes;
}

std::string PimGemvs::cannot_play(std::int64_t heads, std::int64_t head_dim) const {
  return costs_->cannot_play({PimOp::both, page_elements(), heads, head_dim});
}

PimGemvs::Table& PimGemvs::table(PimOp op, std::int64_t heads, std::int64_t head_dim) {
  const std::lock_guard lock(mutex_);
  return tables_.try_emplace({op, heads, head_dim}, *this, op, heads, head_dim).first->second;
}

double PimGemvs::cycles(const PimRequest& r) {
  if (!fitted_) return costs_->sustained(r);
  const MhaEstimate estimate = estimate_mha({.embedding = r.heads * r.head_dim,
                                             .heads = r.heads,
                                             .page = page_elements(),
                                             .banks = memory().organisation.banks(),
                                             .tile = fitted_->tile,
                                             .gwrite = fitted_->gwrite},
                                            r.length, Division::ceilings);
  const double slowdown = buffers_ == RowBuffers::single ? fitted_->blocked_slowdown : 1;
  return slowdown * (r.op == PimOp::logit ? estimate.logit : estimate.attend);
}

PimGemv PimGemvs::gemv(const PimRequest& request) {
  return {cycles(request) * memory().clock, costs_->energy(request).total(),
          Bytes(bus_bytes(memory(), request))};
}

PimGemvs::Table::~Table() {
  for (auto& block : blocks_) delete block.load();
}

PimGemvs::Table::Block& PimGemvs::Table::block(std::size_t index) {
  Block* there = blocks_[index].load(std::memory_order_acquire);
  if (there) return *there;
  auto fresh = std::make_unique<Block>();
  if (blocks_[index].compare_exchange_strong(there, fresh.get())) return *fresh.release();
  return *there;  // another thread was first
}

// Two threads may work out one entry: both find the same.
PimGemv PimGemvs::Table::at(std::int64_t tokens) {
  if (tokens > (std::ssize(blocks_) * std::int64_t{in_block} - 1) * gemvs_.step_)
    throw std::length_error("a request too long for a PIM's table");
  const std::size_t steps = (static_cast<std::uint32_t>(tokens) + gemvs_.step_ - 1) / gemvs_.step_;
  Entry& entry = block(steps / in_block)[steps % in_block];
  if (const double seconds = entry.seconds.load(std::memory_order_acquire); seconds >= 0)
    return {Seconds(seconds), Joules(entry.joules.load(std::memory_order_relaxed)),
            Bytes(entry.bytes.load(std::memory_order_relaxed))};
  const auto length = static_cast<std::int64_t>(steps) * gemvs_.step_;
  const PimGemv made = gemvs_.gemv({op_, length, heads_, head_dim_});
  entry.joules.store(made.energy.value(), std::memory_order_relaxed);
  entry.bytes.store(made.bus.value(), std::memory_order_relaxed);
  entry.seconds.store(made.time.value(), std::memory_order_release);
  return made;
}

}  // namespace weir
