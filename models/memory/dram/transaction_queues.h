#pragma once
// Accesses that the channel accepted and its banks' queues have not: reads, and writes that wait to be
// drained together, unless both are in one queue. Used by the channel alone.
#include "models/memory/dram/bank_queues.h"

namespace weir {

class TransactionQueues {
 public:
  TransactionQueues(const DramController& controller, BankQueues& banks);

  bool full(bool is_write) const {
    return is_write && !unified_ ? writes_.size() == write_capacity_ : reads_.size() == read_capacity_;
  }
  // The access of this kind and block that waits here or at its bank, null if there is none.
  const QueuedAccess* find(bool is_write, const QueuedAccess& like) const;

  void push(const QueuedAccess& access);
  // Moves one access to its bank; false if none can until something changes. `more`: requests will follow.
  bool move(bool more);
  void issued(const QueuedAccess& access) { --count(access.is_write, access.block); }

 private:
  using Queue = std::vector<QueuedAccess>;
  static constexpr std::size_t buckets = 1024;
  std::uint32_t& count(bool is_write, std::uint64_t block) { return counts_[is_write][block % buckets]; }
  bool drain_due(bool more) const;
  Queue& queue_of(bool is_write) { return is_write && !unified_ ? writes_ : reads_; }
  bool move_first(Queue& queue);

  BankQueues& banks_;
  std::size_t read_capacity_, write_capacity_, drain_above_;
  bool unified_;
  Queue reads_, writes_;                                        // unified: all in reads_
  std::size_t draining_ = 0;                                    // so many writes are still to move
  std::array<std::array<std::uint32_t, buckets>, 2> counts_{};  // waiting anywhere, by block: mostly none
};

}  // namespace weir
