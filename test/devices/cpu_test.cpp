// A host's CPU that runs training operators: rates by type of operator, and none.
#include <catch2/catch.hpp>
#include <map>

#include "test/devices/tensor_operations.h"

namespace weir::test {
namespace {

std::shared_ptr<const Device> xeon(const std::string& set, const Json& keys = Json::object()) {
  Reading reading("test");
  Params params(reading, keys);
  auto device = make_device("xeon_e5_2630v3", params, set);
  params.close();
  reading.finish();
  return device;
}

// A product of 335 GFLOP, from 1 GB to 1 GB.
TensorOperation product() {
  return {
      .work = {167.5e9, 167.5e9, 0}, .read = Bytes(1e9), .written = Bytes(1e9), .product = {1e6, 167.5e3, 1}};
}

TensorOperation stream(double read, double written) {
  return {.work = {0, 1e6, 0}, .read = Bytes(read), .written = Bytes(written)};
}

std::map<std::string, std::string> cpu_problems(const Json& keys) {
  try {
    xeon("physical", keys);
  } catch (const ConfigError& error) {
    std::map<std::string, std::string> found;
    for (const Problem& problem : error.problems()) found[problem.pointer] += problem.what;
    return found;
  }
  return {};
}

}  // namespace

TEST_CASE("cpu: its peak is what AVX2 does, and its memory four channels of DDR4-1866") {
  const DeviceSpec spec = xeon("physical")->spec();
  CHECK(spec.peak(DataType::fp32).value() == Approx(8 * 2.4e9 * 2 * 8 * 2));
  CHECK(spec.own().bandwidth.value() == Approx(4 * 8 * 1.866e9).epsilon(0.001));
  CHECK(unit_names(spec.units) == "cpu");
}

TEST_CASE(
    "cpu: one rate for all products and one for all else, but types have their own in the paper's set") {
  const auto seconds = [](const char* set, const TensorOperation& operation, const char* type) {
    return priced(*xeon(set), operation, 0, type).time.value();
  };
  for (const char* type : {"Conv2D", "MatMul", "Conv2DBackpropFilter", "Conv2DBackpropInput"})
    CHECK(seconds("physical", product(), type) == Approx(1));
  for (const char* type : {"Relu", "BiasAddGrad"})
    CHECK(seconds("physical", stream(9e9, 0), type) == Approx(0.2));
  CHECK(seconds("paper", product(), "Conv2D") == Approx(1));
  CHECK(seconds("paper", product(), "MatMul") == Approx(1));
  CHECK(seconds("paper", product(), "Conv2DBackpropFilter") == Approx(335. / 86));
  CHECK(seconds("paper", product(), "Conv2DBackpropInput") == Approx(335. / 106));
  CHECK(seconds("paper", stream(0.44e9, 0), "BiasAddGrad") == Approx(1));
  CHECK(seconds("paper", stream(0.44e9, 2e9), "BiasAddGrad") == Approx(1));  // by what it reads alone
  CHECK(seconds("paper", stream(9e9, 0), "Relu") == Approx(0.2));
  CHECK(xeon("paper")->spec().notes.assumed);
  CHECK_FALSE(xeon("physical")->spec().notes.assumed);
}

TEST_CASE("cpu: a rate above the memory's leaves the memory's, and a product is bound by both") {
  const auto fast = xeon("physical", {{"input_gb_per_s_by_type", {{"Relu", 1000}}},
                                      {"product_gflops_by_type", {{"MatMul", 1e6}}}});
  CHECK(priced(*fast, stream(9e9, 9e9), 0, "Relu").time.value() == Approx(0.4));
  CHECK(priced(*fast, product(), 0, "MatMul").time.value() == Approx(2. / 45));
}

// The rates of the set were chosen so that these come out: a report of an input, and no evidence.
TEST_CASE("cpu: VGG-19 has the shares of time of Table I in the paper's set, which it was given") {
  std::map<OperatorType, Seconds> by_type;
  Seconds step, physical;
  for (const PricedOperator& op : priced_step(*xeon("paper"), "vgg19")) {
    by_type[op.type] += op.cost.time;
    step += op.cost.time;
  }
  for (const PricedOperator& op : priced_step(*xeon("physical"), "vgg19")) physical += op.cost.time;
  CAPTURE(step.value(), physical.value());
  CHECK((step > Seconds(34) && step < Seconds(36)));
  CHECK((physical > Seconds(11) && physical < Seconds(13)));
  const std::map<OperatorType, double> published = {{OperatorType::conv2d_backprop_filter, 40.15},
                                                    {OperatorType::conv2d_backprop_input, 32.68},
                                                    {OperatorType::bias_add_grad, 11.92},
                                                    {OperatorType::conv2d, 10.34}};
  for (const auto& [type, percent] : published) {
    INFO(to_string(type));
    CHECK(100 * (by_type[type] / step) == Approx(percent).margin(7));
  }
}

TEST_CASE("cpu: bad rates are all told at once, each at its pointer") {
  const auto found = cpu_problems({{"product_gflops_by_type", {{"Conv2D", -1}, {"MatMul", "fast"}}},
                                   {"input_gb_per_s_by_type", 7},
                                   {"product_gflops", 0},
                                   {"stream_gb_per_s", "all"},
                                   {"l2_mb", 8}});
  CHECK(found.size() == 6);
  CHECK_THAT(found.at("/product_gflops_by_type/Conv2D"), Catch::Contains("a number > 0"));
  CHECK_THAT(found.at("/product_gflops_by_type/MatMul"), Catch::Contains("expected a number, got \"fast\""));
  CHECK_THAT(found.at("/input_gb_per_s_by_type"), Catch::Contains("expected an object of numbers"));
  CHECK_THAT(found.at("/l2_mb"), Catch::Contains("unknown key"));
  CHECK((found.contains("/product_gflops") && found.contains("/stream_gb_per_s")));
  CHECK(cpu_problems({{"product_gflops_by_type", {{"Conv2D", 100}}}}).empty());
}

TEST_CASE("cpu: a rate of an unknown type, or of one that the key has no effect on, is a problem") {
  const auto found = cpu_problems({{"product_gflops_by_type", {{"Conv2d", 100}, {"Relu", 5}}},
                                   {"input_gb_per_s_by_type", {{"MatMul", 1}}}});
  CHECK(found.size() == 3);
  CHECK_THAT(found.at("/product_gflops_by_type/Conv2d"), Catch::Contains("did you mean \"Conv2D\""));
  CHECK_THAT(found.at("/product_gflops_by_type/Relu"), Catch::Contains("no such type of matrix product"));
  CHECK_THAT(found.at("/input_gb_per_s_by_type/MatMul"), Catch::Contains("no such type of other operator"));
}

}  // namespace weir::test
