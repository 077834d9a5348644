#include "models/memory/dram/refresh.h"

namespace weir {

Refresh::Refresh(const MemorySpec& memory, const CommandTiming& timing, BankQueues& banks, bool enabled)
    : timing_(timing),
      banks_(banks),
      ranks_(memory.organisation.ranks),
      banks_per_rank_(memory.organisation.banks_per_rank()),
      interval_(memory.timings.refi / ranks_),
      next_due_(enabled ? interval_ : BankQueues::never) {}

void Refresh::advance(Cycles now) {
  if (now < next_due_) return;
  due_.push_back(next_rank_);
  next_rank_ = next_rank_ + 1 == ranks_ ? 0 : next_rank_ + 1;
  next_due_ += interval_;
  if (due_.size() == 1) {
    banks_.hold_rank(due_.front(), true);
    next_time_ = now;
  }
}

std::optional<NextCommand> Refresh::choose(Cycles now) {
  if (due_.empty() || now < next_time_) return {};
  const int first = due_.front() * banks_per_rank_;
  next_time_ = BankQueues::never;
  bool any_open = false;
  for (int bank = first; bank < first + banks_per_rank_; ++bank) {
    if (!banks_.open(bank)) continue;
    any_open = true;
    const Cycles ready = timing_.ready(DramCommand::precharge, bank);
    if (ready <= now) return NextCommand{DramCommand::precharge, bank, banks_.open_row(bank)};
    next_time_ = std::min(next_time_, ready);
  }
  if (any_open || left_to_pim_) return {};
  next_time_ = timing_.ready(DramCommand::refresh, first);
  if (next_time_ > now) return {};
  return NextCommand{DramCommand::refresh, first, -1};
}

void Refresh::issued(const NextCommand& command) {
  next_time_ = 0;  // look again
  if (command.command != DramCommand::refresh) return;
  banks_.hold_rank(due_.front(), false);
  due_.pop_front();
  if (!due_.empty()) banks_.hold_rank(due_.front(), true);
}

void Refresh::leave_to_pim(bool leave) {
  left_to_pim_ = leave;
  next_time_ = 0;
}

}  // namespace weir
