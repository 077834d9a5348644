#include "sim/serving/kv/blocks/kv_runs.h"

#include <algorithm>
#include <utility>

namespace weir {

// The runs of a piece, of which some may have been cut off since.
template <class Visit>
void KvRuns::each_run(const Piece& piece, Visit visit) const {
  for (std::int32_t run = piece.run;;) {
    const std::int32_t rest = at(run).rest;
    const bool end = at(run).last >= piece.last;
    visit(run);
    if (end) return;
    run = rest;
  }
}

std::int32_t KvRuns::make(std::int32_t text, std::int64_t first, std::int64_t last) {
  auto run = static_cast<std::int32_t>(runs_.size());
  if (unused_.empty()) {
    runs_.emplace_back();
  } else {
    run = unused_.back();
    unused_.pop_back();
    at(run) = {};
  }
  at(run).text = text;
  at(run).first = first;
  at(run).last = last;
  return run;
}

void KvRuns::insert_before(std::int32_t run, std::int32_t behind) {
  const std::int32_t before = behind == none ? tail_ : at(behind).before;
  at(run).before = before;
  at(run).behind = behind;
  (before == none ? head_ : at(before).behind) = run;
  (behind == none ? tail_ : at(behind).before) = run;
}

void KvRuns::append(std::int32_t run) {
  insert_before(run, none);
  ++kept_;
}

void KvRuns::append_nothing(std::int64_t blocks) {
  if (blocks == 0) return;
  if (tail_ != none && at(tail_).text == none)
    at(tail_).last += blocks;
  else
    insert_before(make(none, 0, blocks), none);
}

void KvRuns::unlink(std::int32_t run) {
  const auto [before, behind] = std::pair(at(run).before, at(run).behind);
  (before == none ? head_ : at(before).behind) = behind;
  (behind == none ? tail_ : at(behind).before) = before;
  if (at(run).text != none && --kept_ > 0) return;
  if (kept_ > 0) return;
  for (std::int32_t i = head_; i != none; i = at(i).behind) unused_.push_back(i);
  head_ = tail_ = none;
}

void KvRuns::forget(std::int32_t run) {
  note(at(run).text);
  std::int32_t& first = first_copies_[at(run).text];
  std::int32_t* link = &first;
  while (*link != run) link = &at(*link).later_copy;
  *link = at(run).later_copy;
  if (first == none) first_copies_.erase(at(run).text);
  unused_.push_back(run);
}

// The rest stands before it in the queue: last ones are taken first.
void KvRuns::cut(std::int32_t run, std::int64_t at_block) {
  const std::int32_t rest = make(at(run).text, at_block, at(run).last);
  Run& from = at(run);
  Run& to = at(rest);
  to.holders = from.holders;
  to.rest = from.rest;
  to.later_copy = from.later_copy;
  to.promised = from.promised;
  to.batch = from.batch;
  to.walk = from.walk;
  to.left = std::max(from.left, at_block);
  from.left = std::min(from.left, at_block);
  from.last = at_block;
  from.rest = from.later_copy = rest;
  if (from.holders > 0) return;
  insert_before(rest, run);
  ++kept_;
}

// The runs that a piece is, or has become since it was found; cut so that they are no more than that.
template <class Visit>
void KvRuns::each_whole(Piece piece, Visit visit) {
  while (piece.first < piece.last) {
    while (at(piece.run).last <= piece.first) piece.run = at(piece.run).rest;
    if (at(piece.run).first < piece.first) {
      cut(piece.run, piece.first);
      piece.run = at(piece.run).rest;
    }
    if (piece.last < at(piece.run).last) cut(piece.run, piece.last);
    const auto [rest, end] = std::pair(at(piece.run).rest, at(piece.run).last);
    visit(piece.run);
    piece = {rest, end, piece.last};
  }
}

void KvRuns::take(std::int64_t blocks, std::int64_t) {
  while (blocks > 0 && kept_ > 0) {
    const std::int32_t run = head_;
    const std::int64_t n = std::min(blocks, at(run).size());
    at(run).last -= n;
    blocks -= n;
    if (at(run).size() > 0) return at(run).text == none ? void() : note(at(run).text);
    unlink(run);
    at(run).text != none ? forget(run) : unused_.push_back(run);
  }
}

void KvRuns::give(std::int64_t blocks) {
  if (kept_ > 0) append_nothing(blocks);
}

std::int64_t KvRuns::release(Holding& holding, std::int64_t others, std::int64_t free) {
  const std::int64_t before = free;
  if (kept_ > 0) append_nothing(others);
  free += others;
  std::vector<std::int32_t> runs;
  for (const Piece& piece : holding) each_run(piece, [&](std::int32_t run) { runs.push_back(run); });
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    if (--at(*run).holders > 0) continue;
    if (kept_ == 0) append_nothing(free);
    append(*run);
    free += at(*run).size();
  }
  holding.clear();
  return free - before;
}

// What is left of each free run when so many blocks are taken that are not promised.
void KvRuns::walk_over(std::int64_t taken) {
  ++walk_;
  for (std::int32_t i = head_; i != none && taken > 0; i = at(i).behind) {
    Run& run = at(i);
    if (holders(run) > 0) continue;
    const std::int64_t n = std::min(taken, run.size());
    taken -= n;
    run.walk = walk_;
    run.left = run.last - n;
  }
}

