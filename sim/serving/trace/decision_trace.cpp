#include "sim/serving/trace/decision_trace.h"

#include <algorithm>

#include "sim/serving/trace/why_waiting.h"

namespace weir {
namespace {

constexpr std::size_t most_candidates = 64;  // in a line, beside the chosen one

Json line(Seconds now, const char* event) {
  return {{"time", now.value()}, {"event", event}};
}

template <class Do>
void for_each_rank(const Iteration& iteration, const Do& what) {
  if (iteration.ranks.empty()) return what(iteration);
  for (const Iteration& rank : iteration.ranks) what(rank);
}

}  // namespace

// Hears one replica, or one of its attention-data ranks.
class DecisionTrace::Listener final : public ReplicaListener {
 public:
  Listener(const DecisionTrace& trace, int replica, int rank)
      : trace_(trace), replica_(replica), rank_(rank) {}

  void accepted(std::int32_t request, Seconds now) override {
    if (trace_.hears(request)) write(of(request, now, "arrived"));
  }
  void queued(std::int32_t request, std::int64_t behind, Seconds now) override {
    if (!trace_.hears(request)) return;
    Json all = of(request, now, "queued");
    all["behind"] = behind;
    if (behind > 0 && reason_.first >= 0) add_reason(all);
    write(all);
  }
  void admitted(const Replica& replica, std::int32_t request, std::int64_t tokens, Seconds now) override {
    if (!trace_.hears(request)) return;
    Json all = of(request, now, "admitted");
    all["step"] = replica.decisions() + 1;
    all["found_tokens"] = tokens;
    all["free_blocks"] = replica.cache().total() - replica.cache().used();
    write(all);
  }
  void first_token(std::int32_t request, Seconds seen, Seconds now) override {
    if (!trace_.hears(request)) return;
    Json all = of(request, now, "first token");
    all["seen"] = seen.value();
    write(all);
  }
  void left(std::int32_t request, bool goes_on, Seconds seen, Seconds now) override {
    if (!trace_.hears(request)) return;
    Json all = of(request, now, goes_on ? "handed over" : "finished");
    all["seen"] = seen.value();
    write(all);
  }
  void arrived(const KvMove& move, Seconds now) override {
    if (trace_.hears(move.request)) write(of(move.request, now, "KV cache arrived"));
  }
  void decided(const Replica& replica, const ServingView& view, const Batch& batch, Seconds now) override {
    for (const Batch::GaveWay& gave_way : batch.gave_way)
      if (trace_.hears(gave_way.request) || (gave_way.to >= 0 && trace_.hears(gave_way.to)))
        preempted(replica, gave_way, now);
    const WhyWaiting reason = why_waiting(*replica.plan().spec.batching, view, batch);
    if (reason.same_reason(reason_)) return;
    reason_ = reason;
    if (reason.first < 0 || !anyone_waits(view, batch)) return;
    Json all = of(reason.first, now, "not admitted");
    all["step"] = replica.decisions() + 1;
    all["waiting"] = std::ssize(view.waiting) - std::ssize(batch.admitted) + std::ssize(batch.preempted);
    add_reason(all);
    write(all);
  }
  void begins(const Iteration& iteration, Seconds now) override {
    for (const KvMove& move : iteration.moves) {
      if (!trace_.hears(move.request)) continue;
      Json all = of(move.request, now, move.leaves_device() ? "KV cache leaves" : "KV cache comes");
      all["tokens"] = move.tokens;
      if (move.hands_over())
        all["from_replica"] = move.from.replica;
      else
        all["memory"] = move.tiers.empty() ? "host" : "tiers";
      write(all);
    }
  }
  bool hears_steps() const override { return true; }
  void stepped(const Iteration& iteration, const StepTaken& step) override {
    Json members = Json::array(), prompts = Json::array();
    std::int64_t decodes = 0, prompt_tokens = 0;
    for_each_rank(iteration, [&](const Iteration& rank) {
      decodes += rank.members.empty() ? 0 : rank.shape.decodes;
      prompt_tokens += rank.members.empty() ? 0 : rank.shape.prefill_tokens;
      append_traced(rank, members, prompts);
    });
    if (members.empty()) return;
    Json all = line(step.end, "step");
    all["replica"] = replica_;
    if (step.stages > 1) {
      all["stage"] = step.stage;
      all["stages"] = step.stages;
    }
    all["step"] = iteration.number;
    all["steps"] = step.steps;
    all["start"] = step.start.value();
    all["first_s"] = step.first.value();
    all["last_s"] = step.last.value();
    if (step.without_prompts >= Seconds(0) && prompt_tokens > 0 && decodes > 0)
      all["without_prompts_s"] = step.without_prompts.value();
    all["decodes"] = decodes;
    all["prompt_tokens"] = prompt_tokens;
    all["requests"] = std::move(members);
    all["prompts"] = std::move(prompts);
    all["free_blocks"] = step.free_blocks;
    all["held_blocks"] = step.held_blocks;
    all["compute_s"] = step.cost.compute_bound.value();
    all["memory_s"] = step.cost.memory_bound.value();
    all["link_s"] = step.cost.link_bound.value();
    all["host_s"] = step.cost.host_bound.value();
    write(all);
  }

