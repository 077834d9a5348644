#pragma once
// The controller of one channel (channel.h has its policy), cycle by cycle as far as anything happens. A PIM
// on the channel has priority: it says up to when the controller may play by itself, then issues a command of
// its own, so that there is one command bus, one table of constraints and one refresh.
#include <deque>

#include "models/memory/address_mapping.h"
#include "models/memory/dram/channel.h"
#include "models/memory/dram/refresh.h"
#include "models/memory/dram/transaction_queues.h"

namespace weir {

class ChannelController {
 public:
  // `memory` and `requests` must outlive it.
  ChannelController(const MemorySpec& memory, const std::vector<TimingConstraint>& constraints,
                    std::span<const MemoryRequest> requests, const ChannelOptions& options);

  bool finished() const { return unfinished_ == 0; }
  void play();  // to the last request
  ChannelRun take_run();

  // For a PIM. It starts with give_to_pim(), `blocked` where normal accesses wait until it is done.
  void give_to_pim(bool blocked);
  void take_back();
  // Until the first command before `when`, true if there was one: what the PIM waits for may have moved.
  bool play_until(Cycles when);
  void issue(const NextCommand& command, Cycles now);  // the PIM's; all cycles before are played
  void hold_bank(int bank, bool held, Cycles now);     // for the PIM's use of its normal row
  void result_leaves(Cycles as_if_read) { results_.push_back(as_if_read); }  // ascending; takes the data bus
  const CommandTiming& timing() const { return timing_; }
  std::int64_t open_row(int bank) const { return banks_.open_row(bank); }  // -1: none
  bool rank_closed(int rank) const { return open_banks_[static_cast<std::size_t>(rank)] == 0; }

 private:
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  bool cycle(bool bus_free);  // now_, then on to the next one; true if it issued a command
  bool can_accept(Cycles at) const {
    return offered_ < requests_.size() && requests_[offered_].arrival <= at &&
           !transactions_.full(requests_[offered_].is_write);
  }
  QueuedAccess located(std::size_t request) const;
  void accept();
  void share_data(std::uint32_t waiting, std::uint32_t request);
  void finish(std::uint32_t request, Cycles data_end);
  void keep_data_bus_for_results();
  bool issue_one(bool second);
  void note_rows(const NextCommand& next, Cycles now);
  void record(const NextCommand& next);
  Cycles next_time(Cycles now) const;

  const MemorySpec& memory_;
  std::span<const MemoryRequest> requests_;
  std::vector<IssuedCommand>* log_;
  AddressMapping mapping_;
  CommandTiming timing_;
  BankQueues banks_;
  TransactionQueues transactions_;
  Refresh refresh_;

  Cycles now_ = 1;  // the first command is in cycle 2, as DRAMsim3's
  std::size_t offered_ = 0;
  bool blocked_ = false;
  bool settled_ = true;  // no transaction can move until one is accepted or a bank's queue shrinks
  DramCommand first_ = DramCommand::refresh;  // of this cycle
  std::vector<int> open_banks_;               // by rank
  std::vector<Cycles> active_since_;
  std::vector<std::uint32_t> sharing_;  // by request: the next one that shares its data
  std::deque<Cycles> results_;          // of a PIM, still to come
  std::size_t unfinished_;
  ChannelRun run_;
};

}  // namespace weir
