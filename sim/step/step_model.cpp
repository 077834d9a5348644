#include "sim/step/step_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "devices/kernel_shapes.h"
#include "models/llm/parts/without_prompts.h"

namespace weir {
namespace {

// Steps of more rows than this (whole prompts of large batches) are rare: their cost is not remembered.
constexpr std::int64_t most_remembered_rows = 1 << 14;

// The longer one's causes count too: once they change, it may be the shorter one.
PlayedCost shorter(const PlayedCost& a, const PlayedCost& b) {
  const bool first = a.cost.time <= b.cost.time;
  return {first ? a.cost : b.cost, a.causes + 3 * b.causes + first, std::max(a.between, b.between)};
}

}  // namespace

StepModel::StepModel(const Rank& rank, const StageGraph& placed, bool collectives_elsewhere)
    : rank_(rank),
      placed_(placed),
      device_(rank.on),
      engine_(rank.engine),
      limit_(rank.on->spec()),
      collectives_elsewhere_(collectives_elsewhere),
      with_prompts_{std::make_unique<PlayedStep>(rank, placed, 1), nullptr},
      serial_(with_prompts_.whole->serial()) {
  if (device_->measures_sampler()) engine_.per_sequence = Seconds(0);
  for_each_operator(placed, [this](const Operator& op, double times) {
    auto& ops = follows_contexts(op) ? attention_ops_ : by_rows_[static_cast<std::size_t>(op.rows)].ops;
    ops.push_back({op, times});
    launches_ += times;
    if (op.as<GroupedGemm>() && !experts_) experts_ = op;
    serial_ =
        serial_ && !differs_by_layer(op) && (!follows_contexts(op) || op.kind() == KernelKind::attention);
  });
  serial_ = serial_ && !placed.of_decodes;
  const Seconds small = static_cast<double>(placed.layers) * engine_.small_kernels;
  small_kernels_.time = small_kernels_.memory_bound = small;
  if (const PlacedOps& ops = of(Rows::tokens).ops; !ops.empty())
    small_kernels_.busy[static_cast<std::size_t>(ops.front().op.unit)] = small;
  if (collectives_elsewhere_ && !serial_)
    throw std::invalid_argument("collectives cannot be played as flows where operators overlap");
}

KernelCost StepModel::kernel(const Operator& op, const BatchShape& batch) const {
  KernelCost cost = rank_.cost(op, batch);
  if (collectives_elsewhere_ && is_collective(op)) cost.time = Seconds(0);
  return cost;
}

const StepCost& StepModel::by_rows(Rows kind, const BatchShape& batch) const {
  const auto& part = of(kind);
  auto& memo = part.memo;
  const std::int64_t rows = rows_of(kind, {}, batch);
  const auto sum_up = [&] {
    StepCost sum;
    for (const Placed& placed : part.ops)
      sum += attributed(kernel(placed.op, batch), placed.op, placed.times);
    return sum;
  };
  if (rows > most_remembered_rows) return forgotten_ = sum_up();
  const auto at = static_cast<std::size_t>(rows);
  if (at >= memo.size()) memo.resize(std::max(at + 1, 2 * memo.size()), StepCost{.time = Seconds(-1)});
  if (memo[at].time < Seconds(0)) memo[at] = sum_up();
  return memo[at];
}

StepCost StepModel::without_attention(const BatchShape& batch) const {
  StepCost cost = by_rows(Rows::tokens, batch);
  for (const Rows rows : {Rows::sequences, Rows::prompt_tokens, Rows::prompt_contexts, Rows::decodes,
                          Rows::drafts, Rows::routed, Rows::routed_prompts, Rows::routed_decodes, Rows::step})
    if (!of(rows).ops.empty()) cost += by_rows(rows, batch);
  cost += small_kernels_;
  cost.wait_for_host(host_time(batch));
  return cost;
}

Seconds StepModel::host_time(const BatchShape& batch) const {
  return engine_.host_time(batch);
}

// Before the host's own time. Each of several chains launches its kernels; small ones run under that too.
PlayedCost StepModel::no_sooner_than_host(PlayedCost played, const BatchShape& batch, double chains) const {
  played.cost += small_kernels_;
  const Seconds floor = engine_.floor(batch, chains * launches_);
  if (floor <= Seconds(0)) return played;
  const Seconds late = floor - played.cost.time;
  played.causes = 2 * played.causes + (late > Seconds(0));
  if (late > Seconds(0)) played.cost.wait_for_host(late);
  return played;
}

StepCost StepModel::step(const StepWork& work) const {
  if (!serial_ || !work.sub_batches.empty()) return played(work, false).cost;
  StepCost cost = without_attention(work.whole);
  for (const Placed& placed : attention_ops_)
    cost += attributed(kernel(placed.op, work.whole), placed.op, placed.times);
  if (const Seconds floor = engine_.floor(work.whole, launches_); floor > Seconds(0))
    cost.wait_for_host(std::max(Seconds(0), floor + host_time(work.whole) - cost.time));
  return limit_.kept(cost);
}

// Half of the operators of a stage beside host memory are for prompts, which few steps have.
bool StepModel::differs_without_prompts() const {
  return placed_.of_decodes || rank_.keeps_kv_elsewhere();
}

StageGraph StepModel::of_decodes() const {
  return placed_.of_decodes ? *placed_.of_decodes : without_prompts(placed_);
}

PlayedStep& StepModel::whole(const StepWork& work) const {
  if (work.whole.prefill_tokens > 0 || !differs_without_prompts()) return *with_prompts_.whole;
  if (!decodes_.whole) decodes_.whole = std::make_unique<PlayedStep>(rank_, of_decodes(), 1);
  return *decodes_.whole;
}

PlayedStep& StepModel::interleaved(const StepWork& work) const {
  if (collectives_elsewhere_)
    throw std::invalid_argument("collectives cannot be played as flows where sub-batches are interleaved");
  const std::optional<Alternations>& how = rank_.alternations;
  const bool alone = work.whole.prefill_tokens == 0 && (differs_without_prompts() || how);
  std::unique_ptr<PlayedStep>& step = alone ? decodes_.interleaved : with_prompts_.interleaved;
  if (!step)
    step = std::make_unique<PlayedStep>(rank_, alone ? of_decodes() : placed_, 2,
                                        !how    ? nullptr
                                        : alone ? &how->decodes
                                                : &how->prompts);
  return *step;
}

// Clocks are a cause like any other.
PlayedCost StepModel::played(const StepWork& work, bool causes) const {
  PlayedCost played = played_at_full_clocks(work, causes);
  const int level = limit_.level(played.cost);
  played.cost = limit_.at(level, played.cost);
  played.causes = (lowest_clock_level + 1) * played.causes + static_cast<std::uint64_t>(level);
  return played;
}

PlayedCost StepModel::played_at_full_clocks(const StepWork& work, bool causes) const {
  PlayedCost played;
  if (!work.sub_batches.empty())
    played = no_sooner_than_host(interleaved(work).cost(work.sub_batches, causes), work.whole, 2);
  if (work.sub_batches.empty() || work.whole_if_faster) {
    const PlayedCost one = no_sooner_than_host(whole(work).cost({&work.whole, 1}, causes), work.whole, 1);
    if (work.sub_batches.empty())
      played = one;
    else
      played = shorter(played, one);
  }
  played.cost.wait_for_host(host_time(work.whole));
  return played;
}

std::vector<OperatorSpan> StepModel::operators(const StepWork& work) const {
  bool split = !work.sub_batches.empty();
  if (split && work.whole_if_faster)
    split = interleaved(work).cost(work.sub_batches, false).cost.time <=
            whole(work).cost({&work.whole, 1}, false).cost.time;
  std::vector<OperatorSpan> spans =
      split ? interleaved(work).operators(work.sub_batches) : whole(work).operators({&work.whole, 1});
  const Seconds host = host_time(work.whole);
  const StepCost full = played_at_full_clocks(work, false).cost;
  const double slower = full.time > host ? (limit_.kept(full).time - host) / (full.time - host) : 1;
  for (OperatorSpan& span : spans) {
    span.start = host + slower * span.start;
    span.finish = host + slower * span.finish;
  }
  return spans;
}

std::optional<double> StepModel::expert_imbalance(const BatchShape& batch) const {
  if (!experts_) return {};
  return rank_load(*experts_->as<GroupedGemm>(), lowered(*experts_, batch).rows).imbalance;
}

std::vector<StepModel::CollectiveCall> StepModel::collectives(const BatchShape& batch) const {
  std::vector<CollectiveCall> calls;
  for (const Rows rows : {Rows::tokens, Rows::sequences, Rows::drafts, Rows::routed, Rows::routed_prompts,
                          Rows::routed_decodes})
    for (const auto& [op, times] : of(rows).ops) {
      const auto* call = op.as<Communication>();
      if (!call) continue;
      calls.push_back({*call, lowered(op, batch).rows * call->per_row, static_cast<std::int64_t>(times),
                       static_cast<std::size_t>(op.unit)});
    }
  return calls;
}

}  // namespace weir
