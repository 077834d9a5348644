#pragma once
// The banks of a channel: which row each has open and which accesses wait for it, first ready first served
// within a bank and round robin over banks. Used by the channel alone; timing is asked, never kept.
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "models/memory/dram/command_timing.h"

namespace weir {

struct QueuedAccess {
  std::uint64_t block;  // address over the bytes of an access
  std::uint32_t request;
  std::int32_t row;
  std::int16_t bank;
  bool is_write;
};

struct NextCommand {
  DramCommand command;
  int bank;
  std::int64_t row;           // to activate, or the open one
  std::uint32_t request = 0;  // of a column command
};

class BankQueues {
 public:
  static constexpr Cycles never = std::numeric_limits<Cycles>::max();

  BankQueues(const MemorySpec& memory, const CommandTiming& timing);

  bool full(int bank) const { return at(bank).size == capacity_; }
  bool empty() const { return waiting_ == 0; }
  std::span<const QueuedAccess> waiting(int bank) const;
  void push(const QueuedAccess& access);

  bool open(int bank) const { return at(bank).open_row >= 0; }
  std::int64_t open_row(int bank) const { return at(bank).open_row; }
  int hits(int bank) const { return at(bank).hits; }  // column commands since its activation

  // The first bank after the last one served, whose queue has a command that may be issued at `now`; the
  // caller issues it. If there is none, next_time() is the earliest at which there may be one.
  std::optional<NextCommand> choose(Cycles now);
  Cycles next_time() const { return next_time_; }

  void issued(const NextCommand& command);
  void hold_rank(int rank, bool held);  // its banks wait for a refresh
  void hold_bank(int bank, bool held);  // its accesses wait for a PIM's GWRITE; holds add up

 private:
  struct Bank {
    std::int64_t open_row = -1;
    int hits = 0, size = 0, read_hits = 0, write_hits = 0;  // *_hits: waiting for the open row
    bool front_misses = false;
  };
  const Bank& at(int bank) const { return banks_[static_cast<std::size_t>(bank)]; }
  std::size_t begin_of(int bank) const {
    return static_cast<std::size_t>(bank) * static_cast<std::size_t>(capacity_);
  }
  QueuedAccess* queue(int bank) { return &entries_[begin_of(bank)]; }
  bool may_precharge(const Bank& bank) const {
    return bank.front_misses && (bank.read_hits + bank.write_hits == 0 || bank.hits >= row_hit_cap_);
  }
  bool behind_its_read(const QueuedAccess& access) const;
  void recount(int bank);
  Cycles earliest(int bank) const;
  std::optional<NextCommand> first_ready(int bank, Cycles now);

  const CommandTiming& timing_;
  int capacity_, row_hit_cap_, banks_per_rank_;
  bool closes_;    // a column command closes its row
  bool in_order_;  // a write may be behind a read of its place
  int last_ = 0, waiting_ = 0;
  std::vector<Bank> banks_;
  std::vector<QueuedAccess> entries_;
  std::vector<Cycles> when_;  // a bank has nothing to issue before; never: empty or held
  std::vector<int> held_;     // by bank: so many hold it
  Cycles next_time_ = never;
};

}  // namespace weir
