// A replica loads prompts from the memories behind its KV cache, and stores them there.
#include <algorithm>
#include <boost/random/uniform_01.hpp>
#include <utility>

#include "sim/serving/replica/replica.h"

namespace weir {

// Room is made for it first. Then it comes while the others' steps go on, so that the request waits for it
// among those that run (compute), or before the next step.
void Replica::load(SequenceView& view, Live& live, std::vector<TierTokens> from, Iteration& iteration) {
  std::int64_t tokens = 0;
  for (const TierTokens& part : from) tokens += part.tokens;
  view.computed_tokens += tokens;
  if (prefixes_.loads_beside_steps()) {
    view.elsewhere = true;
    live.resident = tokens;
    loads_[view.request] = std::move(from);
    return;
  }
  KvMove& move = iteration.moves.emplace_back();
  move = {view.request, tokens, here(false), here(false), std::move(from), true};
}

// As far as the request is computed: once its prompt is, and where answers are kept once more at its end.
void Replica::store(const SequenceView& view) {
  const std::vector<KvTierSpec>& specs = spec_->kv_cache.tiers;
  const bool answered = view.known_tokens > view.input_tokens;
  const std::int64_t tokens = answered ? view.computed_tokens : view.input_tokens;
  const auto counts = [](const KvTierSpec& spec) { return spec.write_through_threshold > 1; };
  if (!answered && std::ranges::any_of(specs, counts)) tiers_.count(view.request, tokens);
  for (std::size_t tier = 0; tier < tiers_.size(); ++tier) {
    const KvTierSpec& spec = specs[tier];
    if (answered && spec.stores == KvTierSpec::Stores::prompt) continue;
    if (spec.stored_after_load < 1 && recorder_.found_in_tiers(view.request)) {
      if (!stored_after_load_)
        stored_after_load_ = std::make_unique<Rng>(random_stream(plan_->seed, "stored after a load"));
      if (boost::random::uniform_01<double>()(*stored_after_load_) >= spec.stored_after_load) continue;
    }
    const std::int64_t worth =
        counts(spec) ? tiers_.counted(view.request, tokens, spec.write_through_threshold) : tokens;
    to_store_.push_back({view.request, worth, here(false), here(false), {{tier, 0}}});
  }
}

// A sender may let other actors run, which shall see the replica as the iteration leaves it.
void Replica::send_stores() {
  for (KvMove& move : std::exchange(to_store_, {})) {
    TierTokens& part = move.tiers[0];
    part.tokens = tiers_.lacks(part.tier, move.request, move.tokens);
    if (part.tokens > 0) events_.store(move);
  }
}

void Replica::stored(const KvMove& move) {
  tiers_.stored(move.tiers[0].tier, move.request, move.tokens);
}

}  // namespace weir