// The copy of a text's block that was there first; `until` where another one was.
std::int32_t KvRuns::earliest(std::int32_t text, std::int64_t block, std::int64_t& until) const {
  for (std::int32_t run = first_copies_.find(text); run != none; run = at(run).later_copy) {
    const Run& r = at(run);
    if (r.first <= block && block < end_of(r)) {
      until = std::min(until, end_of(r));
      return run;
    }
    if (r.first > block && r.first < end_of(r)) until = std::min(until, r.first);
  }
  return none;
}

std::int64_t KvRuns::find(std::span<const TextBlocks> text, std::int64_t taken, Look,
                          std::vector<Piece>& pieces) {
  if (first_copies_.empty()) return 0;
  walk_over(taken);
  std::int64_t blocks = 0;
  for (const TextBlocks& part : text)
    for (std::int64_t block = part.first; block < part.last;) {
      std::int64_t until = part.last;
      const std::int32_t run = earliest(part.text, block, until);
      if (run == none) return blocks;
      pieces.push_back({run, block, until});
      blocks += until - block;
      block = until;
    }
  return blocks;
}

std::int64_t KvRuns::hold(std::span<const Piece> pieces, std::int32_t own, std::int64_t asked,
                          Holding& holding) {
  std::int64_t free = 0;
  const auto add = [&](std::int32_t run) {
    if (++at(run).holders == 1) {
      free += at(run).size();
      unlink(run);
    }
    const bool forgotten = at(run).text == own && at(run).first >= asked;
    forgotten ? forget(run) : holding.push_back({run, at(run).first, at(run).last});
  };
  for (const Piece& piece : pieces) {
    const std::int64_t until =
        at(piece.run).text == own ? std::clamp(asked, piece.first, piece.last) : piece.last;
    each_whole({piece.run, piece.first, until}, add);
    each_whole({piece.run, until, piece.last}, add);
  }
  return free;
}

// Whether blocks may become part of the run that stands before them in their text: it is its holder's alone,
// and no copy of them was there before.
bool KvRuns::grows(const Piece& before, const TextBlocks& blocks) const {
  const Run& run = at(before.run);
  return run.text == blocks.text && run.last == blocks.first && before.last == run.last && run.holders == 1 &&
         run.batch != batch_ && run.rest == none && run.later_copy == none;
}

void KvRuns::publish(TextBlocks blocks, Holding& holding) {
  note(blocks.text);
  if (!holding.empty() && grows(holding.back(), blocks)) {
    at(holding.back().run).last = holding.back().last = blocks.last;
    return;
  }
  const std::int32_t run = make(blocks.text, blocks.first, blocks.last);
  at(run).holders = 1;
  std::int32_t* link = &first_copies_[blocks.text];
  while (*link != none) link = &at(*link).later_copy;
  *link = run;
  holding.push_back({run, blocks.first, blocks.last});
}

std::int64_t KvRuns::publish(std::span<const TextBlocks> text, Holding& holding) {
  const std::int64_t published = weir::end_of(holding);
  for (TextBlocks part : text) {
    part.first = std::max(part.first, published);
    if (part.first < part.last) publish(part, holding);
  }
  return 0;
}

std::int64_t KvRuns::end_of_text(std::int32_t text) const {
  std::int64_t end = 0;
  for (std::int32_t run = first_copies_.find(text); run != none; run = at(run).later_copy)
    end = std::max(end, at(run).last);
  return end;
}

void KvRuns::add_promise(Run& run, std::int32_t holders) {
  if (run.batch != batch_) run.promised = 0;
  run.batch = batch_;
  run.promised += holders;
}

std::int64_t KvRuns::promise(std::span<const Piece> pieces) {
  std::int64_t free = 0;
  for (const Piece& piece : pieces)
    each_whole(piece, [&](std::int32_t run) {
      if (holders(at(run)) == 0) free += at(run).size();
      add_promise(at(run), 1);
    });
  return free;
}

std::int64_t KvRuns::give_up(const Holding& holding) {
  std::int64_t free = 0;
  for (const Piece& piece : holding)
    each_run(piece, [&](std::int32_t i) {
      add_promise(at(i), -1);
      if (holders(at(i)) == 0) free += at(i).size();
    });
  return free;
}

std::int64_t KvRuns::held(std::span<const Piece> pieces) const {
  std::int64_t blocks = 0;
  for (const Piece& piece : pieces)
    if (holders(at(piece.run)) > 0) blocks += piece.last - piece.first;
  return blocks;
}

std::int64_t KvRuns::free_before(std::span<const Piece> pieces, std::int64_t free) {
  ++walk_;
  bool any = false;
  for (const Piece& piece : pieces) {
    Run& run = at(piece.run);
    if (run.holders > 0) continue;
    run.left = run.walk == walk_ ? std::max(run.left, piece.last) : piece.last;
    run.walk = walk_;
    any = true;
  }
  if (!any) return free;
  std::int64_t blocks = 0;
  for (std::int32_t i = head_; i != none; i = at(i).behind) {
    blocks += at(i).size();
    if (at(i).walk == walk_) return blocks - at(i).left + at(i).first;
  }
  return blocks;
}

}  // namespace weir
