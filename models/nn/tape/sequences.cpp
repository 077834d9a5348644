// Layers of nets that read words: tables, LSTMs.
#include <fmt/format.h>

#include <stdexcept>

#include "models/nn/tape/forward.h"

namespace weir {
namespace {

using Type = OperatorType;

constexpr std::int64_t most_cells = 100'000;  // a dozen operators each

}  // namespace

int ForwardPass::operation(const Embedding& layer) {
  if (!layer_->shares.empty()) throw std::invalid_argument("a table cannot be shared");
  const int table = variable("embeddings", {layer.rows, layer.width});
  TensorShape output = shape(input());
  output.push_back(layer.width);
  const Bytes rows(4. * static_cast<double>(elements_of(output)));
  const Bytes ids = tape_.tensors[static_cast<std::size_t>(input())].bytes();
  return tape_.append_one(
      {.type = Type::gather, .reads = {input(), table}, .outputs = {output}, .read = ids + rows});
}

struct ForwardPass::Cell {
  int weights, bias;
  int forget_bias;
  int memory, hidden;
  std::string scope;
};

// BasicLSTMCell, r1.4: i, j, f, o = split([x, h] W + b); c = c sigmoid(f + forget_bias) + sigmoid(i) tanh(j);
// h = tanh(c) sigmoid(o).
void ForwardPass::lstm_step(Cell& cell, int x, std::int64_t units) {
  const std::int64_t batch = shape(x)[0], in = shape(x)[1] + units;
  const int both = tape_.append(Type::concat, {x, cell.hidden}, {batch, in});
  const int product = tape_.append_one(
      {.type = Type::mat_mul,
       .reads = {both, cell.weights},
       .outputs = {{batch, 4 * units}},
       .products = static_cast<double>(batch) * static_cast<double>(tape_.elements(cell.weights))});
  const int gates = like(Type::bias_add, {product, cell.bias});
  const TensorShape state = {batch, units};
  const std::vector<int> each =
      tape_.append({.type = Type::split, .reads = {gates}, .outputs = {state, state, state, state}});
  const int forget = like(Type::sigmoid, {like(Type::add, {each[2], cell.forget_bias})});
  const int kept = like(Type::mul, {cell.memory, forget});
  const int input_gate = like(Type::sigmoid, {each[0]});
  const int candidate = like(Type::tanh, {each[1]});
  cell.memory = like(Type::add, {kept, like(Type::mul, {input_gate, candidate})});
  const int squashed = like(Type::tanh, {cell.memory});
  cell.hidden = like(Type::mul, {squashed, like(Type::sigmoid, {each[3]})});
}

// Step by step and layer by layer within a step, so that layers overlap as far as data allows.
int ForwardPass::operation(const Lstm& layer) {
  const TensorShape whole = shape(input());
  if (whole.size() != 3 || layer.units <= 0 || layer.layers <= 0)
    throw std::invalid_argument(
        fmt::format("cannot run {} layers of {} units over {}: it has to be batch x "
                    "steps x width",
                    layer.layers, layer.units, to_string(whole)));
  const std::int64_t batch = whole[0], steps = whole[1];
  if (steps > most_cells / layer.layers)
    throw std::invalid_argument(
        fmt::format("{} steps of {} cells are too many to unroll", steps, layer.layers));
  std::vector<Cell> cells;
  for (std::int64_t l = 0; l < layer.layers; ++l) {
    const std::string role = fmt::format("cell_{}", l);
    const std::int64_t in = (l == 0 ? whole[2] : layer.units) + layer.units;
    cells.push_back({.weights = variable(role + "/weights", {in, 4 * layer.units}),
                     .bias = variable(role + "/bias", {4 * layer.units}),
                     .forget_bias = constant(role + "/forget_bias", {}),
                     .memory = constant(role + "/memory", {batch, layer.units}),
                     .hidden = constant(role + "/hidden", {batch, layer.units}),
                     .scope = layer_->name + "/" + role});
  }
  const std::vector<int> words =
      tape_.append({.type = Type::unpack,
                    .reads = {input()},
                    .outputs = std::vector<TensorShape>(static_cast<std::size_t>(steps), {batch, whole[2]})});
  std::vector<int> outputs;
  for (std::int64_t step = 0; step < steps; ++step) {
    int at = words[static_cast<std::size_t>(step)];
    for (Cell& cell : cells) {
      tape_.enter(TrainingPhase::forward, layer_->name, fmt::format("{}/step_{}", cell.scope, step));
      lstm_step(cell, at, layer.units);
      at = layer.dropout == 0 ? cell.hidden : dropout(cell.hidden, layer.dropout);
    }
    outputs.push_back(at);
  }
  tape_.enter(TrainingPhase::forward, layer_->name, layer_->name);
  return tape_.append(Type::pack, outputs, {batch, steps, layer.units});
}

}  // namespace weir
