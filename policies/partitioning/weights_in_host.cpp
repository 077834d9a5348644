// Weights for which a device has no room stay in the memory of its host and come over its link in every step,
// layer by layer. Accelerate (huggingface/accelerate, big model inference: device_map and hooks) keeps the
// first layers on the device and fetches each other one when it is due; FlexGen (arXiv 2303.06865, Section 4)
// keeps a share of every layer there and fetches the next layer beside the work of this one.
#include <fmt/format.h>

#include <algorithm>

#include "policies/partitioning/fetched_layers.h"
#include "policies/partitioning/fused_all_reduce.h"
#include "policies/partitioning/partitioning.h"
#include "policies/partitioning/units.h"

namespace weir {
namespace {

constexpr const char* room_key = "on_device_gb";

enum class Resident { first_layers, every_layer };

class WeightsInHost final : public PartitioningPolicy {
 public:
  WeightsInHost(std::shared_ptr<const PartitioningPolicy> rest, Bytes room, Resident resident, bool ahead)
      : rest_(std::move(rest)), room_(room), resident_(resident), ahead_(ahead) {}

  StageGraph place(StageGraph stage, std::span<const Unit> units) const override {
    StageGraph placed = rest_->place(std::move(stage), units);
    const int link = host_link(units);
    if (link < 0)
      throw std::invalid_argument(
          "weights_in_host needs host memory such as host_dimm among the devices of the node, to keep them "
          "there");
    return fetched(placed, room_for_layers(placed), link);
  }

  HostMemoryUse host_memory() const override { return {.weights = true}; }

 private:
  // Embeddings, norms and the LM head, which no layer has, stay on the device.
  Bytes room_for_layers(const StageGraph& placed) const {
    Bytes others = placed.weights.all;
    for (const Part& part : placed.parts)
      if (is_layer(part)) others -= static_cast<double>(part.times) * weights_of(part.operators);
    if (room_ < others)
      throw UnfitKey(room_key, fmt::format("expected at least {:.2f}: embeddings, norms and the LM head stay "
                                           "on the device (all weights are {:.2f} GB)",
                                           others.value() / 1e9, placed.weights.all.value() / 1e9));
    return room_ - others;
  }

  StageGraph fetched(const StageGraph& placed, Bytes room, int link) const {
    StageGraph stage;
    stage.weights = placed.weights;
    stage.layers = placed.layers;
    Bytes layers{}, most{};
    for (const Part& part : placed.parts)
      if (is_layer(part)) layers += static_cast<double>(part.times) * weights_of(part.operators);
    const double share = layers > Bytes(0) ? std::max(0.0, 1 - room / layers) : 0;
    for (const Part& part : placed.parts) {
      const Bytes layer = weights_of(part.operators);
      Part rest = part;
      if (is_layer(part) && resident_ == Resident::first_layers) {
        rest.times -= kept(part.times, layer, room);
        if (rest.times < part.times)
          stage.parts.push_back({part.name, part.operators, part.times - rest.times});
      }
      const Bytes load = resident_ == Resident::first_layers ? layer : share * layer;
      if (rest.times == 0) continue;
      if (!is_layer(part) || load <= Bytes(0)) {
        stage.parts.push_back(std::move(rest));
        continue;
      }
      append_fetched(stage, std::move(rest), load, link, ahead_);
      stage.weights.in_host += static_cast<double>(stage.parts.back().times) * load;
      most = std::max(most, load);
    }
    // One layer is on its way, and where it comes ahead another one is at work.
    stage.weights.on_device = placed.weights.all - stage.weights.in_host + (ahead_ ? 2 : 1) * most;
    return stage;
  }

  // The first layers, while there is room for whole ones.
  static std::int64_t kept(std::int64_t times, Bytes layer, Bytes& room) {
    const auto fit = static_cast<std::int64_t>(std::max(0.0, room / layer));
    room = fit < times ? Bytes(0) : room - static_cast<double>(times) * layer;
    return std::min(fit, times);
  }

  std::shared_ptr<const PartitioningPolicy> rest_;
  Bytes room_;
  Resident resident_;
  bool ahead_;
};

}  // namespace

std::shared_ptr<const PartitioningPolicy> make_device_only_partitioning(Params& params);

std::shared_ptr<const PartitioningPolicy> make_weights_in_host_partitioning(Params& params) {
  const double room =
      params.number({room_key,
                     "Weights of a rank that stay in the device's memory; the others come over "
                     "the link to its host in every step."},
                    {0, 1e6});
  const std::string resident = params.choice(
      {"resident",
       "Which stay: a share of every layer (FlexGen), or the first layers, whole (Accelerate's device_map)."},
      {"every_layer", "first_layers"}, "every_layer");
  const bool ahead = params.flag(
      {"fetch_ahead",
       "The next layer's weights come beside the work of this one (FlexGen); false: when it is due "
       "(Accelerate's hooks)."},
      true);
  return std::make_shared<WeightsInHost>(
      with_fused_all_reduce(params, make_device_only_partitioning(params)),
      Bytes(Params::unit(room_key) * room),
      resident == "first_layers" ? Resident::first_layers : Resident::every_layer, ahead);
}

}  // namespace weir
