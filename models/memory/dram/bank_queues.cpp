#include "models/memory/dram/bank_queues.h"

namespace weir {

BankQueues::BankQueues(const MemorySpec& memory, const CommandTiming& timing)
    : timing_(timing),
      capacity_(memory.controller.bank_queue),
      row_hit_cap_(memory.controller.row_hit_cap),
      banks_per_rank_(memory.organisation.banks_per_rank()),
      closes_(memory.controller.page == PagePolicy::closed),
      in_order_(memory.controller.unified_queue) {
  const auto banks = static_cast<std::size_t>(memory.organisation.banks());
  banks_.resize(banks);
  entries_.resize(banks * static_cast<std::size_t>(capacity_));
  when_.assign(banks, never);
  held_.assign(banks, 0);
}

std::span<const QueuedAccess> BankQueues::waiting(int bank) const {
  return {&entries_[begin_of(bank)], static_cast<std::size_t>(at(bank).size)};
}

// A read of a waiting write's place never gets here (it has its data), so that the read came first.
bool BankQueues::behind_its_read(const QueuedAccess& access) const {
  if (!in_order_ || !access.is_write) return false;
  for (const QueuedAccess& other : waiting(access.bank))
    if (other.block == access.block && !other.is_write) return true;
  return false;
}

void BankQueues::recount(int bank) {
  Bank& b = banks_[static_cast<std::size_t>(bank)];
  b.read_hits = b.write_hits = 0;
  for (const QueuedAccess& access : waiting(bank))
    if (access.row == b.open_row && !behind_its_read(access))
      ++(access.is_write ? b.write_hits : b.read_hits);
  b.front_misses = b.size > 0 && queue(bank)[0].row != b.open_row;
  const Cycles when = held_[static_cast<std::size_t>(bank)] > 0 ? never : earliest(bank);
  when_[static_cast<std::size_t>(bank)] = when;
  next_time_ = std::min(next_time_, when);
}

void BankQueues::push(const QueuedAccess& access) {
  queue(access.bank)[banks_[static_cast<std::size_t>(access.bank)].size++] = access;
  ++waiting_;
  recount(access.bank);
}

Cycles BankQueues::earliest(int bank) const {
  const Bank& b = at(bank);
  if (b.size == 0) return never;
  if (b.open_row < 0) return timing_.ready(DramCommand::activate, bank);
  Cycles when = never;
  if (b.read_hits > 0) when = timing_.ready(DramCommand::read, bank);
  if (b.write_hits > 0) when = std::min(when, timing_.ready(DramCommand::write, bank));
  if (may_precharge(b)) when = std::min(when, timing_.ready(DramCommand::precharge, bank));
  return when;
}

// Something of this bank is ready: the first in its queue. Only the front may close the row, so that no
// access is overtaken by one that undoes its activation.
std::optional<NextCommand> BankQueues::first_ready(int bank, Cycles now) {
  const Bank& b = at(bank);
  if (b.open_row < 0) return NextCommand{DramCommand::activate, bank, queue(bank)[0].row};
  if (may_precharge(b) && timing_.ready(DramCommand::precharge, bank) <= now)
    return NextCommand{DramCommand::precharge, bank, b.open_row};
  const bool reads = timing_.ready(DramCommand::read, bank) <= now,
             writes = timing_.ready(DramCommand::write, bank) <= now;
  for (const QueuedAccess& access : waiting(bank))
    if (access.row == b.open_row && (access.is_write ? writes : reads) && !behind_its_read(access))
      return NextCommand{access.is_write ? DramCommand::write : DramCommand::read, bank, b.open_row,
                         access.request};
  return {};
}

std::optional<NextCommand> BankQueues::choose(Cycles now) {
  if (now < next_time_) return {};
  const int banks = static_cast<int>(when_.size());
  next_time_ = never;
  for (int i = 0, bank = last_; i < banks; ++i) {
    if (++bank == banks) bank = 0;
    Cycles& when = when_[static_cast<std::size_t>(bank)];
    if (when <= now) when = earliest(bank);  // others' commands may have moved it
    if (when <= now) {
      last_ = bank;
      next_time_ = now;  // what comes after it was not looked at
      return first_ready(bank, now);
    }
    next_time_ = std::min(next_time_, when);
  }
  return {};
}

void BankQueues::issued(const NextCommand& next) {
  Bank& b = banks_[static_cast<std::size_t>(next.bank)];
  if (next.command == DramCommand::activate) b.open_row = next.row;
  if (next.command == DramCommand::precharge) {
    b.open_row = -1;
    b.hits = 0;
  }
  if (next.command == DramCommand::read || next.command == DramCommand::write) {
    ++b.hits;
    QueuedAccess* access = queue(next.bank);
    while (access->request != next.request) ++access;
    std::copy(access + 1, queue(next.bank) + b.size, access);
    --b.size;
    --waiting_;
    if (closes_) {
      b.open_row = -1;
      b.hits = 0;
    }
  }
  recount(next.bank);
}

void BankQueues::hold_rank(int rank, bool held) {
  for (int bank = rank * banks_per_rank_; bank < (rank + 1) * banks_per_rank_; ++bank) hold_bank(bank, held);
}

void BankQueues::hold_bank(int bank, bool held) {
  held_[static_cast<std::size_t>(bank)] += held ? 1 : -1;
  recount(bank);
}

}  // namespace weir
