#include "models/memory/dimm_pim/rank_play.h"

#include <algorithm>
#include <stdexcept>

#include "models/memory/dimm_pim/rank_timing.h"
#include "models/memory/dram/command_timing.h"

namespace weir {
namespace {

class RankPlay {
 public:
  RankPlay(const MemorySpec& memory, const DimmPimOptions& options, std::int64_t head_dim,
           std::int64_t tokens, std::vector<RankCommand>* log)
      : t_(memory.timings),
        fused_(options.fused),
        refreshes_(options.refresh),
        most_owed_(options.postponed_refreshes),
        pipe_(head_pipeline(memory, options, head_dim)),
        chunks_(pipe_.chunks(tokens)),
        column_(pipe_.score.banks / pipe_.score.columns),
        burst_(std::max(t_.burst, t_.ccd_s)),
        timing_(one_rank(memory).organisation, dimm_pim_constraints(memory, options.activation)),
        log_(log) {
    const DramOrganisation& o = memory.organisation;  // activations go round the groups: tRRD_S between them
    for (int in_group = 0; in_group < o.banks_per_group; ++in_group)
      for (int group = 0; group < o.bank_groups; ++group)
        banks_.push_back(group * o.banks_per_group + in_group);
  }

  void head(bool last) {
    const Cycles scored = score();
    if (run_.first_score == 0) run_.first_score = rows_closed();
    context(scored, last);
    refresh_all();
  }

  RankRun finish() {
    run_.banks_free = rows_closed();
    return run_;
  }

 private:
  void issue(DramCommand command, int bank, Cycles now) {
    timing_.issue(command, bank, now);
    ++run_.commands[static_cast<std::size_t>(command)];
    if (log_) log_->push_back({now, command, bank});
  }

  // The banks.

  void open_row() {
    for (const int bank : banks_) {
      now_ = std::max(now_, timing_.ready(DramCommand::activate, bank));
      issue(DramCommand::activate, bank, now_);
    }
    row_open_ = true;
  }
  void close_row() {
    for (const int bank : banks_) now_ = std::max(now_, timing_.ready(DramCommand::precharge, bank));
    for (const int bank : banks_) issue(DramCommand::precharge, bank, now_);
    row_open_ = false;
  }
  Cycles rows_closed() const {
    Cycles ready = 0;
    for (const int bank : banks_) ready = std::max(ready, timing_.ready(DramCommand::activate, bank));
    return ready;
  }
  void next_row() {
    if (row_open_) close_row();
    if (waited_) refresh_all();
    if (refreshes_ && owed(now_) >= most_owed_) refresh_once();
    open_row();
    waited_ = false;
  }

  // Returns when the banks can start the next.
  Cycles read_chunk(int columns, Cycles not_before) {
    make_room(not_before, columns * column_);
    Cycles now = now_;
    waited_ = waited_ || not_before > std::max(now_, timing_.ready(DramCommand::comp, 0));
    for (int i = 0; i < columns; ++i, not_before = 0) {
      now = std::max({now, not_before, timing_.ready(DramCommand::comp, 0)});
      issue(DramCommand::comp, 0, now);
    }
    now_ = now;
    return now + column_;
  }

  // Refresh.

  std::int64_t owed(Cycles now) const { return now / t_.refi - run_.count(DramCommand::refresh); }
  void refresh_once() {
    now_ = std::max(now_, timing_.ready(DramCommand::refresh, 0));
    issue(DramCommand::refresh, 0, now_);
  }
  void refresh_all() {
    while (refreshes_ && owed(std::max(now_, timing_.ready(DramCommand::refresh, 0))) > 0) refresh_once();
  }
  // With all rows closed and nothing to read before `until`.
  void refresh_idle(Cycles until) {
    while (refreshes_) {
      const Cycles due = (run_.count(DramCommand::refresh) + 1) * t_.refi;
      if (std::max({now_, due, timing_.ready(DramCommand::refresh, 0)}) + t_.rfc > until) return;
      now_ = std::max(now_, due);
      refresh_once();
    }
  }
  // Interrupts a row that would not be read and closed before too many are owed.
  void make_room(Cycles start, Cycles takes) {
    const auto end = [&] {
      return std::max({now_, start, timing_.ready(DramCommand::comp, 0)}) + takes + t_.rtp + t_.rp;
    };
    while (refreshes_ && owed(end()) > most_owed_) {
      const Cycles all_owed = (run_.count(DramCommand::refresh) + most_owed_) * t_.refi;
      now_ = std::max(now_, all_owed - takes);  // as late as possible: it may have to wait for scores
      close_row();
      now_ = std::max(now_, all_owed);
      refresh_once();
      open_row();
    }
  }

