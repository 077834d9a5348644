#include "models/nn/tape/tape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <stdexcept>

namespace weir {
namespace {

using Per = UnitWork::Per;

double times(Per per, const Tape::Call& call, const Tape& tape, std::int64_t written) {
  const auto elements = [&](int tensor) { return static_cast<double>(tape.elements(tensor)); };
  const double window = static_cast<double>(call.window.elements());
  switch (per) {
    case Per::product:
      return call.products;
    case Per::written:
      return static_cast<double>(written);
    case Per::first_read:
      return elements(call.reads.front());
    case Per::last_read:
      return elements(call.reads.back());
    case Per::window_written:
      return window * static_cast<double>(written);
    case Per::window_read:
      return window * elements(call.reads.front());
  }
  return 0;
}

Bytes bytes_of(const Tape& tape, const std::vector<int>& tensors) {
  Bytes sum;
  for (const int tensor : tensors) sum += tape.tensors[static_cast<std::size_t>(tensor)].bytes();
  return sum;
}

}  // namespace

std::int64_t elements_of(const TensorShape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::string to_string(const TensorShape& shape) {
  return shape.empty() ? "a scalar" : fmt::format("{}", fmt::join(shape, " x "));
}

void Tape::enter(TrainingPhase phase, const std::string& layer, const std::string& scope) {
  phase_ = phase;
  layer_ = layer;
  scope_ = scope;
}

// Products of sizes would leave 64 bits where these are beyond all memories.
int Tape::add(Tensor tensor, bool needs_gradient) {
  double elements = 1;
  for (const std::int64_t extent : tensor.shape) elements *= static_cast<double>(extent);
  if (elements > most_elements)
    throw std::invalid_argument(fmt::format("a tensor of {} is too large", to_string(tensor.shape)));
  tensors.push_back(std::move(tensor));
  needs_gradient_.push_back(needs_gradient);
  return static_cast<int>(tensors.size()) - 1;
}

int Tape::fed(const std::string& name, TensorShape shape) {
  return add({name, TensorKind::fed, std::move(shape), layer_}, false);
}

int Tape::variable(const std::string& name, TensorShape shape, bool trainable) {
  return add({name, TensorKind::variable, std::move(shape), layer_}, trainable);
}

int Tape::slot(const std::string& name, TensorShape shape) {
  return add({name, TensorKind::slot, std::move(shape), layer_}, false);
}

// As TensorFlow does it: the second one is name_1.
std::string Tape::unique(const std::string& name) {
  const int before = used_[name]++;
  return before == 0 ? name : fmt::format("{}_{}", name, before);
}

std::vector<int> Tape::append(const Call& call) {
  TrainingOperator op;
  op.name = unique(fmt::format("{}{}{}", scope_, scope_.empty() ? "" : "/", to_string(call.type)));
  op.type = call.type;
  op.phase = phase_;
  op.layer = layer_;
  op.reads = call.reads;
  op.writes = call.updates;
  op.patch_elements = call.patch_elements;
  const bool needs = std::ranges::any_of(call.reads, [&](int read) { return needs_gradient(read); });
  std::vector<int> made;
  std::int64_t written = 0;
  for (const TensorShape& output : call.outputs) {
    const TensorKind kind = phase_ == TrainingPhase::forward ? TensorKind::activation : TensorKind::gradient;
    const std::size_t which = made.size();
    const std::string name = which == 0 ? op.name : fmt::format("{}:{}", op.name, which);
    made.push_back(add({name, kind, output, layer_}, needs));
    written += elements(made.back());
  }
  op.writes.insert(op.writes.end(), made.begin(), made.end());
  const UnitWork unit = unit_work(call.type);
  op.work = times(unit.per, call, *this, written) * unit.work;
  if (call.type == OperatorType::add_n) op.work = static_cast<double>(call.reads.size() - 1) * op.work;
  const bool slides = call.window.elements() > 1 || unit.per == Per::window_read ||
                      unit.per == Per::window_written || call.type <= OperatorType::conv2d_backprop_input;
  op.window = slides ? call.window.elements() : 0;
  op.sliding = call.window;
  if (call.type != OperatorType::reshape) {
    op.bytes_read = call.read.value_or(bytes_of(*this, op.reads));
    op.bytes_written = call.written.value_or(bytes_of(*this, op.writes));
  }
  entries.push_back({std::move(op), call.window, call.products});
  return made;
}

int Tape::append(OperatorType type, std::vector<int> reads, TensorShape output) {
  return append_one({.type = type, .reads = std::move(reads), .outputs = {std::move(output)}});
}

}  // namespace weir
