#include "models/memory/dram/controller.h"

namespace weir {
namespace {

bool is_column(DramCommand command) {
  return command == DramCommand::read || command == DramCommand::write;
}

}  // namespace

ChannelController::ChannelController(const MemorySpec& memory,
                                     const std::vector<TimingConstraint>& constraints,
                                     std::span<const MemoryRequest> requests, const ChannelOptions& options)
    : memory_(memory),
      requests_(requests),
      log_(options.log),
      mapping_(memory),
      timing_(memory.organisation, constraints),
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

void ChannelController::play() {
  while (!finished()) cycle(true);
}

ChannelRun ChannelController::take_run() {
  for (std::size_t rank = 0; rank < open_banks_.size(); ++rank)
    if (open_banks_[rank] > 0) run_.rank_active[rank] += run_.last_data_end - active_since_[rank];
  return std::move(run_);
}

void ChannelController::give_to_pim(bool blocked) {
  blocked_ = blocked;
  refresh_.leave_to_pim(true);
}

void ChannelController::take_back() {
  blocked_ = false;
  refresh_.leave_to_pim(false);
}

bool ChannelController::play_until(Cycles when) {
  while (now_ < when)
    if (cycle(!blocked_)) return true;
  return false;
}

void ChannelController::issue(const NextCommand& command, Cycles now) {
  if (now_ == now) cycle(false);
  timing_.issue(command.command, command.bank, now);
  if (command.command == DramCommand::activate || command.command == DramCommand::precharge) {
    note_rows(command, now);
    banks_.issued(command);
  } else if (command.command == DramCommand::refresh) {
    refresh_.issued(command);
  }
  now_ = next_time(now);
}

void ChannelController::hold_bank(int bank, bool held, Cycles now) {
  banks_.hold_bank(bank, held);
  now_ = std::min(now_, next_time(now));
}

bool ChannelController::cycle(bool bus_free) {
  accept();
  refresh_.advance(now_);
  keep_data_bus_for_results();
  const bool issued = bus_free && issue_one(false);
  if (issued && memory_.controller.two_commands) issue_one(true);
  if (!settled_) settled_ = !transactions_.move(offered_ < requests_.size());
  now_ = next_time(now_);
  return issued;
}

// A PIM's result is as a read of all ranks: no read or write may meet it on the data bus, nor may reads push
// it away.
void ChannelController::keep_data_bus_for_results() {
  const DramTimings& t = memory_.timings;
  const Cycles gap = t.burst + t.rtrs;
  while (!results_.empty() && now_ > results_.front() - gap) {
    timing_.delay(DramCommand::read, results_.front() + gap);
    timing_.delay(DramCommand::write, results_.front() + t.cl - t.cwl + gap);
    results_.pop_front();
  }
}

QueuedAccess ChannelController::located(std::size_t request) const {
  const MemoryRequest& r = requests_[request];
  const DramLocation at = mapping_.locate(r.address);
  const DramOrganisation& o = memory_.organisation;
  const int bank = (at.rank * o.bank_groups + at.bank_group) * o.banks_per_group + at.bank;
  return {r.address / static_cast<std::uint64_t>(o.access_bytes), static_cast<std::uint32_t>(request),
          static_cast<std::int32_t>(at.row), static_cast<std::int16_t>(bank), r.is_write};
}

void ChannelController::accept() {
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

void ChannelController::share_data(std::uint32_t waiting, std::uint32_t request) {
  sharing_[request] = sharing_[waiting];
  sharing_[waiting] = request;
}

void ChannelController::finish(std::uint32_t request, Cycles data_end) {
  ServedRequest& served = run_.requests[request];
  served.data_end = data_end;
  if (!requests_[request].is_write) served.complete = data_end;
  run_.last_data_end = std::max(run_.last_data_end, data_end);
  --unfinished_;
}

// True if there was one. `second` of a cycle: a column command beside a row command, or the reverse.
bool ChannelController::issue_one(bool second) {
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

void ChannelController::note_rows(const NextCommand& next, Cycles now) {
  const auto rank = static_cast<std::size_t>(next.bank / memory_.organisation.banks_per_rank());
  if (next.command == DramCommand::activate && open_banks_[rank]++ == 0) active_since_[rank] = now;
  const bool closes = next.command == DramCommand::precharge ||
                      (is_column(next.command) && memory_.controller.page == PagePolicy::closed);
  if (closes && --open_banks_[rank] == 0) run_.rank_active[rank] += now - active_since_[rank];
}

void ChannelController::record(const NextCommand& next) {
  ++run_.commands[static_cast<std::size_t>(next.command)];
  if (log_) log_->push_back({now_, next.command, next.bank, next.row});
  note_rows(next, now_);
  if (!is_column(next.command)) return;
  const DramTimings& t = memory_.timings;
  const Cycles data_end = now_ + (next.command == DramCommand::read ? t.cl : t.cwl) + t.burst;
  if (banks_.hits(next.bank) > 0) ++run_.row_hits;
  settled_ = false;
  transactions_.issued(located(next.request));
  for (std::uint32_t r = next.request; r != none; r = sharing_[r]) finish(r, data_end);
}

Cycles ChannelController::next_time(Cycles now) const {
  if (!settled_ || can_accept(now + 1)) return now + 1;
  Cycles next = std::min({banks_.next_time(), refresh_.next_time(), refresh_.next_due()});
  if (offered_ < requests_.size() && requests_[offered_].arrival > now)
    next = std::min(next, requests_[offered_].arrival);
  return std::max(next, now + 1);
}

}  // namespace weir
