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

#include "sim/serving/kv/blocks/first_runs.h"
#include "sim/serving/kv/blocks/kv_blocks.h"

namespace weir {

class KvRuns final : public KvBlocks {
 public:
  // The queue of free blocks is kept only while one of them holds something: they are taken from its head,
  // and given to its tail.
  void take(std::int64_t blocks, std::int64_t free) override;
  void give(std::int64_t blocks) override;
  std::int64_t release(Holding& holding, std::int64_t others, std::int64_t free) override;
  std::int64_t find(std::span<const TextBlocks> text, std::int64_t taken, Look look,
                    std::vector<Piece>& pieces) override;
  std::int64_t hold(std::span<const Piece> pieces, std::int32_t own, std::int64_t asked,
                    Holding& holding) override;
  std::int64_t publish(std::span<const TextBlocks> text, Holding& holding) override;  // gives nothing back
  void begin_batch() override { ++batch_; }
  std::int64_t promise(std::span<const Piece> pieces) override;
  std::int64_t give_up(const Holding& holding) override;
  std::int64_t held(std::span<const Piece> pieces) const override;
  std::int64_t free_before(std::span<const Piece> pieces, std::int64_t free) override;

  std::int64_t end_of_text(std::int32_t text) const override;

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
  void publish(TextBlocks blocks, Holding& holding);
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
  std::uint32_t batch_ = 1;
  std::uint64_t walk_ = 1;
};

}  // namespace weir
