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

struct Decodes {  // whose KV cache lies in one channel (rankset), or in all
  double count = 0, tokens = 0;
};

// `channel` -1: of all of the host's, of which there are so many.
Decodes decodes_of(const BatchShape& batch, int channel, int channels) {
  if (batch.contexts.empty())  // of a device with one channel
    return {static_cast<double>(batch.decodes), static_cast<double>(batch.decode_context_sum)};
  Decodes of;
  for (const DecodeContext& context : batch.contexts)
    if (channel < 0 ? context.channel < channels : context.channel == channel) {
      ++of.count;
      of.tokens += static_cast<double>(context.tokens);
    }
  return of;
}

double prompt_tokens_of(const BatchShape& batch, int channel, int channels) {
  std::int64_t tokens = 0;
  for (const PrefillChunk& chunk : batch.prefill)
    if (channel < 0 ? chunk.channel < channels : chunk.channel == channel) tokens += chunk.tokens;
  return static_cast<double>(tokens);
}

class BesideDevice final : public DecodesElsewhere {
 public:
  BesideDevice(std::shared_ptr<const Device> device, DeviceSpec spec, DimmShape memory, HostResources host)
      : DecodesElsewhere(std::move(device), std::move(spec)), memory_(std::move(memory)), host_(host) {}

 private:
  const Memory& attending_memory() const override { return spec().memories.back(); }

  // A head's columns beside the banks and the row of a memory that a scenario gives.
  std::string cannot_run(const StageGraph& stage) const override {
    for (const Operator* op : operators_of(stage)) {
      if (op->kind != OperatorKind::decode_attention) continue;
      try {
        memory_.head(std::max<std::int64_t>(1, op->query_heads / op->kv_heads), op->head_dim);
      } catch (const std::invalid_argument& error) {
        return fmt::format("{} with heads of {}: {}", attending_memory().name, op->head_dim, error.what());
      }
    }
    return DecodesElsewhere::cannot_run(stage);
  }

  bool has(const DecodeContext& context) const override { return context.channel >= memory_.ranksets; }

  KernelCost elsewhere(const Operator& op, const BatchShape& batch) const override {
    return op.kind == OperatorKind::decode_attention ? attend(op, batch) : transfer(op, batch);
  }

  // Heads go round the channels, the tokens of each round the ranks of a rankset; where there are fewer heads
  // than channels, their tokens go round these too.
  KernelCost attend(const Operator& op, const BatchShape& batch) const {
    const Decodes all = decodes_of(batch, op.channel, memory_.ranksets),
                  decodes{even_share(op) * all.count, even_share(op) * all.tokens};
    KernelCost cost;
    if (decodes.count == 0) return cost;
    const std::int64_t group = std::max<std::int64_t>(1, op.query_heads / op.kv_heads);
    const RankAttention::Affine head = memory_.head(group, op.head_dim);
    const auto heads = static_cast<double>(op.kv_heads), channels = static_cast<double>(memory_.channels);
    const double passes = std::ceil(heads / channels),
                 share = std::min(1.0, heads / channels) / memory_.ranks_in_channel;
    // Q, K and V come in over the rankset's bus, and the results go out.
    const Bytes moved = decodes.count * (result_bytes(op) + offload_bytes(op));
    cost.time = cost.traffic =
        moved / (memory_.channels * memory_.stored) +
        passes * (decodes.count * head.fixed + share * decodes.tokens * head.per_token);
    cost.energy = heads * (decodes.count * head.fixed_energy + decodes.tokens * head.energy_per_token);
    cost.flops = Flops(attention_shape(op).flops_per_pair() * decodes.tokens);
    if (memory_.level == DimmLevel::channel)
      cost.moved[host_.memory] = attention_shape(op).bytes_per_token() * Bytes(decodes.tokens);
    return cost;
  }

  // A member does an even share of what is for all channels.
  double even_share(const Operator& op) const {
    return op.each_member && op.channel < 0 ? 1. / memory_.ranksets : 1;
  }

  // Bytes of one decode.
  static Bytes result_bytes(const Operator& op) {
    return Bytes(static_cast<double>(op.query_heads * op.head_dim) * bytes_per_element(op.activations));
  }
  static Bytes offload_bytes(const Operator& op) {
    return result_bytes(op) + Bytes(attention_shape(op).bytes_per_token());
  }

  KernelCost transfer(const Operator& op, const BatchShape& batch) const {
    const double decodes = decodes_of(batch, -1, memory_.ranksets).count;
    const Bytes bytes = op.kind == OperatorKind::offload ? decodes * offload_bytes(op)
                        : op.kind == OperatorKind::onload
                            ? decodes * result_bytes(op)
                            : Bytes(even_share(op) * attention_shape(op).bytes_per_token() *
                                    prompt_tokens_of(batch, op.channel, memory_.ranksets));
    KernelCost cost;
    cost.moved[op.kind == OperatorKind::onload ? host_.from_host : host_.to_host] = bytes;
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
                                               int devices) {
  const auto& dimm = dynamic_cast<const Dimm&>(memory);
  const DeviceSpec& whole = dimm.spec();
  DimmShape share = dimm.shape();
  share.channels /= devices;
  DeviceSpec spec = device->spec();
  const BytesPerSecond bus = static_cast<double>(share.channels) * share.channel_bandwidth;
  const HostResources host(interconnect + 1 + spec.more_resources.size());
  spec.more_resources.insert(
      spec.more_resources.end(),
      {{"to host", spec.host_bandwidth}, {"from host", spec.host_bandwidth}, {"host memory", bus}});
  spec.units.push_back(whole.units.front());
  spec.units.back().ports = host.ports();
  spec.units.push_back(
      {"host_link", {OperatorKind::offload, OperatorKind::onload}, host.ports(), 2});  // there, and back
  spec.memories.push_back(whole.own());
  spec.memories.back().capacity = whole.own().capacity / devices;
  spec.memories.back().bandwidth = bus;
  spec.power.idle += whole.power.idle / devices;
  spec.power.tdp += whole.power.tdp / devices;
  spec.dollars_per_hour += whole.dollars_per_hour / devices;
  return std::make_shared<BesideDevice>(std::move(device), std::move(spec), std::move(share), host);
}

}  // namespace weir
