// A net's file: models/nn/catalog, or a user's own.
#include <fmt/format.h>

#include <cmath>

#include "models/nn/net.h"

namespace weir {
namespace {

// Sizes of layers: far beyond any net, and their products still fit 64 bits.
constexpr Range<std::int64_t> size{1, 10'000'000};
constexpr Range<double> dropout_range{0, 0.999};

const Choices<Activation> activations = {{"none", Activation::none},
                                         {"relu", Activation::relu},
                                         {"leaky_relu", Activation::leaky_relu},
                                         {"sigmoid", Activation::sigmoid},
                                         {"tanh", Activation::tanh}};
const Choices<Optimizer> optimizers = {{"gradient_descent", Optimizer::gradient_descent},
                                       {"momentum", Optimizer::momentum},
                                       {"adam", Optimizer::adam}};
const Choices<Padding> paddings = {{"same", Padding::same}, {"valid", Padding::valid}};

std::vector<std::int64_t> sizes(Params& params, Key key, std::size_t at_least) {
  std::vector<std::int64_t> whole;
  for (const double each : params.numbers(key, at_least, {1, 1e7})) {
    if (each != std::floor(each)) params.fail(key.name, fmt::format("expected whole numbers, got {}", each));
    whole.push_back(static_cast<std::int64_t>(each));
  }
  return whole;
}

SlidingWindow read_window(Params& params) {
  SlidingWindow window;
  const std::vector<std::int64_t> sides = sizes(params, {"window", "Its height and width."}, 2);
  if (sides.size() > 2) params.fail("window", "expected a height and a width");
  if (sides.size() == 2) {
    window.height = sides[0];
    window.width = sides[1];
  }
  window.stride = params.integer({"stride", "Elements between two positions, in both directions."}, size, 1);
  window.padding =
      params.choice({"padding", "Zeros around the map (same), or none (valid)."}, paddings, "same");
  return window;
}

std::int64_t read_size(Params& params, const char* key, const char* help) {
  return params.integer({key, help}, size);
}

LayerOperation read_pool(Params& params, Pooling::Reduction reduction) {
  return Pooling{reduction, read_window(params)};
}

struct LayerReader {
  const char* kind;
  bool affine;  // has a bias, unless a batch norm follows or the file says otherwise
  LayerOperation (*read)(Params&);
};

const LayerReader readers[] = {
    {"convolution", true,
     [](Params& params) -> LayerOperation {
       return Convolution{read_size(params, "filters", "Channels of its output."), read_window(params)};
     }},
    {"transposed_convolution", true,
     [](Params& params) -> LayerOperation {
       return TransposedConvolution{read_size(params, "filters", "Channels of its output."),
                                    read_window(params)};
     }},
    {"dense", true,
     [](Params& params) -> LayerOperation {
       return Dense{read_size(params, "units", "Columns of its output.")};
     }},
    {"max_pool", false, [](Params& params) { return read_pool(params, Pooling::Reduction::max); }},
    {"average_pool", false, [](Params& params) { return read_pool(params, Pooling::Reduction::average); }},
    {"activate", false, [](Params&) -> LayerOperation { return Activate{}; }},
    {"flatten", false, [](Params&) -> LayerOperation { return Flatten{}; }},
    {"unflatten", false,
     [](Params& params) -> LayerOperation {
       return Unflatten{read_size(params, "height", "Of the map."),
                        read_size(params, "width", "Of the map.")};
     }},
    {"concatenation", false, [](Params&) -> LayerOperation { return Concatenation{}; }},
    {"addition", false, [](Params&) -> LayerOperation { return Addition{}; }},
    {"broadcast", false,
     [](Params& params) -> LayerOperation {
       return Broadcast{read_size(params, "height", "Of the map."),
                        read_size(params, "width", "Of the map.")};
     }},
    {"embedding", false,
     [](Params& params) -> LayerOperation {
       return Embedding{read_size(params, "rows", "Of its table: the vocabulary."),
                        read_size(params, "width", "Of a row.")};
     }},
    {"lstm", false,
     [](Params& params) -> LayerOperation {
       return Lstm{read_size(params, "units", "Of a cell."),
                   params.integer({"layers", "Cells on top of each other."}, {1, 1000}, 1),
                   params.number({"cell_dropout", "Of every cell's output."}, dropout_range, 0)};
     }},
    {"softmax_loss", false, [](Params&) -> LayerOperation { return SoftmaxLoss{}; }},
    {"sigmoid_loss", false, [](Params&) -> LayerOperation { return SigmoidLoss{}; }},
    {"nce_loss", false,
     [](Params& params) -> LayerOperation {
       return NceLoss{read_size(params, "rows", "Of its table: the vocabulary."),
                      read_size(params, "negatives", "Words drawn a step.")};
     }},
};

std::vector<std::string> read_from(Params& params) {
  const Json schema = {{"type", Json::array({"string", "array", "null"})}, {"items", {{"type", "string"}}}};
  const Json* given = params.value({"from", "Inputs or layers that it reads; null: the layer before."},
                                   schema, Json(nullptr));
  std::vector<std::string> names;
  if (!given || given->is_null()) return names;
  const Json list = given->is_array() ? *given : Json::array({*given});
  for (const Json& name : list) {
    if (name.is_string())
      names.push_back(name.get<std::string>());
    else
      params.fail("from", fmt::format("expected names, got {}", dumped(name)));
  }
  return names;
}

Layer read_layer(Params params, const LayerReader& reader) {
  Layer layer{.name = params.text({"name", "What other layers read it by."}),
              .operation = reader.read(params),
              .from = read_from(params)};
  layer.batch_norm = params.flag({"batch_norm", "A batch norm follows it."}, false);
  layer.bias =
      params.flag({"bias", "A bias follows it, before the batch norm."}, reader.affine && !layer.batch_norm);
  layer.activation = params.choice({"activation", "What follows these."}, activations, "none");
  layer.dropout =
      params.number({"dropout", "The probability that an element is dropped at last."}, dropout_range, 0);
  layer.shares = params.text({"shares", "The layer whose variables it has; empty: its own."}, "");
  layer.trainable = params.flag({"trainable", "The step updates its variables."}, true);
  params.close();
  return layer;
}

// While describing, every kind in turn.
Layer read_any_layer(Params params) {
  if (params.describing()) {
    for (const LayerReader& reader : readers)
      read_layer(params.alternative(std::string(reader.kind), false), reader);
    return {};
  }
  std::vector<std::string> kinds;
  for (const LayerReader& reader : readers) kinds.emplace_back(reader.kind);
  const std::string kind = params.choice({"kind", "What it does."}, kinds);
  for (const LayerReader& reader : readers)
    if (kind == reader.kind) return read_layer(std::move(params), reader);
  params.close_ignoring_rest();  // the unknown kind was reported
  return {};
}

NetInput read_input(Params params) {
  NetInput input{params.text({"name", "What layers read it by."}), {}};
  input.shape = sizes(params, {"shape", "Without the batch; empty: a number an example."}, 0);
  params.close();
  return input;
}

}  // namespace

Net Net::from(Params& params) {
  Net net;
  net.summary = params.text({"summary", "One line."}, "");
  params.text({"source", "Where the layers are from."}, "");
  params.integer_or_null({"published_parameters", "Of all trained variables, where it was published."},
                         {1, std::int64_t{1} << 50});
  net.batch = params.integer({"batch", "Examples of a step."}, {1, 1'000'000});
  net.optimizer = params.choice({"optimizer", "What updates the variables."}, optimizers, "gradient_descent");
  net.clip_by_norm = params.flag({"clip_by_norm", "Gradients are scaled by their global norm."}, false);
  net.batch_norm_scale =
      params.flag({"batch_norm_scale", "Batch norms have a scale beside their offset."}, true);
  for (Params& input : params.list({"inputs", "What is fed."}, 1)) net.inputs.push_back(read_input(input));
  for (Params& layer : params.list({"layers", "Each after those that it reads."}, 1))
    net.layers.push_back(read_any_layer(layer));
  return net;
}

}  // namespace weir
