#include "models/memory/dram/transaction_queues.h"

namespace weir {

TransactionQueues::TransactionQueues(const DramController& controller, BankQueues& banks)
    : banks_(banks),
      read_capacity_(static_cast<std::size_t>(controller.read_queue)),
      write_capacity_(static_cast<std::size_t>(controller.write_queue)),
      drain_above_(static_cast<std::size_t>(controller.drain_above)),
      unified_(controller.unified_queue) {
  reads_.reserve(read_capacity_);
  writes_.reserve(write_capacity_);
}

const QueuedAccess* TransactionQueues::find(bool is_write, const QueuedAccess& like) const {
  if (counts_[is_write][like.block % buckets] == 0) return nullptr;
  for (const QueuedAccess& access : is_write && !unified_ ? writes_ : reads_)
    if (access.block == like.block && access.is_write == is_write) return &access;
  for (const QueuedAccess& access : banks_.waiting(like.bank))
    if (access.block == like.block && access.is_write == is_write) return &access;
  return nullptr;
}

void TransactionQueues::push(const QueuedAccess& access) {
  queue_of(access.is_write).push_back(access);
  ++count(access.is_write, access.block);
}

bool TransactionQueues::drain_due(bool more) const {
  if (writes_.size() == write_capacity_) return true;
  if (!banks_.empty()) return false;
  return writes_.size() > drain_above_ || (!more && reads_.empty() && !writes_.empty());
}

bool TransactionQueues::move_first(Queue& queue) {
  for (auto it = queue.begin(); it != queue.end(); ++it) {
    if (banks_.full(it->bank)) continue;
    if (it->is_write && !unified_ && find(false, *it)) {  // that read comes first, so reads move again
      draining_ = 0;
      return move_first(reads_);
    }
    if (it->is_write && !unified_) --draining_;
    banks_.push(*it);
    queue.erase(it);
    return true;
  }
  return false;
}

bool TransactionQueues::move(bool more) {
  if (unified_) return move_first(reads_);
  if (draining_ == 0 && drain_due(more)) draining_ = writes_.size();
  return move_first(draining_ > 0 ? writes_ : reads_);
}

}  // namespace weir
