#include "sim/serving/server/stage_collectives.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "devices/actor/clock.h"
#include "devices/kernel_shapes.h"
#include "sim/serving/platform/courier.h"

namespace weir {
namespace sg4 = simgrid::s4u;
namespace {

constexpr double rounding = 1e-12;  // of a step

Lockstep::Share part_of(double part, Lockstep::Share share) {
  return {part * share.each, part * share.beside};
}

std::vector<LinkFlow> part_of(double part, std::vector<LinkFlow> flows) {
  for (LinkFlow& flow : flows) flow.bytes = part * flow.bytes;
  return flows;
}

std::vector<std::vector<Message>> rounds_of_group(const StepModel::CollectiveCall& call,
                                                  const LinkSpec& links,
                                                  const std::optional<NodeLevels>& levels) {
  return levels ? rounds_by_level(call.of.collective, call.bytes, links, *levels)
                : plain_rounds(call.of.collective, call.bytes, call.of.devices, links.shape);
}

// Every rank sends to all others; each device's links carry as much where it sends to one in its node, and to
// its like in the next.
std::vector<Message> to_neighbours(const StepModel::CollectiveCall& call, const Rank& rank, int ranks) {
  const ExpertExchange& exchange = *rank.exchanges[static_cast<std::size_t>(call.of.experts->method)];
  const ExchangeCost sent = exchanged(call.of, call.bytes / call.of.per_row, exchange);
  const int per_node = rank.stage.levels ? rank.stage.levels->per_node : ranks;
  std::vector<Message> messages;
  for (int from = 0; from < ranks; ++from) {
    const int first = from / per_node * per_node;
    if (per_node > 1) messages.push_back({from, first + (from + 1 - first) % per_node, sent.inside});
    if (per_node < ranks) messages.push_back({from, (from + per_node) % ranks, sent.between});
  }
  return messages;
}

// The tensor groups of a stage do the same at once.
std::vector<std::vector<Message>> rounds_of(const StepModel::CollectiveCall& call, const Rank& rank,
                                            std::size_t ranks) {
  if (call.of.experts) return {to_neighbours(call, rank, static_cast<int>(ranks))};
  if (call.of.among == Communication::Among::stage)
    return rounds_of_group(call, rank.stage.links, rank.stage.levels);
  std::vector<std::vector<Message>> rounds = rounds_of_group(call, rank.links, rank.levels);
  for (auto& round : rounds)
    for (std::size_t m = 0, of_one = round.size(); m < of_one; ++m)
      for (int first = call.of.devices; first < static_cast<int>(ranks); first += call.of.devices)
        round.push_back({round[m].from + first, round[m].to + first, round[m].bytes});
  return rounds;
}

}  // namespace

StageCollectives::StageCollectives(const Rank& rank, std::shared_ptr<const StepModel> model,
                                   std::vector<sg4::Host*> ranks, LinkTraffic& traffic,
                                   std::function<void()> joined)
    : rank_(rank), model_(std::move(model)), ranks_(std::move(ranks)), traffic_(traffic) {
  BatchShape one_token;
  one_token.decodes = one_token.sequences = one_token.decode_context_sum = one_token.decode_context_max = 1;
  group_ = traffic.add_group(pattern(one_token).flows, [this, joined = std::move(joined)] {
    if (interruptible_)
      interruptible_->end_at(now());
    else
      joined();
  });
}

// The messages of the plain algorithms, added up by who sends to whom.
const StageCollectives::Pattern& StageCollectives::pattern(const BatchShape& batch) {
  if (pattern_.counts == batch.counts()) return pattern_;
  pattern_ = {batch.counts(), {}, Bytes(0), 0, 0};
  std::map<std::pair<int, int>, Bytes> sums;
  for (const auto& call : model_->collectives(batch)) {
    const auto rounds = rounds_of(call, rank_, ranks_.size());
    const auto times = static_cast<double>(call.times);
    for (const auto& round : rounds)
      for (const Message& m : round) sums[{m.from, m.to}] += times * m.bytes;
    pattern_.calls += times;
    pattern_.unit = call.unit;
  }
  for (const auto& [ends, bytes] : sums) {
    pattern_.flows.push_back({ranks_[static_cast<std::size_t>(ends.first)],
                              ranks_[static_cast<std::size_t>(ends.second)], bytes, Seconds(0)});
    pattern_.sum += bytes;
  }
  return pattern_;
}

// As many bytes as the devices count: an engine's own kernels send others than the plain algorithm.
std::vector<LinkFlow> StageCollectives::flows(const BatchShape& batch, const StepCost& cost) {
  const Pattern& all = pattern(batch);
  if (all.sum <= Bytes(0)) return {};
  return part_of(static_cast<double>(ranks_.size()) * (cost.moved[interconnect] / all.sum), all.flows);
}

void StageCollectives::carried(const BatchShape& batch, const StepCost& cost, Seconds from, Seconds to) {
  traffic_.carried(flows(batch, cost), from, to);
}

// Bytes that other operators hide go beside these: a step takes no longer alone.
StageCollectives::Rhythm StageCollectives::rhythm(const BatchShape& batch, const StepCost& cost) {
  const std::vector<LinkFlow> all = flows(batch, cost);
  const Seconds alone = traffic_.alone(all), sending = std::min(alone, cost.link_bound);
  const double exposed = alone > Seconds(0) ? sending / alone : 0;
  return {pattern_.calls, cost.time > Seconds(0) ? 1 - sending / cost.time : 1, part_of(exposed, all),
          part_of(1 - exposed, all), pattern_.unit};
}

void StageCollectives::play(Lockstep& devices, Lockstep::Share share, const BatchShape& batch,
                            StepCost& cost) {
  const Seconds start = now();
  std::optional<Rhythm> beside;
  for (double done = 0; done < 1 - rounding;) {
    if (!shared()) {
      done = alone(devices, share, done, batch.prefill_tokens > 0);
      continue;
    }
    if (!beside) beside = rhythm(batch, cost);
    done = beside_transfers(devices, share, *beside, done);
  }
  if (!beside || devices.may_change()) return;
  const Seconds late = std::max(Seconds(0), now() - start - cost.time);
  cost.time += late;
  cost.link_bound += late;
  cost.busy[beside->unit] += late;
}

// A transfer that comes in the middle of a step of decodes meets collectives from the next step on, since
// such steps are short, and may be fast-forwarded. So it is where speeds change: nobody knows how much of a
// step is over then.
double StageCollectives::alone(Lockstep& devices, Lockstep::Share share, double done, bool interruptible) {
  const Lockstep::Share rest = part_of(1 - done, share);
  if (!interruptible || devices.may_change()) {
    devices.execute(rest);
    return 1;
  }
  const Seconds start = now();
  interruptible_ = &devices;
  const bool ended = devices.run(rest);
  interruptible_ = nullptr;
  return ended ? 1 : done + (now() - start) / share.each;
}

// To the end of the collective that is next or under way, or, once transfers have gone on for longer, for as
// long again.
double StageCollectives::beside_transfers(Lockstep& devices, Lockstep::Share share, const Rhythm& rhythm,
                                          double done) {
  const Seconds shared_for = now() - traffic_.shared_since(group_).value_or(now());
  const double calls = std::max(1., rhythm.calls), at = done * calls;
  const double behind = at - std::floor(at + rounding);  // of this call's share of the step
  const double whole = std::floor(calls * (shared_for / share.each));
  const double end = std::min(1., (at - behind + 1 + whole) / calls);
  const double working =
      std::max(0., rhythm.working - behind) + (end * calls - (at - behind) - 1) * rhythm.working;
  const double sending = end * calls - at - working;
  const double of_sending = rhythm.working < 1 ? sending / (1 - rhythm.working) / calls : 0;
  Sending hidden(part_of(end - done, rhythm.hidden));
  if (working > 0) devices.execute(part_of(working / calls, share));
  send_and_wait(part_of(of_sending, rhythm.exposed), nullptr);
  hidden.wait(nullptr);
  return end;
}

void play_as_flows(const Rank& rank, const StepModel& model, const std::vector<sg4::Host*>& ranks,
                   const BatchShape& batch, LinkTraffic& traffic, StepCost& cost) {
  for (const auto& call : model.collectives(batch)) {
    const Seconds begin = now();
    const auto rounds = rounds_of(call, rank, ranks.size());
    for (std::int64_t i = 0; i < call.times; ++i) play_collective(rounds, ranks, &traffic);
    const Seconds played = now() - begin;
    cost.time += played;
    cost.link_bound += played;
    cost.busy[call.unit] += played;
  }
}

}  // namespace weir
