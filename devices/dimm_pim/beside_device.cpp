// A device that runs a model, with its share of the host's memory: what its decodes attend to is there.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "devices/dimm_pim/dimm.h"
#include "devices/operator_shapes.h"

namespace weir {
namespace {

struct Decodes {  // whose KV cache lies in one channel (rankset), or in all
  double count = 0, tokens = 0;
};

Decodes decodes_of(const BatchShape& batch, int channel) {
  if (batch.contexts.empty())  // of a device with one channel
    return {static_cast<double>(batch.decodes), static_cast<double>(batch.decode_context_sum)};
  Decodes of;
  for (const DecodeContext& context : batch.contexts)
    if (channel < 0 || context.channel == channel) {
      ++of.count;
      of.tokens += static_cast<double>(context.tokens);
    }
  return of;
}

double prompt_tokens_of(const BatchShape& batch, int channel) {
  std::int64_t tokens = 0;
  for (const PrefillChunk& chunk : batch.prefill)
    if (channel < 0 || chunk.channel == channel) tokens += chunk.tokens;
  return static_cast<double>(tokens);
}

class BesideDevice final : public Device {
 public:
  BesideDevice(std::shared_ptr<const Device> device, DeviceSpec spec, DimmShape memory)
      : device_(std::move(device)), spec_(std::move(spec)), memory_(std::move(memory)) {}

  const DeviceSpec& spec() const override { return spec_; }

  KernelCost cost(const Operator& op, const BatchShape& batch, const CollectiveModel& links) const override {
    if (op.kind == OperatorKind::attention) return device_->cost(op, without_decodes(batch), links);
    if (op.kind == OperatorKind::decode_attention) return attend(op, batch);
    if (is_host_transfer(op.kind)) return transfer(op, batch);
    return device_->cost(op, batch, links);
  }

  // Of transfers for which all ranksets stop.
  KernelCost cost_by_member(const Operator& op, const BatchShape& batch,
                            std::span<Seconds> times) const override {
    if (!is_host_transfer(op.kind)) return device_->cost_by_member(op, batch, times);
    const KernelCost cost = transfer(op, batch);
    std::ranges::fill(times, cost.time);
    return cost;
  }

  AffineKernelCost decode_attention(const Operator& op, const BatchShape& batch) const override {
    return device_->decode_attention(op, without_decodes(batch));
  }
  bool affine_over_steps() const override { return true; }
  bool measures_sampler() const override { return device_->measures_sampler(); }
  std::string cannot_run(const StageGraph& stage) const override { return device_->cannot_run(stage); }

 private:
  static BatchShape without_decodes(BatchShape batch) {
    batch.decodes = batch.decode_context_sum = batch.decode_context_max = 0;
    batch.contexts = {};
    return batch;
  }

  // Heads go round the channels; where they are fewer, a head's tokens do, so that each channel has its part.
  KernelCost attend(const Operator& op, const BatchShape& batch) const {
    const Decodes decodes = decodes_of(batch, op.channel);
    KernelCost cost;
    if (decodes.count == 0) return cost;
    const std::int64_t group = std::max<std::int64_t>(1, op.query_heads / op.kv_heads);
    const HeadAttention head = memory_.head(group, op.head_dim);
    const auto heads = static_cast<double>(op.kv_heads), channels = static_cast<double>(memory_.channels);
    const double passes = std::ceil(heads / channels), share = std::min(1.0, heads / channels);
    // Q, K and V come in over the rankset's bus, and the results go out.
    const Bytes moved = decodes.count * (result_bytes(op) + offload_bytes(op));
    cost.time = cost.traffic =
        moved / (memory_.channels * memory_.stored) +
        passes * (decodes.count * head.fixed + share * decodes.tokens * head.per_token);
    cost.energy = heads * (decodes.count * head.fixed_energy + decodes.tokens * head.energy_per_token);
    cost.flops = Flops(attention_shape(op).flops_per_pair() * decodes.tokens);
    if (memory_.level == DimmLevel::channel)
      cost.host = attention_shape(op).bytes_per_token() * Bytes(decodes.tokens);
    return cost;
  }

  // Of one decode.
  static Bytes result_bytes(const Operator& op) {
    return Bytes(static_cast<double>(op.query_heads * op.head_dim) * bytes_per_element(op.activations));
  }
  static Bytes offload_bytes(const Operator& op) {
    return result_bytes(op) + Bytes(attention_shape(op).bytes_per_token());
  }

  KernelCost transfer(const Operator& op, const BatchShape& batch) const {
    const auto decodes = static_cast<double>(batch.decodes);
    KernelCost cost;
    cost.host = op.kind == OperatorKind::offload ? decodes * offload_bytes(op)
                : op.kind == OperatorKind::onload
                    ? decodes * result_bytes(op)
                    : Bytes(attention_shape(op).bytes_per_token() * prompt_tokens_of(batch, op.channel));
    cost.time = cost.traffic = cost.host / std::min(spec_.host_bandwidth, memory_.channels * memory_.stored);
    cost.energy = spec_.power.per_link_byte * cost.host;
    return cost;
  }

  std::shared_ptr<const Device> device_;
  DeviceSpec spec_;
  DimmShape memory_;  // the share: its channels
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
  std::erase_if(spec.units, [](const DeviceUnit& unit) { return unit.name == "prefetch"; });
  spec.cache.reset();
  spec.units.push_back(whole.units.front());
  spec.units.push_back({"host_link", 2});  // there, and back
  spec.kv_channels = share.ranksets;
  spec.host_kv =
      HostKv{whole.memory / devices, static_cast<double>(share.channels) * share.channel_bandwidth};
  spec.power.idle += whole.power.idle / devices;
  spec.power.tdp += whole.power.tdp / devices;
  spec.dollars_per_hour += whole.dollars_per_hour / devices;
  return std::make_shared<BesideDevice>(std::move(device), std::move(spec), std::move(share));
}

}  // namespace weir
