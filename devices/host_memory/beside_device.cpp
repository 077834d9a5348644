// A device that runs a model, with its share of the host's memory: what its decodes attend to is there.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "devices/decodes_elsewhere.h"
#include "devices/host_memory/dimm.h"
#include "devices/host_memory/host_share.h"
#include "devices/kernel_shapes.h"

namespace weir {
namespace {

class BesideDevice final : public DecodesElsewhere {
 public:
  BesideDevice(std::shared_ptr<const Device> device, DeviceSpec spec, DimmShape memory, HostResources host)
      : DecodesElsewhere(std::move(device), std::move(spec), more_units),
        memory_(std::move(memory)),
        host_(host) {}
  static constexpr std::size_t more_units = 2;  // the memory's, and the link to it

 private:
  using DecodesElsewhere::elsewhere;
  const Memory& attending_memory() const override { return spec().memories.back(); }

  // A head's columns beside the banks and the row of a memory that a scenario gives.
  std::string cannot_run(std::span<const KernelWork> all) const override {
    for (const KernelWork& work : all) {
      const auto* heads = work.as<Attention>();
      if (!heads || heads->part != Attention::Part::decodes || !is_plain(*heads)) continue;
      try {
        memory_.head(group_of(*heads), heads->head_dim);
      } catch (const std::invalid_argument& error) {
        return fmt::format("{} with heads of {}: {}", attending_memory().name, heads->head_dim, error.what());
      }
    }
    return DecodesElsewhere::cannot_run(all);
  }

  KernelCost elsewhere(const KernelWork& work, int) const override {
    if (work.as<Copy>()) return copy_over_link(spec(), host_, work, memory_.channels * memory_.stored);
    return attend(std::get<Attention>(work.kernel), work);
  }

  static std::int64_t group_of(const Attention& heads) {
    return std::max<std::int64_t>(1, heads.query_heads / heads.kv_heads);
  }

  // Heads go round the channels, the tokens of each round the ranks of a rankset; where there are fewer heads
  // than channels, their tokens go round these too.
  KernelCost attend(const Attention& op, const KernelWork& work) const {
    const double decodes = work.share * static_cast<double>(work.batch.decodes),
                 tokens = work.share * static_cast<double>(work.batch.decode_context_sum);
    KernelCost cost;
    if (decodes == 0) return cost;
    const AttentionShape shape = attention_shape(op);
    const RankAttention::Affine head = memory_.head(group_of(op), op.head_dim);
    const auto channels = static_cast<double>(memory_.channels);
    const double passes = std::ceil(shape.kv_heads / channels),
                 share = std::min(1.0, shape.kv_heads / channels) / memory_.ranks_in_channel;
    // Q, K and V come in over the rankset's bus, and the results go out.
    const Bytes moved = decodes * (2 * bytes_per_query(op) + bytes_per_token(op));
    cost.time = cost.traffic = moved / (memory_.channels * memory_.stored) +
                               passes * (decodes * head.fixed + share * tokens * head.per_token);
    cost.energy = shape.kv_heads * (decodes * head.fixed_energy + tokens * head.energy_per_token);
    cost.flops = Flops(shape.flops_per_pair() * tokens);
    if (memory_.level == DimmLevel::channel)
      cost.moved[host_.memory] = shape.bytes_per_token() * Bytes(tokens);
    return cost;
  }

  DimmShape memory_;  // the share: its channels
  HostResources host_;
};

}  // namespace

std::string Dimm::cannot_share(int devices) const {
  if (shape_.channels % devices == 0) return "";
  return fmt::format("its {} channels cannot be dealt out evenly to the {} devices of the node",
                     shape_.channels, devices);
}

std::shared_ptr<const Device> Dimm::beside(std::shared_ptr<const Device> device, int devices,
                                           Memory::KeptFor kept_for) const {
  DimmShape part = shape_;
  part.channels /= devices;
  const BytesPerSecond bus = static_cast<double>(part.channels) * part.channel_bandwidth;
  auto [spec, host] = share_of_host(*device, spec_, devices, bus, kept_for);
  spec.units.push_back(spec_.units.front());
  spec.units.back().ports = host.ports();
  spec.units.push_back({"host_link", {KernelKind::copy}, host.ports(), 2});  // there, and back
  return std::make_shared<BesideDevice>(std::move(device), std::move(spec), std::move(part), host);
}

}  // namespace weir
