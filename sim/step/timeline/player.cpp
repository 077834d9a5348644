#include "sim/step/timeline/player.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

namespace weir {
namespace {

constexpr std::int32_t done = -1;
// Events this close, relative to the clock, are one moment: sums of some thousand terms that should be equal
// are.
constexpr double moment = 1 + 1e-12;

}  // namespace

Timeline::Player::Player(const StepGraph& described, PlacementPolicy policy)
    : graph(described), policy_(std::move(policy)), fair_share_(graph.capacities) {
  const auto members = static_cast<std::size_t>(graph.members);
  queues_.resize(graph.units.size());
  parts_.resize(graph.parts.size());
  for (std::size_t p = 0; p < parts_.size(); ++p)
    parts_[p].left.resize(static_cast<std::size_t>(graph.parts[p].layers));
  waits_.resize(static_cast<std::size_t>(graph.instances));
  for (const auto& unit : graph.units) words_ = std::max(words_, (unit.members + word - 1) / word);
  held_members_.resize(graph.units.size() * static_cast<std::size_t>(words_));
  if (graph.followed) chosen_.resize(waits_.size());
  started_.resize(graph.operators.size());
  prepared_.resize(graph.alternatives.size() +
                   (graph.by_instance ? static_cast<std::size_t>(graph.instances) : 0));
  needs_.resize(prepared_.size() * static_cast<std::size_t>(words_));
  wanted_.resize(static_cast<std::size_t>(words_));
  held_.resize(members);
  last_on_.resize(members);
  last_drawing_.resize(graph.capacities.size());
  bytes_.resize(graph.capacities.size());
  demand_.resize(graph.capacities.size());
  result_.bytes.resize(graph.capacities.size());
  for (const auto& unit : graph.units) {
    result_.busy.emplace_back(static_cast<std::size_t>(unit.members));
    unit_states_.push_back({std::vector<Seconds>(static_cast<std::size_t>(unit.members)), unit.amount, 0, 0});
  }
}

const StepResult& Timeline::Player::evaluate(const EvaluateOptions& options) {
  std::fill(held_.begin(), held_.end(), 0.0);
  std::fill(bytes_.begin(), bytes_.end(), 0.0);
  now_ = skipped_ = 0;
  turned_ = 0;
  causes_ = 0;
  wants_causes_ = options.causes;
  slowed_any_ = false;
  ++evaluation_;
  graph.check_values();
  result_.skipped_layers = 0;
  if (graph.chooses) result_.runs.assign(graph.alternatives.size(), 0);
  play(options);
  write_result();
  return result_;
}

void Timeline::Player::write_result() {
  result_.total = Seconds(now_ + skipped_);
  for (const auto& unit : graph.units)
    if (unit.turns)
      std::rotate(held_.begin() + unit.first_member,
                  held_.begin() + unit.first_member + (unit.members - turned_ % unit.members) % unit.members,
                  held_.begin() + unit.first_member + unit.members);
  if (wants_causes_) add_last_cause();
  result_.causes = causes_;
  result_.slowed = slowed_any_;
  std::size_t member = 0;
  for (auto& unit : result_.busy)
    for (Seconds& busy : unit) busy = Seconds(held_[member++]);
  for (std::size_t r = 0; r < bytes_.size(); ++r) result_.bytes[r] = Bytes(bytes_[r]);
}

void Timeline::Player::play(const EvaluateOptions& options) {
  reset(options);
  while (true) {
    place_ready();
    start_waiting();
    if (speeds_stale_) update_speeds();
    if (begun_ >= 0) fold(begun_);
    if (running_.empty()) return refuse_order();
    now_ = infinity;
    for (const Running& running : running_) now_ = std::min(now_, running.finish);
    finish_due();
  }
}

void Timeline::Player::reset(const EvaluateOptions& options) {
  trace_ = options.trace;
  if (trace_ != nullptr) trace_->clear();
  marked_ = options.marked;
  marks_ = options.marks;
  if (marks_ != nullptr) marks_->clear();
  ready_.clear();
  running_.clear();
  changed_.clear();
  speeds_stale_ = false;
  begun_ = reference_.part = ending_ = -1;
  std::ranges::fill(last_on_, LastOn{});
  std::ranges::fill(last_drawing_, -1);
  for (Queue& queue : queues_) {
    queue.waiting.clear();
    queue.changed = false;
  }
  std::ranges::fill(held_members_, 0);
  std::ranges::fill(started_, 0);
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    const auto& part = graph.parts[p];
    PartState& state = parts_[p];
    state.layers = part.layers;
    state.touched = state.low = 0;
    state.latest_done = state.begun = -1;
    state.folds = options.fold && trace_ == nullptr && !part.unlike && part.layers > 2;
    state.turn = turn_of(part);
    touch(static_cast<int>(p), 0);
    for (const int op : part.first_roots) make_ready(op, 0);
    for (std::int64_t layer = 1; !part.next_roots.empty() && layer < part.layers; ++layer) {
      touch(static_cast<int>(p), layer);
      for (const int op : part.next_roots) make_ready(op, layer);
    }
  }
}

