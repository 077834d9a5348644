#pragma once
// What the blocks of one KV channel hold, block for block as vLLM v1 has it (vllm/v1/core/block_pool.py and
// kv_cache_manager.py, commit 00024d3): a block that is full of a text's tokens is found again by whoever
// begins with the same tokens; one that nobody holds keeps what it has until it is taken; free ones are taken
// in the order in which they were given back, a request's last ones first; two that compute the same own a
// copy each, and the copy that was there first is found. Blocks that are neighbours in a text and have the
// same holders are one run, so that memory and time grow with texts, not with blocks.
//
// A text is named by its request and owns the blocks whose last token it has first (workloads/contents.h).
// Counts of free blocks are the caller's (KvCache).
#include <cstdint>
#include <span>
#include <vector>

#include "sim/serving/kv/first_runs.h"

namespace weir {

// Blocks [first, last) of some request's text, counted from its beginning, which that text owns.
struct TextBlocks {
  std::int32_t text;
  std::int64_t first, last;
};

class KvRuns {
 public:
  struct Piece {  // of a run
    std::int32_t run;
    std::int64_t first, last;
  };
  // What a request holds of them: pieces from its first block on, each up to where the next begins. The rest
  // of its blocks nobody will ask for.
  using Holding = std::vector<Piece>;

  bool empty() const { return first_copies_.empty(); }  // nothing is found
  // The queue of free blocks is kept only while one of them holds something.
  bool nothing_kept() const { return kept_ == 0; }
  // From its head: what they held is forgotten.
  void take(std::int64_t blocks);
  // To its tail: they hold nothing.
  void give(std::int64_t blocks);
  // A request lets go of what it holds and of `others` behind that, which hold nothing; `free` were free
  // before. Returns how many have become so.
  std::int64_t release(Holding& holding, std::int64_t others, std::int64_t free);

  // The blocks from the beginning of a text, given by owner, that are there; appends their pieces. Only those
  // that would be there once `taken` free ones were taken from the head, less those promised.
  std::int64_t find(std::span<const TextBlocks> text, std::int64_t taken, std::vector<Piece>& pieces);
  // Adds a holder to the pieces, and them to what he holds: but blocks of text `own` from `asked` on, which
  // nobody else will ask for, are forgotten. Returns how many were free.
  std::int64_t hold(std::span<const Piece> pieces, std::int32_t own, std::int64_t asked, Holding& holding);
  // Blocks that a request holds behind those of `holding` are full now, and found from now on.
  void publish(TextBlocks blocks, Holding& holding);

  // While a batch is put together: what a request is promised, or would give back, changes what another one
  // finds to be held. begin_batch() forgets it.
  void begin_batch() { ++batch_; }
  std::int64_t promise(std::span<const Piece> pieces);     // returns how many were nobody's
  std::int64_t give_up(const Holding& holding);            // returns how many would be nobody's
  std::int64_t held(std::span<const Piece> pieces) const;  // by somebody

  // Free blocks that are taken before the first of these.
  std::int64_t free_before(std::span<const Piece> pieces, std::int64_t free);

  // For whoever follows what is there: texts of which blocks have come or gone, some of them twice, until he
  // clears the list; and where the last block of a text that is there ends, of all its copies; 0: none is.
  // Those before it are there too: whoever holds a block holds what its text has before it.
  void follow() { follows_ = true; }
  std::vector<std::int32_t>& changed() { return changed_; }
  void note(std::int32_t text) {
    if (follows_ && (changed_.empty() || changed_.back() != text)) changed_.push_back(text);
  }
  std::int64_t end_of_text(std::int32_t text) const;

 private:
  static constexpr std::int32_t none = -1;
  struct alignas(64) Run {     // a line of memory
    std::int32_t text = none;  // none: they hold nothing, and last - first is their number
    std::int32_t holders = 0;  // 0: in the queue
    std::int64_t first = 0, last = 0;
    std::int32_t rest = none;                   // what was cut off it
    std::int32_t before = none, behind = none;  // in the queue
    std::int32_t later_copy = none;             // the next of its text, by when they were there
    std::int32_t promised = 0;                  // holders that the batch adds, or takes away
    std::uint32_t batch = 0;                    // in which that was said
    std::uint64_t walk = 0;                     // and in which it was looked at for the last time
    std::int64_t left = 0;                      // its end, in that walk
    std::int64_t size() const { return last - first; }
  };

  Run& at(std::int32_t run) { return runs_[static_cast<std::size_t>(run)]; }
  const Run& at(std::int32_t run) const { return runs_[static_cast<std::size_t>(run)]; }
  std::int32_t make(std::int32_t text, std::int64_t first, std::int64_t last);
  void append(std::int32_t run);
  void append_nothing(std::int64_t blocks);
  void unlink(std::int32_t run);
  void insert_before(std::int32_t run, std::int32_t behind);
  bool grows(const Piece& before, const TextBlocks& blocks) const;
  void forget(std::int32_t run);  // no longer in its text's list, nor anywhere else
  void cut(std::int32_t run, std::int64_t at_block);
  std::int64_t end_of(const Run& run) const { return run.walk == walk_ ? run.left : run.last; }
  void walk_over(std::int64_t taken);
  std::int32_t earliest(std::int32_t text, std::int64_t block, std::int64_t& until) const;
  std::int32_t holders(const Run& run) const {
    return run.holders + (run.batch == batch_ ? run.promised : 0);
  }
  void add_promise(Run& run, std::int32_t holders);
  template <class Visit>
  void each_run(const Piece& piece, Visit visit) const;
  template <class Visit>
  void each_whole(Piece piece, Visit visit);

  std::vector<Run> runs_;
  std::vector<std::int32_t> unused_;
  FirstRuns first_copies_;  // the earliest run of each text
  std::int32_t head_ = none, tail_ = none;
  std::int64_t kept_ = 0;  // runs in the queue that hold something
  std::uint32_t batch_ = 1;
  std::uint64_t walk_ = 1;
  bool follows_ = false;
  std::vector<std::int32_t> changed_;
};

}  // namespace weir