 private:
  void write(const Json& all) const { trace_.write_(all); }
  Json of(std::int32_t request, Seconds now, const char* event) const {
    Json all = line(now, event);
    all["replica"] = replica_;
    if (rank_ >= 0) all["rank"] = rank_;
    all["request"] = request;
    return all;
  }
  void add_reason(Json& all) const {
    all["why"] = reason_.why;
    if (all["request"] != reason_.first) all["first"] = reason_.first;
    if (reason_.lacks > 0) all["lacks_blocks"] = reason_.lacks;
  }
  void preempted(const Replica& replica, const Batch::GaveWay& gave_way, Seconds now) const {
    Json all = of(gave_way.request, now, "preempted");
    all["step"] = replica.decisions() + 1;
    all["why"] = gave_way.blocks > 0 ? "KV blocks" : "batch full";
    if (gave_way.to >= 0) all["for"] = gave_way.to;
    if (gave_way.blocks > 0) all["lacks_blocks"] = gave_way.blocks;
    write(all);
  }
  bool anyone_waits(const ServingView& view, const Batch& batch) const {
    const auto hears = [&](std::int32_t request) { return trace_.hears(request); };
    if (std::ranges::any_of(batch.preempted, hears)) return true;
    return std::ranges::any_of(view.waiting, [&](const SequenceView& waiting) {
      return trace_.hears(waiting.request) &&
             std::ranges::find(batch.admitted, waiting.request) == batch.admitted.end();
    });
  }
  void append_traced(const Iteration& rank, Json& members, Json& prompts) const {
    std::size_t chunk = 0;
    for (const Iteration::Member& member : rank.members) {
      const std::size_t own = chunk;
      chunk += member.prompt;
      if (!trace_.hears(member.request)) continue;
      members.push_back(member.request);
      if (member.prompt)
        prompts.push_back({{"request", member.request},
                           {"tokens", rank.parts.chunks[own].tokens},
                           {"ends", member.yields}});
    }
  }

  const DecisionTrace& trace_;
  int replica_, rank_;
  WhyWaiting reason_;  // of the last decision, as it was first given
};

DecisionTrace::DecisionTrace(const TraceOptions& options, std::size_t requests)
    : traced_(requests, 0), write_(options.write) {
  for (const std::int32_t request : options.requests) traced_.at(static_cast<std::size_t>(request)) = 1;
}

DecisionTrace::~DecisionTrace() = default;

ReplicaListener* DecisionTrace::listener(int replica, int rank) {
  return listeners_.emplace_back(std::make_unique<Listener>(*this, replica, rank)).get();
}

void DecisionTrace::rejected(std::int32_t request, Seconds now) {
  if (!hears(request)) return;
  Json all = line(now, "rejected");
  all["request"] = request;
  all["why"] = "no replica can ever hold it";
  write_(all);
}

void DecisionTrace::chose(const RoutingChoice& choice) {
  Json all = line(choice.now, "routed");
  all["replica"] = choice.replicas[choice.chosen];
  all["request"] = choice.request;
  all["of"] = choice.after_prompt ? "answer" : "prompt";
  Json candidates = Json::array();
  for (std::size_t i = 0; i < choice.replicas.size(); ++i) {
    if (i >= most_candidates && i != choice.chosen) continue;
    Json one = {{"replica", choice.replicas[i]}};
    for (const RoutingScores& score : choice.scores) one[score.of] = score.values[i];
    candidates.push_back(std::move(one));
  }
  all["could"] = choice.replicas.size();
  all["candidates"] = std::move(candidates);
  write_(all);
}

}  // namespace weir