void Timeline::Player::touch(int p, std::int64_t layer) {
  const auto& part = graph.parts[static_cast<std::size_t>(p)];
  PartState& state = parts_[static_cast<std::size_t>(p)];
  for (; state.touched <= layer; ++state.touched) {
    const auto& waits = state.touched == 0 ? part.first_waits : part.next_waits;
    std::copy(waits.begin(), waits.end(),
              waits_.begin() + part.first_instance + state.touched * part.operators);
    if (graph.followed)
      std::fill_n(chosen_.begin() + part.first_instance + state.touched * part.operators, part.operators, 0);
    state.left[static_cast<std::size_t>(state.touched)] = part.operators;
  }
}

void Timeline::Player::make_ready(int op, std::int64_t layer) {
  const auto& compiled = graph.operators[static_cast<std::size_t>(op)];
  const auto& part = graph.parts[static_cast<std::size_t>(compiled.part)];
  PartState& state = parts_[static_cast<std::size_t>(compiled.part)];
  const int id = part.first_instance + static_cast<int>(layer) * part.operators + compiled.local;
  ready_.push_back({id, op, static_cast<int>(layer), ending_});
  std::push_heap(ready_.begin(), ready_.end(), std::greater<>());
  if (op == part.anchor && state.folds && layer > state.begun) {
    state.begun = layer;
    begun_ = compiled.part;
  }
}

void Timeline::Player::one_less(int op, std::int64_t layer) {
  const auto& compiled = graph.operators[static_cast<std::size_t>(op)];
  const auto& part = graph.parts[static_cast<std::size_t>(compiled.part)];
  const auto id = part.first_instance + layer * part.operators + compiled.local;
  if (--waits_[static_cast<std::size_t>(id)] == 0) make_ready(op, layer);
}

