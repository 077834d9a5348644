// Layers that end a net.
#include <fmt/format.h>

#include <stdexcept>

#include "models/nn/tape/forward.h"

namespace weir {
namespace {

using Type = OperatorType;

}  // namespace

int ForwardPass::loss(int of_rows) {
  losses_.push_back(tape_.append(Type::mean, {of_rows}, {}));
  return losses_.back();
}

int ForwardPass::operation(const SoftmaxLoss&) {
  const TensorShape logits = shape(input());
  const std::int64_t classes = logits.back(), rows = elements_of(logits) / classes;
  const int labels = constant("labels", {rows});
  const int flat = logits.size() == 2 ? input() : tape_.append(Type::reshape, {input()}, {rows, classes});
  return loss(tape_.append_one({.type = Type::softmax_cross_entropy,
                                .reads = {flat, labels},
                                .outputs = {{rows}, {rows, classes}}}));  // losses; their gradient
}

// log(1 + exp(x)) - x z, which is what tf.nn.sigmoid_cross_entropy_with_logits computes in nine operators.
int ForwardPass::sigmoid_loss(int logits) {
  const int labels = constant("labels", shape(logits));
  return loss(like(Type::sub, {like(Type::softplus, {logits}), like(Type::mul, {logits, labels})}));
}

int ForwardPass::operation(const SigmoidLoss&) {
  return sigmoid_loss(input());
}

// tf.nn.nce_loss, r1.4: one lookup for labels and negatives together; the label's logit is a product of rows,
// summed by a matrix of ones; the negatives' are one matrix product.
// Its last step, the sum of a row's losses by another such product (0.5 % of the step's multiply-adds), is
// left to the mean here.
int ForwardPass::operation(const NceLoss& layer) {
  const TensorShape rows = shape(input());
  if (rows.size() != 2 || layer.rows <= 0 || layer.negatives <= 0)
    throw std::invalid_argument(
        fmt::format("cannot draw {} of {} words for {}", layer.negatives, layer.rows, to_string(rows)));
  if (!layer_->shares.empty()) throw std::invalid_argument("a table cannot be shared");
  const std::int64_t batch = rows[0], width = rows[1], drawn = layer.negatives;
  const int labels = constant("labels", {batch});
  const std::vector<int> sampled =  // and how often each was to be expected
      tape_.append(
          {.type = Type::candidate_sampler, .reads = {labels}, .outputs = {{drawn}, {batch, 1}, {drawn}}});
  const int ids = tape_.append(Type::concat, {labels, sampled[0]}, {batch + drawn});
  const auto lookup = [&](const char* role, TensorShape shape_of_all) {
    const int table = variable(role, std::move(shape_of_all));
    TensorShape found = shape(table);
    found.front() = batch + drawn;
    const Bytes read(4. * static_cast<double>(elements_of(found) + found.front()));
    return tape_.append_one({.type = Type::gather, .reads = {ids, table}, .outputs = {found}, .read = read});
  };
  const auto slice = [&](int from, TensorShape part) {
    const Bytes moved(4. * static_cast<double>(elements_of(part)));
    return tape_.append_one(
        {.type = Type::slice, .reads = {from}, .outputs = {std::move(part)}, .read = moved});
  };
  const int matrix = lookup("weights", {layer.rows, width}), biases = lookup("bias", {layer.rows, 1});

  const int product = like(Type::mul, {input(), slice(matrix, {batch, width})});
  const int ones = constant("ones", {width, 1});
  const int dots = tape_.append_one({.type = Type::mat_mul,
                                     .reads = {product, ones},
                                     .outputs = {{batch, 1}},
                                     .products = static_cast<double>(batch) * static_cast<double>(width)});
  const int label_logits = like(Type::add, {dots, slice(biases, {batch, 1})});
  const int label_odds = like(Type::sub, {label_logits, like(Type::log, {sampled[1]})});

  const int products =
      tape_.append_one({.type = Type::mat_mul,
                        .reads = {input(), slice(matrix, {drawn, width})},
                        .outputs = {{batch, drawn}},
                        .products = static_cast<double>(batch) * static_cast<double>(width * drawn)});
  const int drawn_logits = like(Type::add, {products, slice(biases, {drawn, 1})});
  const int drawn_odds = like(Type::sub, {drawn_logits, like(Type::log, {sampled[2]})});
  return sigmoid_loss(tape_.append(Type::concat, {label_odds, drawn_odds}, {batch, 1 + drawn}));
}

}  // namespace weir
