#include "test/serving/channel_ledger.h"

#include <catch2/catch.hpp>

namespace weir::test {

void ChannelLedger::enqueued(std::int32_t request, std::int64_t known, std::int64_t computed) {
  Entry& entry = requests_[request];
  entry.known = known;
  entry.computed = computed;
  entry.prefill_target = computed > 0 ? computed : known;
  entry.preemptions = recorder_.record(request).preemptions;
}

void ChannelLedger::see_preemptions() {
  for (auto& [request, entry] : requests_) {
    if (entry.preemptions == recorder_.record(request).preemptions) continue;
    ++preemptions_;
    entry.preemptions = recorder_.record(request).preemptions;
    REQUIRE_FALSE(entry.awaited);
    REQUIRE_FALSE(entry.decoding);
    entry.channel = -1;
    entry.blocks = 0;
    if (replica_.plan().spec.kv_cache.preemption == Preemption::swap && entry.computed > 0) continue;
    entry.computed = 0;
    entry.prefill_target = entry.known;
  }
}

void ChannelLedger::admit(std::int32_t request, Entry& entry) {
  if (entry.channel >= 0) return;
  entry.channel = channels() > 1 ? placement_.channel(request) : 0;
}

void ChannelLedger::hold(Entry& entry, std::int64_t tokens) {
  entry.blocks = std::max(entry.blocks, replica_.cache().blocks_for(tokens));
}

// A policy balances those that can step together with who is placed: they run and are not in flight.
void ChannelLedger::check_placement() const {
  if (!placement_.asked()) return;
  const std::vector<std::int64_t> pools = free();
  for (std::size_t c = 0; c < placement_.free().size(); ++c)
    REQUIRE(placement_.free()[c] == pools[pools.size() == 1 ? 0 : c]);
  REQUIRE(std::ssize(placement_.free()) == channels());
  std::size_t there = 0;
  for (const auto& [request, entry] : requests_)
    there += entry.channel >= 0 && !entry.awaited && !entry.decoding && !entry.left;
  REQUIRE(placement_.placed().size() == there);
  for (const PlacedRequest& placed : placement_.placed()) {
    const Entry& entry = requests_.at(request_of(placed.tokens));
    REQUIRE(placed.tokens == entry.known);
    REQUIRE(placed.channel == entry.channel);
    REQUIRE_FALSE((entry.awaited || entry.decoding || entry.left));
  }
}

void ChannelLedger::scheduled(const Iteration& it) {
  check_placement();
  see_preemptions();
  for (const KvMove& move : it.moves) {
    if (move.leaves_device()) continue;
    Entry& entry = requests_.at(move.request);
    REQUIRE(entry.channel < 0);  // fetched once, when it is admitted
    REQUIRE(move.tokens == entry.computed);
    admit(move.request, entry);
    entry.awaited = true;
    hold(entry, entry.computed + 1);
  }
  auto chunk = it.shape.prefill.begin();
  auto context = it.shape.contexts.begin();
  for (const Iteration::Member& member : it.members) {
    Entry& entry = requests_.at(member.request);
    REQUIRE_FALSE(entry.awaited);   // no token before its KV has come
    REQUIRE_FALSE(entry.decoding);  // and none before the one before it
    admit(member.request, entry);
    if (entry.computed < entry.prefill_target) {
      REQUIRE(chunk->context == entry.computed);
      entry.computed += (chunk++)->tokens;
    } else {
      ++entry.computed;
      if (channels() > 1) {
        REQUIRE(context->tokens == entry.computed);
        REQUIRE(context->channel == entry.channel);
        ++context;
      }
    }
    hold(entry, entry.computed);
    REQUIRE(member.yields == (entry.computed == entry.known));
    entry.decoding = member.yields;
  }
  REQUIRE(chunk == it.shape.prefill.end());
  REQUIRE(context == it.shape.contexts.end());
  check();
}

void ChannelLedger::completed(const Iteration& it, std::int64_t steps) {
  for (const Iteration::Member& member : it.members) {
    if (!member.yields) continue;
    Entry& entry = requests_.at(member.request);
    entry.computed += steps - 1;
    entry.known += steps;
    entry.decoding = false;
    hold(entry, entry.computed);
    entry.left = replica_.plan().spec.role == Role::prefill;
    if (recorder_.record(member.request).status == RequestStatus::completed) requests_.erase(member.request);
  }
  check();
}

std::size_t ChannelLedger::pool_of(const Entry& entry) const {
  return replica_.cache().channels() == 1 ? 0 : static_cast<std::size_t>(entry.channel);
}

std::vector<std::int64_t> ChannelLedger::free() const {
  const KvCache& cache = replica_.cache();
  std::vector<std::int64_t> free(static_cast<std::size_t>(cache.channels()), cache.largest());  // all alike
  for (const auto& [request, entry] : requests_)
    if (entry.channel >= 0) free[pool_of(entry)] -= entry.blocks;
  return free;
}

void ChannelLedger::check() const {
  const std::vector<std::int64_t> free = this->free();
  for (const std::int64_t blocks : free) REQUIRE(blocks >= 0);
  const auto own = replica_.cache().free_by_channel();
  REQUIRE(std::vector(own.begin(), own.end()) == free);
}

}  // namespace weir::test