void Timeline::Player::complete(const Waiting& finished, double start) {
  const auto& op = graph.operators[static_cast<std::size_t>(finished.op)];
  const int* resources = graph.draw_resources.data() + finished.way->first_draw;
  for (int d = 0; d < finished.way->draws; ++d)
    bytes_[static_cast<std::size_t>(resources[d])] += finished.rates[d].value() * finished.alone;
  if (trace_ != nullptr)
    trace_->push_back({finished.op, finished.layer, finished.alternative - op.first_alternative,
                       Seconds(finished.ready), Seconds(start), Seconds(now_)});
  if (marks_ != nullptr && std::ranges::find(marked_, finished.op) != marked_.end())
    marks_->push_back({finished.op, Seconds(now_ + skipped_)});

  if (graph.chooses) ++result_.runs[static_cast<std::size_t>(finished.alternative)];
  waits_[static_cast<std::size_t>(finished.id)] = done;
  ending_ = finished.id;
  PartState& state = parts_[static_cast<std::size_t>(op.part)];
  state.latest_done = std::max<std::int64_t>(state.latest_done, finished.layer);
  --state.left[static_cast<std::size_t>(finished.layer)];
  while (state.low < state.touched && state.left[static_cast<std::size_t>(state.low)] == 0) ++state.low;

  const int* successors = graph.successors.data();
  for (int s = op.first_next; s < op.first_carry; ++s) one_less(successors[s], finished.layer);
  if (finished.layer + 1 < state.layers) {
    if (op.first_carry < op.first_leave) touch(op.part, finished.layer + 1);
    for (int s = op.first_carry; s < op.first_leave; ++s) one_less(successors[s], finished.layer + 1);
  } else {
    for (int s = op.first_leave; s < op.end; ++s) one_less(successors[s], 0);
  }
}

void Timeline::Player::finish_due() {
  const double due = now_ * moment;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < running_.size(); ++i) {
    bool finished = false;
    while (!finished && running_[i].finish <= due) finished = pass_milestone(running_[i]);
    if (finished) continue;
    if (kept != i) running_[kept] = running_[i];
    ++kept;
  }
  running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(kept), running_.end());
}

// True if the operator is over, not only one of its portions.
bool Timeline::Player::pass_milestone(Running& running) {
  advance(running, running.milestone);
  unit_changed(running.way->unit);
  if (running.milestone < running.alone) {
    aim(running);
    return false;
  }
  speeds_stale_ = true;
  complete(running, running.start);
  return true;
}

void Timeline::Player::place_ready() {
  while (!ready_.empty()) {
    std::pop_heap(ready_.begin(), ready_.end(), std::greater<>());
    const Instance instance = ready_.back();
    ready_.pop_back();
    const auto& op = graph.operators[static_cast<std::size_t>(instance.op)];
    const Waiting waiting = placed(instance, op.first_alternative + way_of(instance));
    if (waiting.alone > 0) {
      enqueue(waiting);
      continue;
    }
    if (wants_causes_) add_causes(waiting);
    complete(waiting, now_);
  }
}

Timeline::Player::Waiting Timeline::Player::placed(const Instance& instance, int alternative) {
  const auto& op = graph.operators[static_cast<std::size_t>(instance.op)];
  const auto& part = graph.parts[static_cast<std::size_t>(op.part)];
  const auto& way = graph.alternatives[static_cast<std::size_t>(alternative)];
  const Seconds* times = graph.times_of(way, part, instance.layer);
  const BytesPerSecond* rates = graph.rates_of(way, part, instance.layer);
  const bool each_layer = part.unlike || way.turns > 0;
  const std::size_t slot = each_layer ? graph.alternatives.size() + static_cast<std::size_t>(instance.id)
                                      : static_cast<std::size_t>(alternative);
  Prepared& prepared = prepared_[slot];
  std::uint64_t* needs = needs_.data() + slot * static_cast<std::size_t>(words_);
  if (prepared.evaluation != evaluation_) prepare(prepared, needs, way, times, instance.layer);
  return {instance, alternative, &way, times, rates, needs, prepared.slowest, times[prepared.slowest].value(),
          now_,     part.yields};
}

void Timeline::Player::prepare(Prepared& prepared, std::uint64_t* needs, const FlatGraph::Alternative& way,
                               const Seconds* times, std::int64_t layer) const {
  prepared = {evaluation_, 0};
  std::fill_n(needs, words_, 0);
  for (int i = 0; i < way.portions; ++i) {
    if (!(times[i].value() > 0)) continue;
    const int member = graph.member_of(way, i, layer);
    needs[member / word] |= bit(member);
    if (times[prepared.slowest] < times[i]) prepared.slowest = i;
  }
}

}  // namespace weir
