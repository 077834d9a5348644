// Decodes that verify drafts: how far their batch can run on unchanged, and what each request gets in the
// end.
#include <numeric>

#include "sim/serving/replica/replica.h"

namespace weir {
namespace {

// An arrival may cut a run that was drawn: what is drawn beyond it is drawn again.
constexpr std::int64_t most_drawn_steps = 32;

}  // namespace

// The run ends with the step in which somebody has all of his tokens, or before one that blocks are lacking
// for, as in longest_run.
std::int64_t Replica::longest_drafted_run(Iteration& iteration) {
  std::int64_t steps = std::min(iteration.steps, most_drawn_steps);
  if (steps == 1 || front_end_.one_by_one()) return 1;
  const auto most = static_cast<std::size_t>(steps);
  iteration.later.assign(most, {});  // of the first step too, until the end
  iteration.given.assign(most, 0);
  thread_local std::vector<std::int64_t> wanted;  // blocks, by step
  wanted.assign(most, 0);
  std::size_t next = 0;
  for (const auto& member : iteration.members) {
    const SequenceView& view = running_[position(member.request, next)];
    const std::int64_t before = view.known_tokens - view.input_tokens, left = view.output_tokens - before;
    std::int64_t blocks = view.blocks;
    for (std::int64_t step = 0, tokens = 0; step < steps; ++step) {
      const auto at = static_cast<std::size_t>(step);
      const std::int64_t context = view.computed_tokens + tokens + drafts();
      iteration.later[at].sum += context;
      iteration.later[at].max = std::max(iteration.later[at].max, context);
      if (context > blocks * cache_.block_tokens()) {
        wanted[at] += cache_.blocks_for(context) - blocks;
        blocks = cache_.blocks_for(context);
      }
      const std::int64_t more = std::min(1 + draws_->accepted(view.request, before + tokens), left - tokens);
      iteration.given[at] += more;
      tokens += more;
      if (tokens == left) steps = step + 1;
    }
  }
  const std::int64_t free = prefixes_.free_before_found(0);
  std::int64_t run = 1;
  for (std::int64_t blocks = 0; run < steps; ++run) {
    blocks += wanted[static_cast<std::size_t>(run)];
    if (blocks > free) break;
  }
  iteration.later.resize(static_cast<std::size_t>(run));
  iteration.later.erase(iteration.later.begin());
  iteration.given.resize(static_cast<std::size_t>(run));
  std::partial_sum(iteration.given.begin(), iteration.given.end(), iteration.given.begin());
  return run;
}

// Accepted drafts stay in the cache, the others are overwritten. Returns the tokens of all members.
std::int64_t Replica::take_drafts(const Iteration& iteration, std::int64_t steps) {
  given_.clear();
  std::int64_t all = 0;
  std::size_t next = 0;
  for (const auto& member : iteration.members) {
    given_.push_back(0);
    if (!member.yields) continue;
    SequenceView& view = running_[position(member.request, next)];
    const bool decodes = view.computed_tokens > view.prefill_target;
    given_.back() = decodes ? verify(view, steps) : 1;
    all += given_.back();
  }
  return all;
}

std::int64_t Replica::verify(SequenceView& view, std::int64_t steps) {
  const std::int64_t before = view.known_tokens - view.input_tokens, left = view.output_tokens - before;
  std::int64_t tokens = 0, accepted = 0, in_last = 0;
  for (std::int64_t step = 0; step < steps; ++step) {
    const std::int64_t drawn = draws_->accepted(view.request, before + tokens);
    accepted += drawn;
    in_last = std::min(1 + drawn, left - tokens);
    tokens += in_last;
  }
  if (steps > 1) take_blocks_for(view, view.computed_tokens + tokens - in_last + drafts());
  view.computed_tokens += tokens - 1;
  if (recorder_.kept(view.request)) recorder_.result().drafts.add(steps, steps * drafts(), accepted);
  return tokens;
}

}  // namespace weir