  // The wires between chips and buffer chip. Returns when they are free again.
  Cycles transfer(DramCommand command, Cycles takes, Cycles not_before) {
    Cycles now = not_before;
    for (Cycles left = takes; left > 0; left -= burst_) {
      now = std::max(now, timing_.ready(command, 0));
      issue(command, 0, now);
    }
    return now + burst_;
  }

  // The buffer chip: all chunks through the softmax unit, from its memory and back.
  Cycles whole_pass(Cycles start, Cycles chunk) const {
    return start + chunks_ * std::max(chunk, 2 * pipe_.buffer) + 2 * pipe_.buffer;
  }

  // Returns when the softmax unit has all chunks.
  Cycles score() {
    Cycles sums_out[2] = {0, 0}, softmax = 0;  // of the last chunk and the one before: two result buffers
    for (std::int64_t i = 0; i < chunks_; ++i) {
      if (i % pipe_.score.chunks_per_row == 0) next_row();
      const Cycles read = read_chunk(pipe_.score.columns, std::max(query_in_, sums_out[i % 2]));
      sums_out[i % 2] = transfer(DramCommand::result, pipe_.score.wires, read);
      const Cycles summed = sums_out[i % 2] + pipe_.result_way;
      softmax = fused_ ? std::max(softmax, summed) + pipe_.score.softmax : summed;
    }
    close_row();
    run_.softmax_busy += chunks_ * (pipe_.score.softmax + pipe_.context.softmax);
    return fused_ ? softmax : whole_pass(softmax, pipe_.score.softmax);
  }

  void context(Cycles scored, bool last) {
    const PhasePipeline& phase = pipe_.context;
    Cycles normalised = fused_ ? scored : whole_pass(scored, phase.softmax);
    Cycles used[2] = {0, 0}, read = 0;  // two shared buffers
    refresh_idle(normalised);
    for (int pass = 0; pass < phase.passes; ++pass) {
      for (std::int64_t i = 0; i < chunks_; ++i) {
        if (i % phase.chunks_per_row == 0) next_row();
        if (fused_ && pass == 0) normalised += phase.softmax;
        const Cycles there = normalised + (fused_ ? 0 : pipe_.buffer);
        const Cycles in =
            transfer(DramCommand::gwrite, phase.wires, std::max(there, used[i % 2] - pipe_.broadcast_way));
        used[i % 2] = read = read_chunk(phase.columns, in + pipe_.broadcast_way);
      }
      if (!last && pass + 1 == phase.passes)
        query_in_ = transfer(DramCommand::gwrite, pipe_.query, 0) + pipe_.broadcast_way;
      run_.last_result = transfer(DramCommand::result, pipe_.readout, read) + pipe_.result_way;
    }
    close_row();
  }

  const DramTimings& t_;
  bool fused_, refreshes_;
  int most_owed_;
  HeadPipeline pipe_;
  std::int64_t chunks_;
  Cycles column_, burst_;
  CommandTiming timing_;
  std::vector<RankCommand>* log_;
  std::vector<int> banks_;  // in the order of activation
  Cycles now_ = 0;          // of the last command to the banks
  Cycles query_in_ = 0;
  bool row_open_ = false;
  bool waited_ = false;  // the banks, in this row: something else is slower
  RankRun run_;
};

}  // namespace

RankRun play_rank(const MemorySpec& memory, const DimmPimOptions& options, std::int64_t heads,
                  std::int64_t head_dim, std::int64_t tokens, std::vector<RankCommand>* log) {
  if (heads < 1 || tokens < 1) throw std::invalid_argument("attention of no heads or tokens");
  if (tokens > dimm_pim_most_tokens)
    throw std::invalid_argument("attention over more tokens than the buffer chip has scores for");
  RankPlay play(memory, options, head_dim, tokens, log);
  for (std::int64_t i = 0; i < heads; ++i) play.head(i + 1 == heads);
  return play.finish();
}

}  // namespace weir
