// Operators that a policy adds or cuts, with their sizes by hand.
#include <catch2/catch.hpp>
#include <map>

#include "models/neurons/neurons.h"
#include "policies/partitioning/neurons/neuron_use.h"
#include "policies/partitioning/partitioning.h"
#include "test/models/llm/models.h"
#include "test/models/llm/parts.h"
#include "test/policies/make_policy.h"
#include "test/policies/units.h"

using namespace weir;
using test::policy_of;

namespace {

std::shared_ptr<const PartitioningPolicy> keyed_partitioning(const Json& json) {
  return policy_of(partitioning_policies(), json);
}

StageGraph stage_in_fp16(const char* model) {
  return build_stage(catalog_model(model), {DataType::fp16, DataType::fp16, DataType::fp16}, {}, 0);
}

std::vector<Operator> all_named(const OperatorGraph& graph, const std::string& name) {
  std::vector<Operator> found;
  for (const auto v : boost::make_iterator_range(boost::vertices(graph)))
    if (graph[v].name == name) found.push_back(graph[v]);
  return found;
}

// Bytes of a row, or of a neuron, of all copies of a name, in order.
std::vector<double> copied(const OperatorGraph& graph, const std::string& name) {
  std::vector<double> bytes;
  for (const Operator& op : all_named(graph, name))
    bytes.push_back(std::get<Copy>(op.kernel).per_row.value());
  return bytes;
}

Unit gpu_with_neurons() {
  using enum KernelKind;
  return {"gpu", {gemm, grouped_gemm, attention, elementwise, custom}};
}

using Amounts = std::vector<double>;

}  // namespace

TEST_CASE("gpu_pim: with memory to spare the GPU has all prompts, and decodes behind the host's channels",
          "[partitioning]") {
  std::vector<Unit> units = test::units({"gpu", "link", "gpu's pim", "ranksets", "host_link"});
  units[2].members = 9, units[3].members = 6;
  const auto attention = [&](bool spare, const std::string& name) {
    const StageGraph placed = keyed_partitioning({{"kind", "gpu_pim"}, {"spare_memory", spare}})
                                  ->place(stage_in_fp16("opt-13b"), units);
    const std::vector<Operator> found = all_named(part(placed, "block"), name);
    REQUIRE(found.size() == 1);
    return found[0];
  };
  CHECK(attention(true, "attention").channels == ChannelRange{.first = 6});
  CHECK(attention(true, "attention").rows == Rows::tokens);
  CHECK(attention(false, "attention").channels == ChannelRange{});
  CHECK(attention(false, "attention").rows == Rows::prompt_tokens);
  // The host's memory comes behind that of the device, and holds the KV caches then.
  CHECK(attention(true, "decode_attention").unit == 3);
  CHECK(attention(true, "decode_attention").channels == ChannelRange{0, 6});
  CHECK(attention(true, "offload").unit == 4);
  units[3].share_channel = true;
  CHECK(attention(true, "attention").channels == ChannelRange{.first = 1});
  CHECK(attention(true, "decode_attention").channels == ChannelRange{0, 1});
  const auto uses = [](const Json& keys) { return keyed_partitioning(keys)->host_memory(); };
  CHECK(uses({{"kind", "gpu_pim"}, {"spare_memory", true}}).spare);
  CHECK_FALSE(uses({{"kind", "gpu_pim"}}).spare);
  CHECK((uses({{"kind", "gpu_pim"}}).kv_caches && !uses({{"kind", "gpu_pim"}}).weights));
  CHECK_FALSE(uses({{"kind", "device_only"}}).any());
  // A fused all-reduce around a policy asks what that does.
  CHECK(uses({{"kind", "gpu_pim"}, {"spare_memory", true}, {"fused_all_reduce_chunks", 2}}).spare);
}

TEST_CASE("active_weights_in_host: its predictor, its loads and its weights are those of OPT-13B",
          "[neurons]") {
  const std::vector<Unit> units = {gpu_with_neurons(), link_unit(), {"host_link", {KernelKind::copy}, {}, 2}};
  const auto policy = keyed_partitioning({{"kind", "active_weights_in_host"}, {"predictor_width", 700}});
  const StageGraph placed = policy->place(stage_in_fp16("opt-13b"), units);
  const OperatorGraph& decodes = part(*placed.of_decodes, "block");
  const std::vector<Operator> predictors = all_named(decodes, "predictor");
  REQUIRE(predictors.size() == 2);
  const Gemm &first = std::get<Gemm>(predictors[0].kernel), &second = std::get<Gemm>(predictors[1].kernel);
  CHECK((first.in == 5120 && first.out == 700));
  CHECK((second.in == 700 && second.out == 20480));
  // Inputs of Q, K and V have 3 x 5,120 weights of two bytes each, an MLP's neuron 2 x 5,120.
  CHECK(copied(decodes, "load") == Amounts{30720, 20480});
  // A layer streams 5,120 and 20,480 of them for prompts.
  CHECK(copied(part(placed, "block"), "load") == Amounts{5120. * 30720 + 20480. * 20480});
  // Two of 40 layers' neurons are on their way. Projections, LM head (50,272 rows, padded to 64) and
  // predictors are on the device.
  CHECK(placed.weights.neurons.value() == 2 * 576716800.);
  CHECK(placed.weights.in_host == placed.weights.all);
  CHECK(placed.weights.on_device.value() ==
        Approx(40 * 2 * (5120. * 5120 + 5120. * 700 + 700. * 20480) + 2 * 50304. * 5120 + 2 * 576716800.));
  CHECK((policy->host_memory().weights && !policy->host_memory().kv_caches));
  CHECK(policy->neurons()->predictor == NeuronPredictor::perfect);
}

