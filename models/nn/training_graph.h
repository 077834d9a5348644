#pragma once
// One training step of a net as a graph of TensorFlow's operators: forward, backward, optimiser. Runtimes
// place these operators and machines time them; nothing here knows of a machine or a clock. An operator here
// is one invocation, whole, for the whole batch (models/llm's is a row's share of a layer that repeats).
//
// Everything is 32 bits wide: FP32 values, int32 ids.
#include <boost/graph/adjacency_list.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/nn/net.h"
#include "models/nn/operator_type.h"
#include "sim/core/units.h"

namespace weir {

enum class TensorKind {
  fed,         // from outside the step: images, labels, ids, constants
  variable,    // parameters; they outlive the step
  slot,        // the optimiser's own state of a variable (moments); it outlives the step
  activation,  // of the forward pass
  gradient,    // of the backward pass and the optimiser
};

struct Tensor {
  std::string name;
  TensorKind kind = TensorKind::activation;
  std::vector<std::int64_t> shape;  // whole, the batch first where it has one; empty: a scalar
  std::string layer = {};           // whose it is; of a shared variable its owner

  std::int64_t elements() const;
  Bytes bytes() const { return Bytes(4. * static_cast<double>(elements())); }
};

enum class TrainingPhase { forward, backward, update };

struct TrainingOperator {
  std::string name;  // layer and type, unique in the step: "conv1_1/Conv2D", "gradients/fc6/MatMul_1"
  OperatorType type = OperatorType::conv2d;
  TrainingPhase phase = TrainingPhase::forward;
  std::string layer;               // whose it is; empty: of the whole net
  std::vector<int> reads, writes;  // indices into TrainingGraph::tensors; an update writes what it reads
  Arithmetic work;                 // without the patch matrix
  // Every tensor once, as if caches held it whole; of a table only the rows that are looked up or updated. A
  // reshape moves nothing.
  Bytes bytes_read, bytes_written;
  std::int64_t window = 0;     // elements of the window of a convolution or pool, height x width; else 0
  SlidingWindow sliding = {};  // of such a window
  // Elements of the matrix of patches (im2col) of a convolution or of one of its gradients: positions x
  // window x input channels, over the batch. A 1 x 1 window needs none: 0.
  std::int64_t patch_elements = 0;
};

struct TensorDependence {
  enum class Kind {
    data,  // the target reads what the source writes
    anti   // the target updates what the source reads, so it waits
  };
  Kind kind = Kind::data;
  int tensor = 0;  // index into TrainingGraph::tensors
};

// Vertices are numbered in a topological order: forward, backward, updates.
using TrainingOperators = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS,
                                                TrainingOperator, TensorDependence>;

// A dependence that a loop carries: `to` of the next step waits for `from` of this one.
struct CarriedDependence {
  std::size_t from = 0, to = 0;  // vertices: an update, and a reader of the variable or slot
  int tensor = 0;
};

struct TrainingGraph {
  std::string net;
  std::int64_t batch = 0;
  TrainingOperators operators;
  std::vector<Tensor> tensors;
  std::vector<CarriedDependence> carried;
};

// The step for a batch of so many, or the net's own. Gradients of all losses are derived by walking the
// forward operators backwards, with TensorFlow's rule for each type, to the variables of trainable layers and
// no further. Regularisation, moving averages of batch norms, and summaries are left out. Throws
// std::invalid_argument, with the net's and the layer's name, where the list makes no net: a window beyond
// its input, unlike shapes, an unknown layer, no loss, nothing to train.
TrainingGraph build_training_graph(const Net& net);
TrainingGraph build_training_graph(const Net& net, std::int64_t batch);

// Sums over the step.
std::map<OperatorType, int> count_by_type(const TrainingGraph& graph);
Arithmetic arithmetic_of(const TrainingGraph& graph);
// Convolutions, their gradients and matrix products alone are counted: a multiply-add is two.
Flops matrix_flops(const TrainingGraph& graph);
double patch_elements_of_gradients(const TrainingGraph& graph);
Bytes bytes_moved(const TrainingGraph& graph);  // read and written
std::int64_t trained_parameters(const TrainingGraph& graph);

// When a tensor is needed, if operators run one by one in the order of their vertices.
struct TensorLifetime {
  int written = -1;    // the vertex that makes it; -1: there before the step
  int last_read = -1;  // -1: nobody reads it
};
std::vector<TensorLifetime> lifetimes(const TrainingGraph& graph);  // by tensor
// The most that the step holds at once then: fed tensors, variables and slots throughout, the rest while they
// live. Reshaped tensors count once.
Bytes peak_bytes(const TrainingGraph& graph);

}  // namespace weir
