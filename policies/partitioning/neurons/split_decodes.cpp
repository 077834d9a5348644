#include "policies/partitioning/neurons/split_decodes.h"

#include <boost/range/iterator_range.hpp>
#include <optional>
#include <vector>

#include "policies/partitioning/neurons/neuron_use.h"
#include "policies/partitioning/units.h"

namespace weir {
namespace {

using Vertex = OperatorGraph::vertex_descriptor;

int last_running(std::span<const Unit> units, KernelKind kind) {
  for (int u = static_cast<int>(units.size()) - 1; u >= 0; --u)
    if (units[static_cast<std::size_t>(u)].runs(kind)) return u;
  return -1;
}

class Splitter {
 public:
  Splitter(const OperatorGraph& from, const LayerNeurons& neurons, const SplitUnits& units, OnlineMoves moves)
      : from_(from), neurons_(neurons), units_(units), moves_(moves), results_(boost::num_vertices(from)) {}

  OperatorGraph split() {
    for (const auto v : boost::make_iterator_range(boost::vertices(from_))) place(v);
    return std::move(to_);
  }

 private:
  // Where what an operator yields is, once it is; `row` bytes of each row.
  struct Result {
    std::optional<Vertex> on_device, in_host;
    bool made_on_device = false;
    Bytes row;
  };

  void place(Vertex v) {
    const Operator& op = from_[v];
    if (op.as<Attention>()) return attend(v);
    if (is_qkv(op)) return split_block(v, NeuronBlock::attention);
    if (begins_mlp(op)) return split_block(v, NeuronBlock::mlp);
    if (is_in_mlp(op)) {  // a part of the split block
      results_[v] = results_[only_input(v)];
      return;
    }
    if (op.as<Gemm>()) return project(v);
    // Norms and the like run where they find their input.
    bool on_device = false;
    for (const Vertex input : inputs_of(v)) on_device = on_device || results_[input].made_on_device;
    made(v, add(op, on_device ? units_.device : units_.activation, needs(v, on_device)), on_device);
  }

  std::vector<Vertex> inputs_of(Vertex v) const {
    std::vector<Vertex> inputs;
    for (const auto edge : boost::make_iterator_range(boost::in_edges(v, from_)))
      inputs.push_back(boost::source(edge, from_));
    return inputs;
  }
  Vertex only_input(Vertex v) const { return inputs_of(v).front(); }

  Vertex add(Operator op, int unit, const std::vector<Vertex>& after, int member = -1) {
    op.unit = unit;
    op.member = member;
    const Vertex v = boost::add_vertex(std::move(op), to_);
    for (const Vertex before : after) boost::add_edge(before, v, to_);
    return v;
  }

  Vertex copy(const char* name, Copy::Way way, Bytes row, const std::vector<Vertex>& after) {
    return add({.name = name, .kernel = Copy{way, row}, .rows = Rows::decodes}, units_.link, after,
               way == Copy::Way::out ? 0 : 1);
  }

  void made(Vertex v, Vertex as, bool on_device) {
    Result& result = results_[v];
    result.made_on_device = on_device;
    (on_device ? result.on_device : result.in_host) = as;
    result.row = hidden_row();
  }

  // A layer passes this on, and each block of neurons reads it.
  Bytes hidden_row() const {
    const Neurons& qkv = neurons_.kernels.attention;
    return Bytes(static_cast<double>(neurons_.count.attention) * bytes_per_element(qkv.outputs));
  }

  // The results that `v` needs, on that side; they are copied over the link where they are not.
  std::vector<Vertex> needs(Vertex v, bool on_device) {
    std::vector<Vertex> found;
    for (const Vertex input : inputs_of(v)) found.push_back(on(on_device, results_[input]));
    return found;
  }

  Vertex on(bool on_device, Result& result) {
    std::optional<Vertex>& here = on_device ? result.on_device : result.in_host;
    if (!here)
      here = copy(on_device ? "fetch" : "send", on_device ? Copy::Way::back : Copy::Way::out, result.row,
                  {*(on_device ? result.in_host : result.on_device)});
    return *here;
  }

