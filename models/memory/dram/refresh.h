#pragma once
// All-bank refresh, the ranks in turn: every tREFI / ranks one rank is due, its queues are held, its open
// banks precharged one command a cycle as their timing allows, then the rank is refreshed. Used by the
// controller alone, which issues what this asks for.
#include <deque>

#include "models/memory/dram/bank_queues.h"

namespace weir {

class Refresh {
 public:
  Refresh(const MemorySpec& memory, const CommandTiming& timing, BankQueues& banks, bool enabled);

  void advance(Cycles now);  // notes that a rank is due; call it at every cycle of next_due()
  // The command that a due refresh needs and may have at `now`. If it waits, next_time() says for how long.
  std::optional<NextCommand> choose(Cycles now);
  void issued(const NextCommand& command);
  // The refresh itself is another's to issue: a PIM's, which has rows open too. Precharges go on.
  void leave_to_pim(bool leave);
  Cycles next_time() const { return due_.empty() ? BankQueues::never : next_time_; }
  Cycles next_due() const { return next_due_; }

 private:
  const CommandTiming& timing_;
  BankQueues& banks_;
  int ranks_, banks_per_rank_, next_rank_ = 0;
  Cycles interval_, next_due_, next_time_ = 0;
  bool left_to_pim_ = false;
  std::deque<int> due_;  // ranks
};

}  // namespace weir
