// Keys and values between the devices and the tiers behind a replica's KV cache: over each rank's link to its
// node, beside whatever else goes there, and no faster than the tier gives or takes them.
#include <algorithm>

#include "devices/actor/clock.h"
#include "sim/serving/simulation_run.h"

namespace weir {
namespace sg4 = simgrid::s4u;
namespace {

enum class Way { load, store };

std::vector<LinkFlow> tier_flows(const Server& server, const KvMove& move, const TierTokens& part, Way way) {
  const KvTierSpec& tier = server.replica().plan().spec.kv_cache.tiers[part.tier];
  std::vector<LinkFlow> flows = host_flows(kv_devices(server, move.request), part.tokens, way == Way::store);
  if (const auto bandwidth = way == Way::store ? tier.write : tier.read)
    for (LinkFlow& flow : flows) flow.at_least = flow.bytes / *bandwidth;
  return flows;
}

}  // namespace

// Replicas whose shared tiers are described alike have one.
std::vector<std::shared_ptr<KvTier>> Simulation::tiers_of(const ReplicaPlan& plan) {
  const std::vector<KvTierSpec>& specs = plan.spec.kv_cache.tiers;
  recorder_.result().kv_tiers = std::max(recorder_.result().kv_tiers, specs.size());
  std::vector<std::shared_ptr<KvTier>> tiers;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (specs[i].kind != KvTierSpec::Kind::shared) {
      tiers.push_back(std::make_shared<KvTier>(plan.tier_chunks[i]));
      continue;
    }
    auto known = std::ranges::find(shared_tiers_, specs[i], [](const auto& tier) { return tier.first; });
    if (known == shared_tiers_.end())
      known = shared_tiers_.insert(known, {specs[i], std::make_shared<KvTier>(plan.tier_chunks[i])});
    tiers.push_back(known->second);
  }
  return tiers;
}

// From all tiers at once; without `arrived` one after another, until all has come.
void Simulation::load(const KvMove& move, std::function<void()> arrived) {
  const Server& server = *servers_[static_cast<std::size_t>(move.to.replica)];
  const std::vector<KvTierSpec>& tiers = server.replica().plan().spec.kv_cache.tiers;
  const auto left = std::make_shared<std::size_t>(move.tiers.size());
  for (const TierTokens& part : move.tiers) {
    std::vector<LinkFlow> flows = tier_flows(server, move, part, Way::load);
    const Seconds latency = tiers[part.tier].latency;
    if (!arrived) {
      ++stalled_;
      if (latency > Seconds(0)) sg4::this_actor::sleep_for(latency.value());
      transfer_and_wait(flows, traffic_);
      --stalled_;
      continue;
    }
    couriers_.send(
        std::move(flows),
        [left, arrived] {
          if (--*left == 0) arrived();
        },
        now() + latency);
  }
}

// Nobody waits for it; others find it once it is there.
void Simulation::store(const KvMove& move) {
  Server& server = *servers_[static_cast<std::size_t>(move.from.replica)];
  const TierTokens& part = move.tiers[0];
  const KvTierSpec& tier = server.replica().plan().spec.kv_cache.tiers[part.tier];
  couriers_.send(
      tier_flows(server, move, part, Way::store),
      [this, move, &server, shared = tier.kind == KvTierSpec::Kind::shared] {
        server.stored(move);
        if (!shared) return server.wake_if_anyone_waits();
        for (const auto& other : servers_) other->wake_if_anyone_waits();
      },
      now() + tier.latency);
}

}  // namespace weir
