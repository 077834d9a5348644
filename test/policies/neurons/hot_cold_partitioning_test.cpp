// Layers split between a GPU and NDP-DIMMs: what runs where, what crosses the link, and that all weights are
// somewhere.
#include <catch2/catch.hpp>
#include <set>

#include "models/neurons/neurons.h"
#include "policies/partitioning/fetched_layers.h"
#include "policies/partitioning/neurons/neuron_use.h"
#include "policies/partitioning/partitioning.h"
#include "test/models/llm/models.h"
#include "test/policies/make_policy.h"
#include "test/policies/units.h"

using namespace weir;
using test::policy_of;

namespace {

enum Index { gpu, link, dimms, activation, host_link, dimm_links };

std::vector<Unit> beside_ndp_dimms() {
  using enum KernelKind;
  return {{"gpu", {gemm, grouped_gemm, attention, elementwise, custom}},
          link_unit(),
          {"ndp_dimms", {neurons_kind, decode_attention, copy}, {}, 8},
          {"activation", {elementwise}},
          {"host_link", {copy}, {}, 2},
          {"dimm_links", {copy}, {}, 4}};
}

std::shared_ptr<const PartitioningPolicy> hot_cold(double on_device_gb, const Json& more = Json::object()) {
  Json json = {{"kind", "hot_cold"}, {"on_device_gb", on_device_gb}};
  json.update(more);
  return policy_of(partitioning_policies(), json);
}

StageGraph stage(const char* model) {
  return build_stage(catalog_model(model), {DataType::fp16, DataType::fp16, DataType::fp16}, {}, 0);
}

bool on_host(const Operator& op) {
  return op.unit == dimms || op.unit == activation;
}
bool on_device(const Operator& op) {
  return op.unit == gpu;
}

// Counts the operators of a decode's layer that are on a unit.
template <class Predicate>
int count(const StageGraph& placed, const Predicate& is) {
  const OperatorGraph& layer = part_named(*placed.of_decodes, "block").operators;
  int found = 0;
  for (std::size_t v = 0; v < boost::num_vertices(layer); ++v) found += is(layer[v]);
  return found;
}

}  // namespace

TEST_CASE("hot_cold: nothing passes from one side to the other but over the link", "[neurons]") {
  const std::vector<Unit> units = beside_ndp_dimms();
  for (const char* model : {"llama2-13b", "opt-13b", "falcon-40b"}) {
    const StageGraph placed = hot_cold(30)->place(stage(model), units);
    for (const Part& part : placed.of_decodes->parts)
      for (const auto edge : boost::make_iterator_range(boost::edges(part.operators))) {
        const Operator &from = part.operators[boost::source(edge, part.operators)],
                       &to = part.operators[boost::target(edge, part.operators)];
        INFO(model << ": " << from.name << " before " << to.name);
        CHECK_FALSE((on_host(from) && on_device(to)));
        CHECK_FALSE((on_device(from) && on_host(to)));
        if (from.unit == host_link && from.slot < 0)
          CHECK((from.member == 0 ? on_host(to)
                                  : on_device(to) || to.unit == host_link || to.unit == dimm_links));
      }
    for (const Part& part : placed.of_decodes->parts)
      for (std::size_t v = 0; v < boost::num_vertices(part.operators); ++v) {
        Operator op = part.operators[v];
        INFO(model << ": " << op.name);
        CHECK(units[static_cast<std::size_t>(op.unit)].runs(op.kind()));
      }
  }
}

TEST_CASE("hot_cold: both blocks on both sides, attention on the DIMMs, dense matrices on the device",
          "[neurons]") {
  for (const char* model : {"llama2-13b", "opt-13b", "falcon-40b"}) {
    INFO(model);
    const StageGraph placed = hot_cold(30)->place(stage(model), beside_ndp_dimms());
    for (const NeuronBlock block : neuron_blocks)
      for (const auto& place :
           {std::pair{NeuronTask::on_device, gpu}, std::pair{NeuronTask::in_host, dimms},
            std::pair{NeuronTask::swapped, host_link}, std::pair{NeuronTask::moved, dimm_links}})
        CHECK(count(placed, [&](const Operator& op) {
                return op.slot == neuron_load(place.first, block) && op.unit == place.second;
              }) == 1);
    CHECK(count(placed, [](const Operator& op) { return op.name == "merge" && op.unit == activation; }) == 2);
    CHECK(count(placed, [](const Operator& op) { return op.as<Attention>() != nullptr; }) == 1);
    CHECK(count(placed, [](const Operator& op) { return op.as<Attention>() && op.unit == dimms; }) == 1);
    CHECK(count(placed, [](const Operator& op) { return op.as<Gemm>() != nullptr; }) == 1);  // the projection
  }
}

