#pragma once
// The forward pass of a net, layer by layer, onto a tape. For build_training_graph alone.
#include <map>
#include <string>
#include <vector>

#include "models/nn/tape/tape.h"

namespace weir {

class ForwardPass {
 public:
  // Throws std::invalid_argument, with the layer's name, where a layer does not fit its inputs.
  ForwardPass(Tape& tape, const Net& net, std::int64_t batch);
  const std::vector<int>& losses() const { return losses_; }  // scalars

 private:
  struct Cell;  // of an LSTM: its weights and its state between two steps

  void append(const Layer& layer);
  std::vector<int> inputs_of(const Layer& layer) const;
  // The layer's own, or those of the layer that it shares them with, which are of the same shape.
  int variable(const std::string& role, TensorShape shape);
  int constant(const std::string& what, TensorShape shape);

  int operation(const Convolution& layer);
  int operation(const TransposedConvolution& layer);
  int operation(const Dense& layer);
  int operation(const Pooling& layer);
  int operation(const Activate& layer);
  int operation(const Flatten& layer);
  int operation(const Unflatten& layer);
  int operation(const Concatenation& layer);
  int operation(const Addition& layer);
  int operation(const Broadcast& layer);
  int operation(const Embedding& layer);
  int operation(const Lstm& layer);
  int operation(const SoftmaxLoss& layer);
  int operation(const SigmoidLoss& layer);
  int operation(const NceLoss& layer);

  void lstm_step(Cell& cell, int x, std::int64_t units);
  int sigmoid_loss(int logits);
  int loss(int of_rows);
  int bias(int x);
  int batch_norm(int x);
  int activation(int x);
  int dropout(int x, double probability);

  int input() const { return inputs_.front(); }
  const TensorShape& shape(int tensor) const { return tape_.shape(tensor); }
  int like(OperatorType type, std::vector<int> reads);  // yields the shape of its first input

  Tape& tape_;
  const Net& net_;
  const Layer* layer_ = nullptr;          // the one being appended,
  std::vector<int> inputs_;               // and what it reads
  std::map<std::string, int> outputs_;    // by input or layer
  std::map<std::string, int> variables_;  // by layer/role
  std::vector<int> losses_;
};

}  // namespace weir
