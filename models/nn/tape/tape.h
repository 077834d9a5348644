#pragma once
// The tape lists all that a training step does, in the order in which it is recorded: forward first, then the
// rules of gradients.h append the backward pass, then optimizer.h the updates. (Automatic differentiation
// calls this a tape.) For build_training_graph alone.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/nn/training_graph.h"

namespace weir {

using TensorShape = std::vector<std::int64_t>;

class Tape {
 public:
  struct Call {
    OperatorType type;
    std::vector<int> reads;
    std::vector<TensorShape> outputs = {};  // tensors that it makes
    std::vector<int> updates = {};          // tensors that it writes in place
    SlidingWindow window = {};              // of convolutions and pools
    double products = 0;                    // of matrix products: all terms of their sums
    std::int64_t patch_elements = 0;
    std::optional<Bytes> read = {}, written = {};  // where they are not those of whole tensors
  };
  struct Entry {
    TrainingOperator op;
    SlidingWindow window;
    double products = 0;
  };

  // Entries from here on belong to this phase and layer; their operators are called scope/Type.
  void enter(TrainingPhase phase, const std::string& layer, const std::string& scope);

  int fed(const std::string& name, TensorShape shape);
  int scalar(const std::string& name) { return fed(name, {}); }
  int variable(const std::string& name, TensorShape shape, bool trainable);
  int slot(const std::string& name, TensorShape shape);

  std::vector<int> append(const Call& call);  // the tensors that it makes
  int append(OperatorType type, std::vector<int> reads, TensorShape output);
  int append_one(const Call& call) { return append(call).front(); }

  const TensorShape& shape(int tensor) const { return tensors[index(tensor)].shape; }
  std::int64_t elements(int tensor) const { return tensors[index(tensor)].elements(); }
  // Whether a trainable variable has a part in it.
  bool needs_gradient(int tensor) const { return needs_gradient_[index(tensor)]; }

  std::vector<Entry> entries;
  std::vector<Tensor> tensors;

 private:
  static std::size_t index(int tensor) { return static_cast<std::size_t>(tensor); }
  int add(Tensor tensor, bool needs_gradient);
  std::string unique(const std::string& name);

  TrainingPhase phase_ = TrainingPhase::forward;
  std::string layer_, scope_;
  std::vector<bool> needs_gradient_;  // by tensor
  std::map<std::string, int> used_;   // names, and how often
};

inline constexpr double most_elements = 1e15;  // of a tensor, or of a matrix of patches
std::int64_t elements_of(const TensorShape& shape);
std::string to_string(const TensorShape& shape);  // "128 x 56 x 56 x 64"

}  // namespace weir
