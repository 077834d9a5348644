#include "sim/serving/replica/attention_ranks.h"

#include <algorithm>

namespace weir {
namespace {

void join(Iteration& all) {
  all.members.clear();
  all.moves.clear();
  all.rank_shapes.clear();
  all.number = 0;
  for (const Iteration& rank : all.ranks) {
    all.members.insert(all.members.end(), rank.members.begin(), rank.members.end());
    all.moves.insert(all.moves.end(), rank.moves.begin(), rank.moves.end());
    all.rank_shapes.push_back(rank.shape);
    all.number = std::max(all.number, rank.number);
  }
  all.shape = in_lockstep(all.rank_shapes);
}

}  // namespace

std::size_t AttentionRanks::rank_of(std::int32_t request) const {
  const auto at = static_cast<std::size_t>(request);
  return at < rank_of_.size() ? static_cast<std::size_t>(rank_of_[at]) : 0;
}

Replica& AttentionRanks::assign(std::int32_t request) {
  if (ranks_.size() == 1) return *ranks_[0];
  const auto least = std::ranges::min_element(
      ranks_, {}, [](const std::unique_ptr<Replica>& rank) { return rank->outstanding_requests(); });
  const auto at = static_cast<std::size_t>(request);
  if (at >= rank_of_.size()) rank_of_.resize(std::max(at + 1, 2 * rank_of_.size()), 0);
  rank_of_[at] = static_cast<std::int16_t>(least - ranks_.begin());
  return **least;
}

// Their steps have the same numbers.
void AttentionRanks::keep_in_step() {
  std::int64_t decisions = 0;
  std::size_t running = 0;
  for (const auto& rank : ranks_) {
    decisions = std::max(decisions, rank->decisions());
    running += rank->runs();
  }
  for (const auto& rank : ranks_) rank->step_with(decisions, running > rank->runs());
}

bool AttentionRanks::schedule(Seconds now, Iteration& iteration) {
  bool anything = false;
  if (ranks_.size() == 1) {
    anything = ranks_[0]->schedule(now, iteration);
  } else {
    keep_in_step();
    iteration.ranks.resize(ranks_.size());
    for (std::size_t r = 0; r < ranks_.size(); ++r) anything |= ranks_[r]->schedule(now, iteration.ranks[r]);
    keep_in_step();
    join(iteration);
  }
  if (plan().spec.two_batches) {
    const std::span<const BatchShape> halves = iteration.halves.cut(iteration.shape);
    iteration.sub_batches.assign(halves.begin(), halves.end());
  }
  return anything;
}

std::int64_t AttentionRanks::longest_run(Iteration& iteration) {
  if (ranks_.size() == 1) return ranks_[0]->longest_run(iteration);
  std::int64_t steps = Validity::unlimited;
  for (std::size_t r = 0; r < ranks_.size() && steps > 1; ++r) {
    Replica& rank = *ranks_[r];
    const bool idle = !rank.runs() && !rank.anyone_waits();  // else it decides anew with each step
    if (!iteration.ranks[r].members.empty())
      steps = std::min(steps, rank.longest_run(iteration.ranks[r]));
    else
      steps = std::min(steps, idle ? rank.steps_until_seen() : 1);
  }
  return std::max<std::int64_t>(1, steps);
}

void AttentionRanks::complete(const Iteration& iteration, Seconds start, Seconds end,
                              const std::vector<StepRun>& runs, std::int64_t steps) {
  recorder_.result().iterations += steps;
  if (ranks_.size() == 1) return ranks_[0]->complete(iteration, start, end, runs, steps);
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    const Iteration& of_rank = iteration.ranks[r];
    ranks_[r]->pass(steps - 1, of_rank.members.empty() ? 0 : of_rank.shape.decodes);
  }
  for (std::size_t r = 0; r < ranks_.size(); ++r)
    if (!iteration.ranks[r].members.empty())
      ranks_[r]->complete_passed(iteration.ranks[r], start, end, runs, steps);
}

std::int64_t AttentionRanks::outstanding_requests() const {
  std::int64_t sum = 0;
  for (const auto& rank : ranks_) sum += rank->outstanding_requests();
  return sum;
}

std::int64_t AttentionRanks::outstanding_tokens() const {
  std::int64_t sum = 0;
  for (const auto& rank : ranks_) sum += rank->outstanding_tokens();
  return sum;
}

}  // namespace weir
