#pragma once
// The contents of one KV channel's blocks, by which they are found again: vLLM's blocks by their hashes
// (KvRuns), or SGLang's radix tree (RadixTree). Counts of free blocks are the caller's (KvCache).
#include <cstdint>
#include <span>
#include <vector>

namespace weir {

// Blocks [first, last) of some request's text, counted from its beginning, which that text owns: it has the
// last token of each first (workloads/contents.h).
struct TextBlocks {
  std::int32_t text;
  std::int64_t first, last;
};

class KvBlocks {
 public:
  struct Piece {  // of a run, or of the path to a node
    std::int32_t run;
    std::int64_t first, last;
  };
  // A request holds pieces from its first block on, each up to where the next begins. The rest
  // of its blocks nobody finds.
  using Holding = std::vector<Piece>;
  enum class Look { scheduler, engine };  // the engine looks without using what it sees

  virtual ~KvBlocks() = default;

  // No free block holds anything: then neither take() nor give() need be told.
  bool nothing_kept() const { return kept_ == 0; }
  // Some of the `free` ones: what they held is forgotten.
  virtual void take(std::int64_t blocks, std::int64_t free) = 0;
  virtual void give(std::int64_t blocks) = 0;  // they hold nothing
  // A request lets go of what it holds and of `others` behind that, which hold nothing; `free` were free
  // before. Returns how many have become so.
  virtual std::int64_t release(Holding& holding, std::int64_t others, std::int64_t free) = 0;

  // The blocks from the beginning of a text, given by owner, that are there; appends their pieces. Only those
  // that would be there once `taken` free ones were taken, less those promised.
  virtual std::int64_t find(std::span<const TextBlocks> text, std::int64_t taken, Look look,
                            std::vector<Piece>& pieces) = 0;
  // Adds a holder to the pieces, and them to what he holds: but blocks of text `own` from `asked` on, which
  // nobody else will ask for, may be forgotten. Returns how many were free.
  virtual std::int64_t hold(std::span<const Piece> pieces, std::int32_t own, std::int64_t asked,
                            Holding& holding) = 0;
  // The blocks of a text that a request holds behind those of `holding` are full, and found from now on.
  // Returns how many it gives back, as they were there already.
  virtual std::int64_t publish(std::span<const TextBlocks> text, Holding& holding) = 0;

  // While a batch is put together: what a request is promised, or would give back, changes what another one
  // finds to be held. begin_batch() forgets it.
  virtual void begin_batch() = 0;
  virtual std::int64_t promise(std::span<const Piece> pieces) = 0;     // returns how many were nobody's
  virtual std::int64_t give_up(const Holding& holding) = 0;            // returns how many would be nobody's
  virtual std::int64_t held(std::span<const Piece> pieces) const = 0;  // by somebody

  // Free blocks that may be taken before any of these is.
  virtual std::int64_t free_before(std::span<const Piece> pieces, std::int64_t free) = 0;

  // For whoever follows what is there: texts of which blocks have come or gone, some of them twice, until he
  // clears the list; and where the last block of a text that is there ends, of all its copies; 0: none is.
  // The blocks before it are there too: whoever holds a block holds what its text has before it.
  void follow() { follows_ = true; }
  std::vector<std::int32_t>& changed() { return changed_; }
  void note(std::int32_t text) {
    if (follows_ && (changed_.empty() || changed_.back() != text)) changed_.push_back(text);
  }
  virtual std::int64_t end_of_text(std::int32_t text) const = 0;

 protected:
  bool follows() const { return follows_; }
  std::int64_t kept_ = 0;  // free runs or blocks that hold something

 private:
  bool follows_ = false;
  std::vector<std::int32_t> changed_;
};

inline std::int64_t end_of(const KvBlocks::Holding& holding) {
  return holding.empty() ? 0 : holding.back().last;
}

}  // namespace weir
