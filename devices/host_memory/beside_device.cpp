// A device that runs a model, with its share of the host's memory: what its decodes attend to is there.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "devices/decodes_elsewhere.h"
#include "devices/host_memory/dimm.h"
#include "devices/kernel_shapes.h"

namespace weir {
namespace {

// Resources that the host adds, behind those that the device has.
struct HostResources {
  explicit HostResources(std::size_t first) : to_host(first), from_host(first + 1), memory(first + 2) {}
  std::size_t to_host, from_host, memory;

  std::vector<Port> ports() const {
    return {{static_cast<int>(to_host)}, {static_cast<int>(from_host)}, {static_cast<int>(memory)}};
  }
};

class BesideDevice final : public DecodesElsewhere {
 public:
  BesideDevice(std::shared_ptr<const Device> device, DeviceSpec spec, DimmShape memory, HostResources host)
      : DecodesElsewhere(std::move(device), std::move(spec), more_units),
        memory_(std::move(memory)),
        host_(host) {}
  static constexpr std::size_t more_units = 2;  // the memory's, and the link to it

 private:
  const Memory& attending_memory() const override { return spec().memories.back(); }

  // A head's columns beside the banks and the row of a memory that a scenario gives.
  std::string cannot_run(std::span<const KernelWork> all) const override {
    for (const KernelWork& work : all) {
      const auto* heads = work.as<Attention>();
      if (!heads || heads->part != Attention::Part::decodes) continue;
      try {
        memory_.head(group_of(*heads), heads->head_dim);
      } catch (const std::invalid_argument& error) {
        return fmt::format("{} with heads of {}: {}", attending_memory().name, heads->head_dim, error.what());
      }
    }
    return DecodesElsewhere::cannot_run(all);
  }

  KernelCost elsewhere(const KernelWork& work) const override {
    const auto* copied = work.as<Copy>();
    return copied ? copy(*copied, work) : attend(std::get<Attention>(work.kernel), work);
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

  KernelCost copy(const Copy& copied, const KernelWork& work) const {
    const Bytes bytes = work.rows * (work.share * copied.per_row);
    KernelCost cost;
    cost.moved[copied.way == Copy::Way::back ? host_.from_host : host_.to_host] = bytes;
    cost.moved[host_.memory] = bytes;
    cost.time = cost.traffic = bytes / std::min(spec().host_bandwidth, memory_.channels * memory_.stored);
    cost.energy = spec().power.per_link_byte * bytes;
    return cost;
  }

  DimmShape memory_;  // the share: its channels
  HostResources host_;
};

}  // namespace

std::string cannot_share(const Device& memory, int devices) {
  const auto& dimm = dynamic_cast<const Dimm&>(memory);
  if (dimm.shape().channels % devices == 0) return "";
  return fmt::format("its {} channels cannot be dealt out evenly to the {} devices of the node",
                     dimm.shape().channels, devices);
}

std::shared_ptr<const Device> with_host_memory(std::shared_ptr<const Device> device, const Device& memory,
                                               int devices, Memory::KeptFor kept_for) {
  const auto& dimm = dynamic_cast<const Dimm&>(memory);
  const DeviceSpec& whole = dimm.spec();
  DimmShape share = dimm.shape();
  share.channels /= devices;
  DeviceSpec spec = device->spec();
  const BytesPerSecond bus = static_cast<double>(share.channels) * share.channel_bandwidth;
  const HostResources host(interconnect + 1 + spec.more_resources.size());
  spec.more_resources.insert(spec.more_resources.end(),
                             {{"to host", spec.host_bandwidth, ClusterLink::to_host},
                              {"from host", spec.host_bandwidth, ClusterLink::from_host},
                              {"host memory", bus}});
  spec.units.push_back(whole.units.front());
  spec.units.back().ports = host.ports();
  spec.units.push_back({"host_link", {KernelKind::copy}, host.ports(), 2});  // there, and back
  spec.memories.push_back(whole.own());
  spec.memories.back().capacity = whole.own().capacity / devices;
  spec.memories.back().bandwidth = bus;
  spec.memories.back().kept_for = kept_for;
  spec.memories.back().of_host = true;
  spec.power.idle += whole.power.idle / devices;
  spec.power.tdp += whole.power.tdp / devices;
  spec.dollars_per_hour += whole.dollars_per_hour / devices;
  return std::make_shared<BesideDevice>(std::move(device), std::move(spec), std::move(share), host);
}

}  // namespace weir