  static Operator neurons_operator(const char* name, const Neurons& kernel, NeuronTask task,
                                   NeuronBlock block) {
    return {.name = name, .kernel = kernel, .slot = neuron_load(task, block)};
  }

  // Both sides at once; what the device has worked out is added up with the rest on the DIMMs.
  void split_block(Vertex v, NeuronBlock block) {
    const bool qkv = block == NeuronBlock::attention;
    const Neurons& kernel = neurons_.kernels[block];
    const std::int64_t outputs = qkv ? kernel.width : neurons_.count.attention;
    const Bytes row(static_cast<double>(outputs) * bytes_per_element(kernel.outputs));
    const std::vector<Vertex> in_host = needs(v, false), on_device = needs(v, true);
    const Vertex hot =
        add(neurons_operator(qkv ? "qkv_hot" : "mlp_hot", kernel, NeuronTask::on_device, block),
            units_.device, on_device);
    const Vertex sent = copy("send", Copy::Way::out, row, {hot});
    const Vertex cold =
        add(neurons_operator(qkv ? "qkv_cold" : "mlp_cold", kernel, NeuronTask::in_host, block), units_.dimms,
            in_host);
    made(v, add({.name = "merge", .kernel = Elementwise{3 * row}}, units_.activation, {sent, cold}), false);
  }

  void attend(Vertex v) {
    Attention heads = std::get<Attention>(from_[v].kernel);
    heads.part = Attention::Part::decodes;
    Operator op{.name = "decode_attention", .kernel = heads, .rows = Rows::decodes};
    made(v, add(std::move(op), units_.dimms, needs(v, false)), false);  // all DIMMs at once
    results_[v].row = bytes_per_query(heads);
  }

  void project(Vertex v) {
    const std::vector<Vertex> inputs = needs(v, true);
    if (is_projection(from_[v])) add_moves(inputs);
    made(v, add(from_[v], units_.device, inputs), true);
  }

  // While the device computes the projection, the DIMMs and the links are free. Nobody waits for these but
  // the next layer.
  void add_moves(const std::vector<Vertex>& beside) {
    for (const NeuronBlock block : neuron_blocks) {
      const Copy neuron{Copy::Way::back, bytes_per_neuron(neurons_.kernels[block])};
      const auto move = [&](const char* name, NeuronTask task) {
        return Operator{.name = name, .kernel = neuron, .rows = Rows::step, .slot = neuron_load(task, block)};
      };
      if (moves_.swaps) add(move("swap", NeuronTask::swapped), units_.link, beside, 1);
      if (moves_.remaps && units_.dimm_links >= 0)
        add(move("remap", NeuronTask::moved), units_.dimm_links, beside);
    }
  }

  const OperatorGraph& from_;
  const LayerNeurons& neurons_;
  SplitUnits units_;
  OnlineMoves moves_;
  OperatorGraph to_;
  std::vector<Result> results_;
};

}  // namespace

SplitUnits split_units(std::span<const Unit> units, const char* policy) {
  SplitUnits split{unit_for(units, KernelKind::gemm, "GEMMs", policy), last_running(units, neurons_kind),
                   last_running(units, KernelKind::elementwise), host_link(units),
                   last_running(units, KernelKind::copy)};
  if (split.dimms < 0 || split.dimms == split.device || split.link < 0)
    throw std::invalid_argument(
        std::string(policy) +
        " needs host memory that computes neurons, such as ndp_dimm, among the devices of the node (the "
        "device has " +
        unit_names(units) + ")");
  if (split.dimm_links == split.link) split.dimm_links = -1;
  return split;
}

OperatorGraph split_decodes(const OperatorGraph& part, const LayerNeurons& neurons, const SplitUnits& units,
                            OnlineMoves moves) {
  return Splitter(part, neurons, units, moves).split();
}

}  // namespace weir
