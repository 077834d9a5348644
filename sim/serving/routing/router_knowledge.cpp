#include "sim/serving/routing/router_knowledge.h"

#include <algorithm>
#include <utility>

namespace weir {

class RouterKnowledge::Listener final : public ReplicaListener {
 public:
  Listener(RouterKnowledge& knows, int cache) : knows_(knows), cache_(cache) {}
  void first_token(std::int32_t request, Seconds, Seconds) override { knows_.first_token(request); }
  void waiting(std::int64_t requests, Seconds now) override {
    if (!knows_.reports_) return;
    knows_.reports_->waiting(cache_, requests, now);
    knows_.hear(now);
  }
  void used(std::int64_t blocks, Seconds now) override {
    if (knows_.reports_) knows_.reports_->used(cache_, blocks, now);
  }
  void kept(std::int32_t text, std::int64_t blocks, Seconds now) override {
    if (knows_.reports_) knows_.reports_->kept(cache_, text, blocks, now);
  }

 private:
  RouterKnowledge& knows_;
  int cache_;
};

RouterKnowledge::RouterKnowledge(const RoutingNeeds& needs, const Contents& contents, std::size_t requests,
                                 bool reuses)
    : needs_(needs), contents_(contents), reuses_(reuses), by_tokens_(contents, 1) {
  if (needs.loads) sent_.resize(requests);
  if (needs.remembered_tokens) remembered_.emplace(*needs.remembered_tokens);
  if (needs.reports) reports_.emplace(*needs.reports);
}

void RouterKnowledge::add_replica(std::int32_t replica, std::int64_t block_tokens) {
  if (std::ssize(replicas_) <= replica) replicas_.resize(static_cast<std::size_t>(replica) + 1);
  const auto same = std::ranges::find(paths_, block_tokens, &Path::block_tokens);
  at(replica).path = static_cast<std::size_t>(same - paths_.begin());
  if (same == paths_.end()) paths_.push_back({block_tokens, TextPath(contents_, block_tokens)});
}

ReplicaListener* RouterKnowledge::listener(std::int32_t replica, std::int64_t kv_blocks) {
  if (!needs_.loads && !reports_) return nullptr;
  const int cache = reports_ ? reports_->add_cache(replica, kv_blocks) : -1;
  return listeners_.emplace_back(std::make_unique<Listener>(*this, cache)).get();
}

void RouterKnowledge::sent(std::int32_t request, std::int64_t input_tokens, std::int32_t replica,
                           std::int64_t found) {
  if (remembered_) remembered_->add(replica, by_tokens_(request, input_tokens));
  if (!needs_.loads) return;
  Replica& to = at(replica);
  const std::int64_t blocks = input_tokens / path(to).block_tokens;
  of(request) = {replica, reuses_ ? input_tokens - found : 0};
  to.prompt_tokens += of(request).prompt_tokens;
  to.blocks += reuses_ ? active_.add(replica, path(to).of(request, blocks)) : blocks;
  note(replica);
}

void RouterKnowledge::first_token(std::int32_t request) {
  if (!needs_.loads || of(request).replica < 0) return;
  at(of(request).replica).prompt_tokens -= std::exchange(of(request).prompt_tokens, 0);
  note(of(request).replica);
}

void RouterKnowledge::ended(std::int32_t request, std::int64_t input_tokens) {
  if (!needs_.loads || of(request).replica < 0) return;
  first_token(request);
  const std::int32_t replica = std::exchange(of(request).replica, -1);
  Replica& from = at(replica);
  const std::int64_t blocks = input_tokens / path(from).block_tokens;
  from.blocks -= reuses_ ? active_.remove(replica, path(from).of(request, blocks)) : blocks;
}

void RouterKnowledge::note(std::int32_t replica) {
  if (!std::exchange(at(replica).changed, true)) changed_.push_back(replica);
}

// Also while nobody routes, so that what was told does not pile up.
void RouterKnowledge::hear(Seconds now) {
  if (reports_) reports_->hear(now, [this](std::int32_t replica) { note(replica); });
}

std::span<const std::int32_t> RouterKnowledge::changed(Seconds now) {
  hear(now);
  told_changed_.swap(changed_);
  changed_.clear();
  for (const std::int32_t replica : told_changed_) at(replica).changed = false;
  return told_changed_;
}

ReplicaLoad RouterKnowledge::load(std::int32_t replica) const {
  const Replica& of = replicas_[static_cast<std::size_t>(replica)];
  return {.prompt_tokens = of.prompt_tokens, .blocks = of.blocks};
}

// Null: its blocks are of another size.
RouterKnowledge::Holder* RouterKnowledge::holder(std::int32_t replica, std::size_t path) {
  Replica& of = at(replica);
  if (of.path != path) return nullptr;
  if (of.holder < 0) {
    of.holder = static_cast<std::int32_t>(holders_.size());
    holders_.push_back({replica, 0, 0});
  }
  return &holders_[static_cast<std::size_t>(of.holder)];
}

// Whoever has blocks of a text has those before them, so that the last text that a replica has any of says
// how far it goes.
void RouterKnowledge::find_kept(std::span<const TextBlocks> prompt, std::size_t path) {
  const std::int64_t block = paths_[path].block_tokens;
  for (auto part = prompt.rbegin(); part != prompt.rend(); ++part) {
    reports_->each(part->text, [&](std::int32_t replica, std::int64_t end) {
      if (end <= part->first) return;
      if (Holder* has = holder(replica, path))
        has->tokens = std::max(has->tokens, std::min(end, part->last) * block);
    });
    if (needs_.loads)
      active_.each(part->text, [&](std::int32_t replica, std::int64_t end) {
        if (Holder* has = holder(replica, path))
          has->shared_blocks = std::max(has->shared_blocks, std::min(end, part->last));
      });
  }
}

void RouterKnowledge::find_sent(std::span<const TextBlocks> prompt) {
  for (auto part = prompt.rbegin(); part != prompt.rend(); ++part)
    remembered_->each(part->text, [&](std::int32_t replica, std::int64_t end) {
      if (Holder* has = holder(replica, at(replica).path))
        has->tokens = std::max(has->tokens, std::min(end, part->last));
    });
}

std::span<const RouterKnowledge::Holder> RouterKnowledge::holders(std::int32_t request,
                                                                  std::int64_t input_tokens) {
  holders_.clear();
  if (remembered_) find_sent(by_tokens_(request, input_tokens));
  for (std::size_t i = 0; reports_ && reuses_ && i < paths_.size(); ++i)
    find_kept(paths_[i].of(request, input_tokens / paths_[i].block_tokens), i);
  for (const Holder& holder : holders_) at(holder.replica).holder = -1;
  return holders_;
}

}  // namespace weir
