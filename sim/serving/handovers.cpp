#include "sim/serving/handovers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "devices/actor/clock.h"
#include "sim/serving/server/stages.h"

namespace weir {
namespace {

constexpr double rounding = 1e-9;  // tokens

// A prefill replica computes nothing but prompts: each member of a step has a chunk.
template <class Do>
void for_each_chunk(const Iteration& iteration, const Do& what) {
  for (const Iteration& rank : iteration.ranks) for_each_chunk(rank, what);
  if (!iteration.ranks.empty()) return;
  for (std::size_t i = 0; i < iteration.parts.chunks.size(); ++i)
    what(iteration.members[i].request, iteration.parts.chunks[i]);
}

}  // namespace

void Handovers::choose_next(std::int32_t request, int from) {
  Server& to = router_.for_handover(request, recorder_.record(request).request);
  if (layerwise(from)) {
    Prompt& prompt = prompts_[request];
    prompt.from = from;
    prompt.to = to.replica().index();
    prompt.stages.resize(server(from).stages().size());
  }
  to.submit_handover(request, from);  // where somebody may wake at once
  router_.changed(to.replica().index());
}

void Handovers::prompt_begins(std::int32_t request, int from) {
  if (!layerwise(from)) return;
  const auto known = prompts_.find(request);
  if (known == prompts_.end()) return choose_next(request, from);
  if (std::exchange(known->second.left, false)) server(known->second.to).renew_handover(request, from);
}

// Its room goes to those whose prompts are computed, which may hold the blocks that it lacks here: else they
// would wait for each other. It queues anew when it goes on, and all of it is sent anew.
void Handovers::prompt_preempted(std::int32_t request, bool lost) {
  const auto known = prompts_.find(request);
  if (known == prompts_.end()) return;
  Prompt& prompt = known->second;
  for (Progress& at : prompt.stages) {
    at.sent = 0;
    if (lost) at.computed = at.in_step = 0;
  }
  prompt.left = true;
  if (prompt.arrived) recorder_.result().not_sent_tokens -= prompt.there;
  prompt.there = 0;
  const std::function<void()> arrived = std::exchange(prompt.arrived, nullptr);
  server(prompt.to).withdraw_handover(request);
  if (arrived) arrived();
}

void Handovers::prompt_ends(std::int32_t request, int from) {
  router_.ended(request, from);
  if (!layerwise(from)) return choose_next(request, from);
  Prompt& prompt = prompts_.at(request);
  prompt.ended = true;
  recorder_.record(request).replica = prompt.to;
  recorder_.phase(request, now(), prompt.arrived ? "KV transfer" : "queued");
  end_if_all_arrived(request);
}

void Handovers::start(const KvMove& move, std::function<void()> arrived) {
  if (server(move.to.replica).replica().of(move.request).withdrawn(move.request)) {
    recorder_.result().not_sent_tokens -= recorder_.record(move.request).request.input_tokens - move.tokens;
    return arrived();
  }
  const auto [known, whole] = prompts_.try_emplace(move.request);
  Prompt& prompt = known->second;
  if (whole) {
    prompt.from = move.from.replica;
    prompt.to = move.to.replica;
    prompt.ended = true;
    prompt.stages.assign(server(prompt.from).stages().size(), {.computed = move.tokens});
  }
  prompt.arrived = std::move(arrived);
  prompt.tokens = move.tokens;
  if (!whole) prompt.there = recorder_.record(move.request).request.input_tokens - move.tokens;
  prompt.since = now();
  for (std::size_t stage = 0; stage < prompt.stages.size(); ++stage) {
    const Progress& at = prompt.stages[stage];
    std::int64_t layers_done = 0;
    if (at.in_step > 0) {
      const double share = at.step_duration > Seconds(0) ? (now() - at.step_start) / at.step_duration : 1;
      layers_done =
          static_cast<std::int64_t>(std::min(1., share) * static_cast<double>(layers(prompt, stage)));
    }
    send_computed(move.request, stage, layers_done);
    send_under_step(move.request, stage, layers_done);
  }
  end_if_all_arrived(move.request);
}

std::int64_t Handovers::layers(const Prompt& prompt, std::size_t stage) const {
  const Sharding& cut = server(prompt.from).replica().plan().spec.parallelism;
  return stage_layers(scenario_.model, cut, static_cast<int>(stage));
}

// A chunk that is computed again, after a preemption, has been sent before.
void Handovers::step_begins(std::size_t stage, const Iteration& iteration, Seconds duration) {
  for_each_chunk(iteration, [&](std::int32_t request, const PrefillChunk& chunk) {
    const auto known = prompts_.find(request);
    if (known == prompts_.end()) return;
    Progress& at = known->second.stages[stage];
    at.computed = std::max(at.computed, chunk.context);  // found again, after a preemption
    at.in_step = std::max<std::int64_t>(0, chunk.context + chunk.tokens - at.computed);
    at.step_start = now();
    at.step_duration = duration;
    if (known->second.arrived) send_under_step(request, stage, 0);
  });
}

void Handovers::step_ends(std::size_t stage, const Iteration& iteration) {
  for_each_chunk(iteration, [&](std::int32_t request, const PrefillChunk&) {
    const auto known = prompts_.find(request);
    if (known == prompts_.end()) return;
    Progress& at = known->second.stages[stage];
    at.computed += std::exchange(at.in_step, 0);
    if (known->second.arrived) send_computed(request, stage, 0);
  });
}

const std::vector<KvPart>& Handovers::parts(const Prompt& prompt) {
  const ReplicaPlan &from = server(prompt.from).replica().plan(), &to = server(prompt.to).replica().plan();
  const auto [known, added] = parts_.try_emplace({&from, &to});
  if (added)
    known->second =
        kv_parts(scenario_.model, scenario_.precision, from.spec.parallelism, to.spec.parallelism);
  return known->second;
}

// Tokens that the next replica found are not sent.
std::int64_t Handovers::to_send_of_step(const Prompt& prompt, const Progress& at) {
  return std::max<std::int64_t>(0, at.computed + at.in_step - std::max(at.computed, prompt.there));
}

void Handovers::send_computed(std::int32_t request, std::size_t stage, std::int64_t layers_done) {
  const Prompt& prompt = prompts_.at(request);
  const Progress& at = prompt.stages[stage];
  const double share = static_cast<double>(layers_done) / static_cast<double>(layers(prompt, stage));
  const auto before = static_cast<double>(std::max<std::int64_t>(0, at.computed - prompt.there));
  send(request, stage, before + share * static_cast<double>(to_send_of_step(prompt, at)) - at.sent, now(),
       Seconds(0));
}

// Each layer but the last goes while the next one is computed.
void Handovers::send_under_step(std::int32_t request, std::size_t stage, std::int64_t layers_done) {
  const Prompt& prompt = prompts_.at(request);
  const Progress& at = prompt.stages[stage];
  const auto all = static_cast<double>(layers(prompt, stage)), done = static_cast<double>(layers_done);
  const std::int64_t tokens = to_send_of_step(prompt, at);
  if (tokens == 0 || all - done < 2) return;
  const Seconds layer = at.step_duration / all;
  send(request, stage, (all - 1 - done) / all * static_cast<double>(tokens),
       at.step_start + (done + 1) * layer, (all - 1 - done) * layer);
}

void Handovers::send(std::int32_t request, std::size_t stage, double tokens, Seconds start,
                     Seconds at_least) {
  Prompt& prompt = prompts_.at(request);
  if (tokens < rounding) return;
  const bool first = prompt.stages[stage].sent == 0;
  prompt.stages[stage].sent += tokens;
  std::vector<LinkFlow> flows =
      handover_flows(kv_devices(server(prompt.from), request), stage, kv_devices(server(prompt.to), request),
                     parts(prompt), tokens, first);
  for (LinkFlow& flow : flows) flow.at_least = at_least;
  ++prompt.sending;
  couriers_.send(
      std::move(flows),
      [this, request] {
        --prompts_.at(request).sending;
        end_if_all_arrived(request);
      },
      start);
}

void Handovers::end_if_all_arrived(std::int32_t request) {
  const auto known = prompts_.find(request);
  Prompt& prompt = known->second;
  if (!prompt.ended || !prompt.arrived || prompt.sending > 0) return;
  Server& from = server(prompt.from);
  from.replica().of(request).release_held(request, now());
  from.wake();
  if (recorder_.wants_spans()) draw(prompt);
  const std::function<void()> arrived = std::move(prompt.arrived);
  prompts_.erase(known);

  arrived();
}

void Handovers::draw(const Prompt& prompt) {
  auto [track, added] = tracks_.try_emplace({prompt.from, prompt.to}, 0);
  if (added) track->second = recorder_.add_track(fmt::format("KV {} to {}", prompt.from, prompt.to));
  recorder_.span(
      {track->second, prompt.since, now() - prompt.since, "KV transfer", 1, prompt.tokens, 1, "transfer"});
}

}  // namespace weir
