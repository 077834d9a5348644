#include "models/memory/pim/pim_channel.h"

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "models/memory/dram/controller.h"
#include "models/memory/pim/pim_tile.h"

namespace weir {
namespace {

constexpr Cycles never = std::numeric_limits<Cycles>::max();

class PimChannel {
 public:
  PimChannel(const MemorySpec& memory, std::span<const MemoryRequest> normal, const PimOptions& options,
             std::vector<IssuedCommand>* normal_log)
      : t_(memory.timings),
        pim_(*memory.pim),
        at_(pim_organisation(memory)),
        artifact_(options.timing == PimTiming::artifact),
        dual_(options.buffers == RowBuffers::dual),
        log_(options.log),
        progress_(options.progress),
        memory_(pim_memory(memory)),
        controller_(memory_, shared_constraints(memory, options.timing, options.buffers), normal,
                    {options.refresh, normal_log}),
        timing_(controller_.timing()),
        pim_open_(static_cast<std::size_t>(at_.banks())),
        interval_(t_.refi / at_.ranks),
        next_due_(options.refresh ? interval_ : never) {
    controller_.give_to_pim(!dual_);
  }

  void play(std::span<const PimChunk> chunks) {
    constexpr std::int64_t between_reports = 1 << 16;
    std::int64_t all = 0, played = 0;
    for (const PimChunk& chunk : chunks) all += chunk.tiles;
    for (const PimChunk& chunk : chunks) {
      gwrite();
      for (std::int64_t i = 0; i < chunk.tiles; ++i) {
        tile(chunk.heads, chunk.comps);
        if (++played % between_reports == 0 && progress_)
          progress_(static_cast<double>(played) / static_cast<double>(all));
      }
    }
  }

  // Its rows closed, normal accesses have the channel to themselves.
  PimBeside finish_beside() {
    PimBeside run{finish(), {}};
    if (!controller_.finished()) close(open_banks(0, at_.banks()));
    controller_.take_back();
    controller_.play();
    run.normal = controller_.take_run();
    return run;
  }

  PimRun finish() {
    // The last result takes its way out: 2 cycles, CAS latency and burst. That is where NewtonSim's count
    // ends.
    run_.cycles = last_result_ + pim_.comp + t_.cl + t_.burst;
    return run_;
  }

 private:
  // Normal accesses have the cycles before the one that is ready() in the end: they may put it off.
  template <class Ready>
  Cycles wait_for(Ready ready) {
    Cycles when;
    do when = ready();
    while (controller_.play_until(when));
    return when;
  }
  void play_until(Cycles when) {
    now_ = wait_for([&] { return std::max(now_, when); });
  }

  // The first cycle at which the command bus and the table allow it; it is issued then.
  Cycles issue(DramCommand command, int bank, Cycles not_before = 0, int comps = 0) {
    const Cycles now = wait_for([&] { return std::max({now_, not_before, timing_.ready(command, bank)}); });
    issue_at(now, command, bank, comps);
    now_ = now + 1;
    return now;
  }
  void issue_at(Cycles now, DramCommand command, int bank, int comps = 0) {
    controller_.issue({command, bank, operands()}, now);
    ++run_.commands[static_cast<std::size_t>(command)];
    if (log_) log_->push_back({now, command, bank, comps});
  }

  // Is what takes `estimate` over before the next refresh? The artifact looks a cycle ahead.
  bool fits(Cycles now, Cycles estimate) const {
    return next_due_ == never || next_due_ - now - 1 > estimate;
  }

  std::vector<int> open_banks(int first, int count) const {
    std::vector<int> banks;
    for (int bank = first; bank < first + count; ++bank)
      if (pim_open_[static_cast<std::size_t>(bank)]) banks.push_back(bank);
    return banks;
  }
  Cycles results_done() const { return artifact_ ? 0 : compute_end_; }
  Cycles precharge_ready(int bank) const {
    const Cycles rows_read = artifact_ ? 0 : compute_end_ + t_.rtp;
    return std::max(rows_read, timing_.ready(DramCommand::pim_precharge, bank));
  }

  // PIM rows are closed one a cycle, the first that is ready (artifact), or all at once.
  void close(const std::vector<int>& banks) {
    if (banks.empty()) return;
    if (!artifact_) {
      const Cycles now = wait_for([&] {
        Cycles ready = now_;
        for (const int bank : banks) ready = std::max(ready, precharge_ready(bank));
        return ready;
      });
      for (const int bank : banks) issue_at(now, DramCommand::pim_precharge, bank);
      now_ = now + 1;
    } else {
      in_order(DramCommand::pim_precharge, banks);
    }
    for (const int bank : banks) pim_open_[static_cast<std::size_t>(bank)] = false;
  }

  // One command to each of these, one a cycle, always the first that is ready.
  void in_order(DramCommand command, std::vector<int> banks) {
    while (!banks.empty()) {
      const Cycles now = wait_for([&] {
        Cycles ready = never;
        for (const int bank : banks) ready = std::min(ready, timing_.ready(command, bank));
        return std::max(ready, now_);
      });
      const auto next = std::find_if(banks.begin(), banks.end(),
                                     [&](int bank) { return timing_.ready(command, bank) <= now; });
      issue(command, *next);
      banks.erase(next);
    }
  }

  // Bank 0 has the vectors' row: one row for all of them, none that an address names.
  std::int64_t operands() const { return at_.rows; }
  bool operands_open() const { return controller_.open_row(0) == operands(); }
  void close_operands() {
    if (operands_open()) issue(DramCommand::precharge, 0);
  }

