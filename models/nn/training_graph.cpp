#include "models/nn/training_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <stdexcept>

#include "models/nn/tape/forward.h"
#include "models/nn/tape/gradients.h"
#include "models/nn/tape/optimizer.h"

namespace weir {
namespace {

using Kind = TensorDependence::Kind;

struct TensorUse {
  std::vector<std::size_t> readers;  // that do not update it
  std::size_t writer = none;         // or, of what outlives the step, updater
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
};

bool outlives_step(const Tensor& tensor) {
  return tensor.kind == TensorKind::variable || tensor.kind == TensorKind::slot;
}

std::vector<TensorUse> uses_of(const TrainingGraph& graph) {
  std::vector<TensorUse> uses(graph.tensors.size());
  for (std::size_t v = 0; v < boost::num_vertices(graph.operators); ++v) {
    const TrainingOperator& op = graph.operators[v];
    for (const int tensor : op.writes) uses[static_cast<std::size_t>(tensor)].writer = v;
    for (const int tensor : op.reads) {
      TensorUse& use = uses[static_cast<std::size_t>(tensor)];
      if (use.writer == v || (!use.readers.empty() && use.readers.back() == v)) continue;
      use.readers.push_back(v);
    }
  }
  return uses;
}

void connect(TrainingGraph& graph) {
  const std::vector<TensorUse> uses = uses_of(graph);
  for (std::size_t t = 0; t < uses.size(); ++t) {
    const auto& [readers, writer] = uses[t];
    if (writer == TensorUse::none) continue;
    const int tensor = static_cast<int>(t);
    const bool updated = outlives_step(graph.tensors[t]);
    for (const std::size_t reader : readers) {
      if (updated) {
        boost::add_edge(reader, writer, {Kind::anti, tensor}, graph.operators);
        graph.carried.push_back({writer, reader, tensor});
      } else {
        boost::add_edge(writer, reader, {Kind::data, tensor}, graph.operators);
      }
    }
    if (updated) graph.carried.push_back({writer, writer, tensor});
  }
}

}  // namespace

std::int64_t Tensor::elements() const {
  return elements_of(shape);
}

TrainingGraph build_training_graph(const Net& net) {
  return build_training_graph(net, net.batch);
}

TrainingGraph build_training_graph(const Net& net, std::int64_t batch) try {
  if (batch <= 0) throw std::invalid_argument(fmt::format("a batch of {} has to be positive", batch));
  if (net.layers.empty()) throw std::invalid_argument("it has no layers");
  Tape tape;
  const ForwardPass forward(tape, net, batch);
  if (forward.losses().empty()) throw std::invalid_argument("none of its layers is a loss");
  append_updates(tape, append_backward(tape, forward.losses()), net.optimizer, net.clip_by_norm);
  TrainingGraph graph{net.name, batch, {}, std::move(tape.tensors), {}};
  for (const Tape::Entry& entry : tape.entries) boost::add_vertex(entry.op, graph.operators);
  connect(graph);
  return graph;
} catch (const std::invalid_argument& error) {
  throw std::invalid_argument(fmt::format("{}: {}", net.name, error.what()));
}

}  // namespace weir
