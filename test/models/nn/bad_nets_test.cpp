#include <catch2/catch.hpp>
#include <stdexcept>

#include "models/nn/net_catalog.h"
#include "models/nn/training_graph.h"

namespace weir {
namespace {

using Catch::Contains;

// Built of a list that is right but for what `change` does.
template <class Change>
void build(const Change& change, std::int64_t batch = 2) {
  Net net{
      .name = "mine",
      .inputs = {{"images", {8, 8, 3}}, {"other", {4, 4, 3}}},
      .layers = {{.name = "conv", .operation = Convolution{4, {3, 3, 1, Padding::valid}}, .from = {"images"}},
                 {.name = "pool", .operation = Pooling{Pooling::Reduction::max, {2, 2, 2}}},
                 {.name = "flat", .operation = Flatten{}},
                 {.name = "dense", .operation = Dense{10}},
                 {.name = "loss", .operation = SoftmaxLoss{}}}};
  change(net);
  build_training_graph(net, batch);
}

template <class Change, class Matcher>
void check_refused(const Change& change, const Matcher& words) {
  CHECK_THROWS_AS(build(change), std::invalid_argument);
  CHECK_THROWS_WITH(build(change), Contains("mine: ") && words);
}

}  // namespace

TEST_CASE("bad nets: the list that these tests change is right") {
  CHECK_NOTHROW(build([](Net&) {}));
}

TEST_CASE("bad nets: a batch of none is refused") {
  for (const std::int64_t batch : {0, -1}) {
    CHECK_THROWS_AS(build([](Net&) {}, batch), std::invalid_argument);
    CHECK_THROWS_WITH(build([](Net&) {}, batch), Contains("batch") && Contains("positive"));
  }
}

TEST_CASE("bad nets: a window beyond its input is refused, one that just fits is not") {
  const auto window_of = [](std::int64_t side, Padding padding) {
    return [=](Net& net) {
      net.layers[0].operation = Convolution{4, {side, side, 1, padding}};
      net.layers[1].operation = Pooling{Pooling::Reduction::max, {1, 1, 1}};
    };
  };
  CHECK_NOTHROW(build(window_of(8, Padding::valid)));
  check_refused(window_of(9, Padding::valid), Contains("layer conv") && Contains("9") && Contains("larger"));
  CHECK_NOTHROW(build(window_of(9, Padding::same)));  // the rest is zeros
}

TEST_CASE("bad nets: numbers that are not positive are refused") {
  check_refused([](Net& net) { net.layers[0].operation = Convolution{0, {3, 3}}; }, Contains("layer conv"));
  check_refused([](Net& net) { net.layers[0].operation = Convolution{4, {0, 3}}; }, Contains("positive"));
  check_refused([](Net& net) { net.layers[0].operation = Convolution{4, {3, 3, 0}}; }, Contains("positive"));
  check_refused(
      [](Net& net) {
        net.layers[1].operation = Pooling{Pooling::Reduction::average, {2, -2}};
      },
      Contains("layer pool"));
  check_refused([](Net& net) { net.layers[3].operation = Dense{0}; }, Contains("layer dense"));
  check_refused([](Net& net) { net.inputs[0].shape = {8, 0, 3}; }, Contains("input images"));
  check_refused([](Net& net) { net.layers[3].dropout = 1; }, Contains("dropout"));
  check_refused([](Net& net) { net.layers[3].dropout = -0.1; }, Contains("dropout"));
}

TEST_CASE("bad nets: layers that do not fit together are refused") {
  check_refused([](Net& net) { net.layers[0].from = {"nobody"}; }, Contains("nobody"));
  check_refused([](Net& net) { net.layers[0].from = {"dense"}; }, Contains("dense"));  // it comes later
  check_refused([](Net& net) { net.layers[0].from = {"images", "other"}; }, Contains("2 layers"));
  check_refused([](Net& net) { net.layers[3].name = "pool"; }, Contains("taken"));
  check_refused([](Net& net) { net.layers[3].name = ""; }, Contains("no name"));
  check_refused([](Net& net) { net.layers[3].operation = Convolution{4, {1, 1}}; }, Contains("height"));
  check_refused(
      [](Net& net) {
        net.layers[1] = {.name = "sum", .operation = Addition{}, .from = {"conv", "other"}};
      },
      Contains("layer sum") && Contains("cannot add 2 x 6 x 6 x 4 and 2 x 4 x 4 x 3"));
  check_refused(
      [](Net& net) {
        net.layers[1] = {.name = "both", .operation = Concatenation{}, .from = {"conv", "other"}};
      },
      Contains("differ"));
  check_refused([](Net& net) { net.layers[1] = {.name = "sum", .operation = Addition{}}; }, Contains("less"));
  check_refused([](Net& net) { net.layers[3].shares = "conv"; }, Contains("cannot be those of conv"));
  check_refused([](Net& net) { net.layers[3].shares = "flat"; }, Contains("which has none"));
  check_refused([](Net& net) { net.layers[0].operation = Lstm{4}; }, Contains("steps"));
  check_refused([](Net& net) { net.layers[3].operation = Unflatten{5, 5}; }, Contains("5 x 5"));
  check_refused(
      [](Net& net) {
        net.layers[0].operation = TransposedConvolution{4, {3, 3, 1, Padding::valid}};
      },
      Contains("padded"));
}

TEST_CASE("bad nets: sizes whose products leave 64 bits are refused") {
  constexpr std::int64_t large = 10'000'000;
  check_refused(
      [](Net& net) {
        net.layers[0].operation = Convolution{large, {large, large}};
      },
      Contains("too large"));
  check_refused(
      [](Net& net) {
        net.layers[0].operation = Convolution{1, {large, large / 10}};
      },
      Contains("patches") || Contains("too large"));
  check_refused([](Net& net) { net.inputs[0].shape = {large, large, large}; }, Contains("too large"));
  check_refused(
      [](Net& net) {
        net.layers[0].operation = TransposedConvolution{large, {3, 3, large}};
      },
      Contains("too large"));
  check_refused(
      [](Net& net) {
        net.inputs[0].shape = {large};
        net.layers = {{.name = "table", .operation = Embedding{2, 1}},
                      {.name = "lstm", .operation = Lstm{1, 1}},
                      {.name = "loss", .operation = SoftmaxLoss{}}};
      },
      Contains("unroll"));
}

TEST_CASE("bad nets: a step that has nothing to train is refused") {
  check_refused([](Net& net) { net.layers.pop_back(); }, Contains("loss"));
  check_refused([](Net& net) { net.layers.clear(); }, Contains("no layers"));
  check_refused(
      [](Net& net) {
        for (Layer& layer : net.layers) layer.trainable = false;
      },
      Contains("trainable"));
}

TEST_CASE("bad nets: rows of a table are no business of Adam") {
  Net net = catalog_net("word2vec");
  net.optimizer = Optimizer::adam;
  CHECK_THROWS_AS(build_training_graph(net), std::invalid_argument);
  CHECK_THROWS_WITH(build_training_graph(net), Contains("rows of a table"));
}

TEST_CASE("sliding window: positions are those that fit, one by one") {
  for (std::int64_t input = 1; input <= 12; ++input)
    for (std::int64_t window = 1; window <= 6; ++window)
      for (std::int64_t stride = 1; stride <= 4; ++stride) {
        std::int64_t inside = 0, starts = 0;
        for (std::int64_t at = 0; at < input; at += stride) {
          ++starts;
          inside += at + window <= input;
        }
        INFO(input << " " << window << " " << stride);
        CHECK(output_extent(input, window, stride, Padding::same) == starts);
        if (window <= input)
          CHECK(output_extent(input, window, stride, Padding::valid) == inside);
        else
          CHECK_THROWS_AS(output_extent(input, window, stride, Padding::valid), std::invalid_argument);
      }
}

}  // namespace weir