  void refresh() {
    const int in_rank = at_.banks_per_rank(), first = next_rank_ * in_rank;
    play_until(next_due_);
    if (first == 0) close_operands();
    close(open_banks(first, in_rank));
    wait_for([&] { return controller_.rank_closed(next_rank_) ? now_ : never; });  // of normal rows
    issue(DramCommand::refresh, first);
    next_rank_ = (next_rank_ + 1) % at_.ranks;
    next_due_ += interval_;
  }

  // The operand's row, in bank 0, is copied to the global buffer.
  void gwrite() {
    play_until(results_done());
    while (!fits(now_, gwrite_estimate())) {
      refresh();
      play_until(results_done());
    }
    if (!dual_ && pim_open_[0]) close({0});
    controller_.hold_bank(0, true, now_ - 1);
    if (!operands_open()) {
      if (controller_.open_row(0) >= 0) issue(DramCommand::precharge, 0);
      issue(DramCommand::activate, 0);
    }
    const Cycles now = issue(DramCommand::gwrite, 0);
    controller_.hold_bank(0, false, now);
  }
  Cycles gwrite_estimate() const {
    if (operands_open()) return pim_.gwrite;
    const bool other_row = controller_.open_row(0) >= 0 || (!dual_ && pim_open_[0]);
    return (other_row ? t_.rtp : 0) + t_.rp + t_.rcd_rd + pim_.gwrite;
  }

  void tile(int heads, int comps) {
    admit(heads, comps);
    if (!dual_) close_operands();
    close(open_banks(0, at_.banks()));
    issue(DramCommand::header, 0);
    std::vector<int> groups;
    for (int bank = 0; bank < at_.banks(); bank += at_.banks_per_group) groups.push_back(bank);
    in_order(DramCommand::group_activate, groups);
    std::fill(pim_open_.begin(), pim_open_.end(), true);
    for (int head = 0; head < heads; ++head) dual_ ? gemv(comps) : comps_and_result(comps);
    run_.comps += std::int64_t{heads} * comps;
    run_.results += heads;
  }

  // The first precharge of a header commits it.
  void admit(int heads, int comps) {
    if (next_due_ != never && estimate(heads, comps, at_.banks()) + after_refresh(memory_) >= interval_)
      throw std::invalid_argument("a PIM tile takes longer than there is between two refreshes");
    for (;;) {
      const std::vector<int> open = open_banks(0, at_.banks());
      Cycles first = std::max(now_, timing_.ready(DramCommand::header, 0));
      if (!open.empty()) {
        Cycles ready = never;
        for (const int bank : open) ready = std::min(ready, precharge_ready(bank));
        first = std::max(now_, ready);
      }
      if (fits(first, estimate(heads, comps, static_cast<int>(open.size())))) return;
      refresh();
    }
  }

  Cycles estimate(int heads, int comps, int open) const {
    return tile_estimate(memory_, artifact_, heads, comps, open);
  }

  void gemv(int comps) {
    const Cycles now = issue(DramCommand::gemv, 0, head_end_, comps);
    head_end_ = compute_end_ = now + gemv_time(pim_, comps);
    last_result_ = artifact_ ? now : compute_end_ - pim_.comp;
    if (!artifact_) controller_.result_leaves(compute_end_);
  }

  void comps_and_result(int comps) {
    Cycles first = 0;
    for (int i = 0; i < comps; ++i) {
      const Cycles now = issue(DramCommand::comp, 0);
      if (i == 0) first = now;
    }
    // NewtonSim's single row buffers fill half of the pipeline only: a tile of 1 or 2 COMPs costs as one
    // of 3.
    const Cycles fill = pim_.comp * (artifact_ ? pim_.fill_comps / 2 : pim_.fill_comps);
    last_result_ = issue(DramCommand::result, 0, first + fill);
    compute_end_ = last_result_ + pim_.comp;
  }

  const DramTimings& t_;
  const PimSpec& pim_;
  DramOrganisation at_;
  bool artifact_, dual_;
  std::vector<PimCommand>* log_;
  const std::function<void(double)> progress_;
  MemorySpec memory_;
  ChannelController controller_;  // of the normal accesses
  const CommandTiming& timing_;   // of both
  std::vector<bool> pim_open_;    // by bank
  Cycles interval_, next_due_;
  int next_rank_ = 0;  // to refresh
  Cycles now_ = 1;     // the command bus is free; the first command is in cycle 1, as NewtonSim's
  Cycles head_end_ = 0, compute_end_ = 0, last_result_ = 0;
  PimRun run_;
};

}  // namespace

PimRun play_pim(const MemorySpec& memory, std::span<const PimChunk> chunks, const PimOptions& options) {
  if (!memory.pim) throw std::invalid_argument(memory.name + " has no PIM");
  PimChannel channel(memory, {}, options, nullptr);
  channel.play(chunks);
  return channel.finish();
}

PimBeside play_pim_beside(const MemorySpec& memory, std::span<const PimChunk> chunks,
                          std::span<const MemoryRequest> normal, const PimOptions& options,
                          std::vector<IssuedCommand>* normal_log) {
  if (!memory.pim) throw std::invalid_argument(memory.name + " has no PIM");
  PimChannel channel(memory, normal, options, normal_log);
  channel.play(chunks);
  return channel.finish_beside();
}

PimRun play_pim(const MemorySpec& memory, std::span<const PimRequest> requests, const PimOptions& options) {
  return play_pim(memory, gemv_chunks(memory, requests), options);
}

}  // namespace weir