TEST_CASE("hot_cold: rows that cross the link are as wide as what was made of Qwen3-32B", "[neurons]") {
  using enum KernelKind;
  const std::vector<Unit> units = {gpu_with_neurons(),
                                   link_unit(),
                                   {"ndp_dimms", {neurons_kind, decode_attention, copy}, {}, 8},
                                   {"activation", {elementwise}},
                                   {"host_link", {copy}, {}, 2},
                                   {"dimm_links", {copy}, {}, 4}};
  const StageGraph placed = keyed_partitioning({{"kind", "hot_cold"}, {"on_device_gb", 40}})
                                ->place(stage_in_fp16("qwen3-32b"), units);
  const OperatorGraph& layer = part(*placed.of_decodes, "block");
  // Q, K and V of 64, 8 and 8 heads of 128: 10,240 outputs. Results of attention: 8,192. Hidden: 5,120.
  std::vector<double> merged;
  for (const Operator& op : all_named(layer, "merge"))
    merged.push_back(std::get<Elementwise>(op.kernel).per_row.value());
  CHECK(merged == Amounts{3 * 2 * 10240, 3 * 2 * 5120});
  const Amounts sent = copied(layer, "send"), fetched = copied(layer, "fetch");
  CHECK(std::ranges::count(sent, 2 * 10240.) == 1);
  CHECK(std::ranges::count(fetched, 2 * 8192.) == 1);
  for (const double bytes : sent) CHECK((bytes == 2 * 10240 || bytes == 2 * 5120));
  for (const double bytes : fetched) CHECK((bytes == 2 * 8192 || bytes == 2 * 5120));
  // A neuron's weights: of the inputs to Q, K and V 10,240; of the MLP's three matrices 5,120 each.
  CHECK(copied(layer, "swap") == Amounts{2 * 10240, 3 * 2 * 5120});
  CHECK(copied(layer, "remap") == Amounts{2 * 10240, 3 * 2 * 5120});
  for (const Operator& op : all_named(layer, "swap")) CHECK((op.unit == 4 && op.member == 1));
  for (const Operator& op : all_named(layer, "remap")) CHECK((op.unit == 5 && op.member == -1));
  for (const Operator& op : all_named(layer, "send")) CHECK((op.unit == 4 && op.member == 0));
}

TEST_CASE("hot_cold: the device has all that is no neuron and then neurons, up to its room or all of them",
          "[neurons]") {
  using enum KernelKind;
  const std::vector<Unit> units = {gpu_with_neurons(),
                                   link_unit(),
                                   {"ndp_dimms", {neurons_kind, decode_attention, copy}, {}, 8},
                                   {"activation", {elementwise}},
                                   {"host_link", {copy}, {}, 2}};
  const auto placed = [&](double gb) {
    return keyed_partitioning({{"kind", "hot_cold"}, {"on_device_gb", gb}})
        ->place(stage_in_fp16("opt-13b"), units);
  };
  // Projections of 40 layers and an LM head of 50,304 rows; neurons of 40 layers, see above.
  const double dense = 2 * (40 * 5120. * 5120 + 50304. * 5120), all = 40 * 576716800.;
  const StageGraph some = placed(20);
  CHECK(some.weights.on_device.value() == Approx(20e9));
  CHECK(some.weights.neurons.value() == Approx(20e9 - dense));
  CHECK(some.weights.in_host == some.weights.all);
  CHECK(copied(part(some, "hot_share"), "load_hot") == Amounts{some.weights.on_device.value()});
  const StageGraph whole = placed(100);
  CHECK(whole.weights.on_device.value() == Approx(dense + all));
  CHECK(whole.weights.neurons.value() == Approx(all));
  CHECK(placed(2.6123).weights.neurons.value() == Approx(2.6123e9 - dense));  // dense: 2.61226 GB
  CHECK_THROWS_WITH(placed(2.6122), Catch::Contains("expected at least 2.61"));
  // Without links between the DIMMs no neuron moves from one to another.
  CHECK(copied(part(*some.of_decodes, "block"), "remap").empty());
  CHECK(copied(part(*some.of_decodes, "block"), "swap").size() == 2);
}