TEST_CASE("hot_cold: a layer's neurons and matrices are all of its weights", "[neurons]") {
  for (const char* model : {"llama2-13b", "llama2-70b", "opt-66b", "falcon-40b"}) {
    INFO(model);
    const StageGraph whole = stage(model), placed = hot_cold(60)->place(whole, beside_ndp_dimms());
    const Architecture architecture = catalog_model(model);
    const OperatorGraph& layer = part_named(*placed.of_decodes, "block").operators;
    Bytes bytes = weights_of(layer);
    for (std::size_t v = 0; v < boost::num_vertices(layer); ++v)
      if (const auto* kernel = layer[v].as<Neurons>(); kernel && layer[v].unit == dimms)
        bytes += static_cast<double>(kernel->before == 0 ? architecture.hidden
                                                         : architecture.layers.front().intermediate) *
                 bytes_per_neuron(*kernel);
    CHECK(bytes.value() == Approx(weights_of(part_named(whole, "block").operators).value()));
    CHECK(placed.weights.in_host == whole.weights.all);
    CHECK(placed.weights.on_device.value() <= 60e9);
    CHECK(placed.weights.neurons < placed.weights.on_device);
  }
}

// 48 KB and 20 KB of LLaMA2-70B, 36 and 54 of OPT-66B (Hermes, Section III).
TEST_CASE("hot_cold: neurons are as large as Hermes says", "[neurons]") {
  const auto bytes = [](const char* model, NeuronBlock block) {
    const StageGraph placed = hot_cold(20)->place(stage(model), beside_ndp_dimms());
    double found = 0;
    for (const Operator* op : operators_of(*placed.of_decodes))
      if (op->slot == neuron_load(NeuronTask::in_host, block))
        found = bytes_per_neuron(*op->as<Neurons>()).value();
    return found / 1024;
  };
  CHECK(bytes("llama2-70b", NeuronBlock::mlp) == 48);
  CHECK(bytes("llama2-70b", NeuronBlock::attention) == 20);
  CHECK(bytes("opt-66b", NeuronBlock::mlp) == 36);
  CHECK(bytes("opt-66b", NeuronBlock::attention) == 54);
}

TEST_CASE("hot_cold: prompts stream every matrix once and then load what the device keeps", "[neurons]") {
  const StageGraph whole = stage("opt-13b"), placed = hot_cold(20)->place(whole, beside_ndp_dimms());
  Bytes streamed{}, matrices{};
  for_each_operator(placed, [&](const Operator& op, double times) {
    if (const auto* load = op.as<Copy>(); load && op.rows == Rows::step) streamed += times * load->per_row;
  });
  for (const Part& part : whole.parts)
    matrices += static_cast<double>(part.times) * weights_of(part.operators);
  CHECK(streamed.value() == Approx((matrices + placed.weights.on_device).value()));
}

TEST_CASE("hot_cold: without its moves no operator moves neurons", "[neurons]") {
  const StageGraph placed =
      hot_cold(20, {{"adjust", false}, {"remap", false}})->place(stage("opt-13b"), beside_ndp_dimms());
  for (const Operator* op : operators_of(*placed.of_decodes))
    if (op->slot >= 0) CHECK(op->as<Neurons>());
}

TEST_CASE("hot_cold: a device or a model that it cannot split is refused", "[neurons]") {
  CHECK_THROWS_WITH(
      hot_cold(20)->place(stage("opt-13b"), test::units({"gpu", "link", "ranksets", "host_link"})),
      Catch::Contains("needs host memory that computes neurons"));
  CHECK_THROWS_WITH(hot_cold(60)->place(stage("mixtral-8x7b"), beside_ndp_dimms()),
                    Catch::Contains("no gate_up_proj"));
  const StageGraph two = build_stage(catalog_model("opt-13b"), {}, {.tensor = 2}, 0);
  CHECK_THROWS_WITH(hot_cold(20)->place(two, beside_ndp_dimms()), Catch::Contains("expected tensor 1"));
  CHECK_THROWS_AS(hot_cold(1)->place(stage("opt-13b"), beside_ndp_dimms()), UnfitKey);
}
