#include "models/memory/dram/channel.h"

#include "models/memory/address_mapping.h"
#include "models/memory/dram/refresh.h"
#include "models/memory/dram/transaction_queues.h"

namespace weir {
namespace {

bool is_column(DramCommand command) {
  return command == DramCommand::read || command == DramCommand::write;
}

class Channel {
 public:
  Channel(const MemorySpec& memory, std::span<const MemoryRequest> requests, const ChannelOptions& options)
      : memory_(memory),
        requests_(requests),
        log_(options.log),
        mapping_(memory),
        timing_(memory.organisation, timing_constraints(memory)),
        banks_(memory, timing_),
        transactions_(memory.controller, banks_),
        refresh_(memory, timing_, banks_, options.refresh),
        open_banks_(static_cast<std::size_t>(memory.organisation.ranks)),
        active_since_(open_banks_.size()),
        sharing_(requests.size(), none),
        unfinished_(requests.size()) {
    run_.requests.resize(requests.size());
    run_.rank_active.resize(open_banks_.size());
  }

  ChannelRun play() {
    while (unfinished_ > 0) {
      accept();
      refresh_.advance(now_);
      if (issue_one(false) && memory_.controller.two_commands) issue_one(true);
      if (!settled_) settled_ = !transactions_.move(offered_ < requests_.size());
      now_ = next_time();
    }
    for (std::size_t rank = 0; rank < open_banks_.size(); ++rank)
      if (open_banks_[rank] > 0) run_.rank_active[rank] += run_.last_data_end - active_since_[rank];
    return std::move(run_);
  }

 private:
  bool can_accept(Cycles at) const {
    return offered_ < requests_.size() && requests_[offered_].arrival <= at &&
           !transactions_.full(requests_[offered_].is_write);
  }

  QueuedAccess located(std::size_t request) const {
    const MemoryRequest& r = requests_[request];
    const DramLocation at = mapping_.locate(r.address);
    const DramOrganisation& o = memory_.organisation;
    const int bank = (at.rank * o.bank_groups + at.bank_group) * o.banks_per_group + at.bank;
    return {r.address / static_cast<std::uint64_t>(o.access_bytes), static_cast<std::uint32_t>(request),
            static_cast<std::int32_t>(at.row), static_cast<std::int16_t>(bank), r.is_write};
  }

  void accept() {
    if (!can_accept(now_)) return;
    if (offered_ == 0) run_.first_accept = now_;
    const QueuedAccess access = located(offered_);
    ServedRequest& served = run_.requests[offered_];
    served.accept = now_;
    ++offered_;
    settled_ = false;
    if (const QueuedAccess* write = transactions_.find(true, access)) {
      ++run_.merged;
      if (access.is_write)
        share_data(write->request, access.request);
      else
        finish(access.request, now_ + 1);
    } else if (const QueuedAccess* read = access.is_write ? nullptr : transactions_.find(false, access)) {
      ++run_.merged;
      share_data(read->request, access.request);
    } else {
      transactions_.push(access);
    }
  }

  void share_data(std::uint32_t waiting, std::uint32_t request) {
    sharing_[request] = sharing_[waiting];
    sharing_[waiting] = request;
  }

  void finish(std::uint32_t request, Cycles data_end) {
    ServedRequest& served = run_.requests[request];
    served.data_end = data_end;
    if (!requests_[request].is_write) served.complete = data_end;
    run_.last_data_end = std::max(run_.last_data_end, data_end);
    --unfinished_;
  }

  // True if there was one. `second` of a cycle: a column command beside a row command, or the reverse.
  bool issue_one(bool second) {
    std::optional<NextCommand> next;
    if (!second) next = refresh_.choose(now_);
    const bool refreshing = next.has_value();
    if (!refreshing) next = banks_.choose(now_);
    if (!next || (second && is_column(next->command) == is_column(first_))) return false;
    first_ = next->command;
    timing_.issue(next->command, next->bank, now_);
    record(*next);
    banks_.issued(*next);
    if (refreshing) refresh_.issued(*next);
    return true;
  }

  void record(const NextCommand& next) {
    ++run_.commands[static_cast<std::size_t>(next.command)];
    if (log_) log_->push_back({now_, next.command, next.bank, next.row});
    const auto rank = static_cast<std::size_t>(next.bank / memory_.organisation.banks_per_rank());
    if (next.command == DramCommand::activate && open_banks_[rank]++ == 0) active_since_[rank] = now_;
    if (next.command == DramCommand::precharge && --open_banks_[rank] == 0)
      run_.rank_active[rank] += now_ - active_since_[rank];
    if (!is_column(next.command)) return;
    const DramTimings& t = memory_.timings;
    const Cycles data_end = now_ + (next.command == DramCommand::read ? t.cl : t.cwl) + t.burst;
    if (banks_.hits(next.bank) > 0) ++run_.row_hits;
    settled_ = false;
    transactions_.issued(located(next.request));
    for (std::uint32_t r = next.request; r != none; r = sharing_[r]) finish(r, data_end);
  }

  Cycles next_time() const {
    if (!settled_ || can_accept(now_ + 1)) return now_ + 1;
    Cycles next = std::min({banks_.next_time(), refresh_.next_time(), refresh_.next_due()});
    if (offered_ < requests_.size() && requests_[offered_].arrival > now_)
      next = std::min(next, requests_[offered_].arrival);
    return std::max(next, now_ + 1);
  }

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
  bool settled_ = true;  // no transaction can move until one is accepted or a bank's queue shrinks
  DramCommand first_ = DramCommand::refresh;  // of this cycle
  std::vector<int> open_banks_;               // by rank
  std::vector<Cycles> active_since_;
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  std::vector<std::uint32_t> sharing_;  // by request: the next one that shares its data
  std::size_t unfinished_;
  ChannelRun run_;
};

}  // namespace

ChannelRun play(const MemorySpec& memory, std::span<const MemoryRequest> requests,
                const ChannelOptions& options) {
  return Channel(memory, requests, options).play();
}

}  // namespace weir
