#pragma once
// A neural network as a list of layers, forward only: what a paper's table or a catalog file says. Shapes of
// inputs leave out the batch; everything else (shapes of tensors, gradients, the optimiser's updates) follows
// from the list (training_graph.h). Maps are height x width x channels, TensorFlow's default (NHWC).
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "models/nn/sliding_window.h"
#include "sim/core/params.h"

namespace weir {

// An operation is done to [batch, ...]. Comments say its input -> its output, without the batch.
struct Convolution {  // [h, w, c] -> [h', w', filters]
  std::int64_t filters = 0;
  SlidingWindow window;
};

struct TransposedConvolution {  // [h, w, c] -> [h stride, w stride, filters]; padding is `same`
  std::int64_t filters = 0;
  SlidingWindow window;
};

struct Dense {  // [..., c] -> [..., units], a matrix product a row
  std::int64_t units = 0;
};

struct Pooling {  // [h, w, c] -> [h', w', c]
  enum class Reduction { max, average };
  Reduction reduction = Reduction::max;
  SlidingWindow window;
};

struct Activate {};  // itself: batch norm and activation alone (residual sums)
struct Flatten {};   // [a, b, ...] -> [a b ...]

struct Unflatten {  // [height width c] -> [height, width, c]
  std::int64_t height = 1, width = 1;
};

struct Concatenation {};  // several -> one, along the last axis
struct Addition {};       // several of one shape -> their sum

struct Broadcast {  // [c] -> [height, width, c], a copy a position (labels beside an image's channels)
  std::int64_t height = 1, width = 1;
};

struct Embedding {  // [...] of ids -> [..., width], rows of a table
  std::int64_t rows = 0, width = 0;
};

// [steps, c] -> [steps, units]: layers of LSTM cells without peepholes, unrolled, as TensorFlow's
// MultiRNNCell of BasicLSTMCell; `dropout` is that of every cell's output (Zaremba et al. 2014).
struct Lstm {
  std::int64_t units = 0, layers = 1;
  double dropout = 0;
};

// Losses, means over rows; the gradients start at them. A net may have several, which are added.
struct SoftmaxLoss {};  // [..., classes]: sparse softmax cross entropy with labels that are fed
struct SigmoidLoss {};  // [...]: sigmoid cross entropy with labels that are fed
// [c]: noise-contrastive estimation (tf.nn.nce_loss) of one label a row among `rows`, against so many drawn
// ones that the rows share.
struct NceLoss {
  std::int64_t rows = 0, negatives = 0;
};

using LayerOperation =
    std::variant<Convolution, TransposedConvolution, Dense, Pooling, Activate, Flatten, Unflatten,
                 Concatenation, Addition, Broadcast, Embedding, Lstm, SoftmaxLoss, SigmoidLoss, NceLoss>;

enum class Activation { none, relu, leaky_relu, sigmoid, tanh };

struct Layer {
  std::string name;
  LayerOperation operation;
  std::vector<std::string> from = {};  // inputs or layers before this one; empty: the layer just before
  // These follow the operation, in this order.
  bool bias = false;
  bool batch_norm = false;
  Activation activation = Activation::none;
  double dropout = 0;  // the probability that an element is dropped; 0: no dropout

  std::string shares = {};  // has the variables of that layer; empty: its own
  bool trainable = true;    // the step updates its variables; shared ones follow their owner
};

enum class Optimizer { gradient_descent, momentum, adam };

struct NetInput {
  std::string name;
  std::vector<std::int64_t> shape;  // without the batch
};

struct Net {
  std::string name;
  std::string summary = {};                           // one line
  std::int64_t batch = 1;                             // of a training step, unless another is asked for
  Optimizer optimizer = Optimizer::gradient_descent;  // dense layers and convolutions may have any
  bool clip_by_norm = false;     // gradients are scaled by their global norm (tf.clip_by_global_norm)
  bool batch_norm_scale = true;  // batch norms have a scale beside their offset
  std::vector<NetInput> inputs = {};
  std::vector<Layer> layers = {};  // every one after those that it reads

  static Net from(Params& params);
};

}  // namespace weir
