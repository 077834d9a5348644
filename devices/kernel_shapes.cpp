#include "devices/kernel_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace weir {
namespace {

std::vector<std::string> types_with_a_peak(const DeviceSpec& device) {
  std::vector<std::string> known;
  for (const DataType t : all_data_types)
    if (device.peak(t) > FlopsPerSecond(0)) known.push_back(to_string(t));
  return known;
}

// A kernel of matrices calculates in one type; other kernels give none.
std::optional<DataType> calculates_in(const KernelWork& work) {
  if (const auto* custom = work.as<CustomKernel>()) return custom->type();
  const Gemm* matrix = matrix_of(work);
  return matrix ? std::optional(matrix->activations) : std::nullopt;
}

}  // namespace

GemmShape gemm_shape(const Gemm& gemm, double rows) {
  return {.rows = rows,
          .in = static_cast<double>(gemm.in),
          .out = static_cast<double>(gemm.out),
          .weight_bytes = bytes_per_element(gemm.weights),
          .activation_bytes = bytes_per_element(gemm.activations),
          .output_bytes = bytes_per_element(gemm.outputs),
          .matrices = static_cast<double>(gemm.matrices)};
}

AttentionShape attention_shape(const Attention& attention) {
  return {.query_heads = static_cast<double>(attention.query_heads),
          .kv_heads = static_cast<double>(attention.kv_heads),
          .head_dim = static_cast<double>(attention.head_dim),
          .kv_bytes = bytes_per_element(attention.kv_cache),
          .met = static_cast<double>(attention.head_dim + values_met(attention)),
          .read = static_cast<double>(attention.head_dim + values_read(attention)),
          .window = static_cast<double>(attention.window)};
}

ExpertShape expert_shape(const GroupedGemm& experts) {
  return {experts.here, experts.active, experts.total};
}

RankLoad rank_load(const GroupedGemm& experts, double tokens) {
  return experts.loads ? experts.loads->fullest(tokens) : even_load(expert_shape(experts), tokens);
}

double asked_for(const KernelWork& work) {
  if (work.as<Gemm>()) return work.rows > 0 ? 1 : 0;
  const auto* experts = work.as<GroupedGemm>();
  if (!experts) return 1;
  return rank_load(*experts, work.rows).hit / static_cast<double>(experts->here);
}

KernelCost collective_cost(const KernelWork& work, const CollectiveModel& links, const DeviceSpec& device) {
  const auto& [kind, per_row, devices, among, experts] = std::get<Communication>(work.kernel);
  KernelCost cost;
  if (work.rows == 0) return cost;
  const Bytes payload = work.rows * per_row;
  cost.time = links.time(kind, work.end * payload, devices);
  // To the links the chunks are one collective: each takes what the payload takes longer with it, so that the
  // start is paid once. Where more goes faster (measured: another protocol from some size on) it takes none.
  if (work.begin > 0)
    cost.time = std::max(Seconds(0), cost.time - links.time(kind, work.begin * payload, devices));
  cost.moved[interconnect] = (work.end - work.begin) * links.sent(kind, payload, devices);
  cost.moved[own_memory] = 2 * cost.moved[interconnect];
  cost.traffic = cost.time;
  cost.energy = device.power.dynamic(cost.flops, cost.moved[own_memory], cost.moved[interconnect]);
  return cost;
}

ExchangeCost exchanged(const Communication& call, double rows, const ExpertExchange& exchange) {
  const ExpertTraffic& traffic = *call.experts;
  const ExchangeStep step{.tokens = rows / call.devices,
                          .experts = traffic.experts,
                          .active = traffic.active,
                          .dispatched = call.per_row,
                          .combined = call.per_row,
                          .imbalance = traffic.loads ? traffic.loads->fullest(rows).imbalance : 1};
  return traffic.back ? exchange.combine(step) : exchange.dispatch(step);
}

KernelCost exchange_cost(const KernelWork& work, const ExpertExchange& exchange, const DeviceSpec& device) {
  KernelCost cost;
  if (work.rows == 0) return cost;
  const ExchangeCost sent = exchanged(std::get<Communication>(work.kernel), work.rows, exchange);
  cost.time = cost.traffic = sent.time;
  cost.moved[interconnect] = sent.inside + sent.between;
  cost.moved[own_memory] = 2 * cost.moved[interconnect];
  cost.energy = device.power.dynamic(cost.flops, cost.moved[own_memory], cost.moved[interconnect]);
  return cost;
}

void no_kernel(const KernelWork& work, const DeviceSpec& device) {
  throw std::logic_error(fmt::format("{} has no kernel for {}", device.kind, work.name));
}

const Gemm* matrix_of(const KernelWork& work) {
  if (const auto* experts = work.as<GroupedGemm>()) return &experts->each;
  return work.as<Gemm>();
}

KernelCost with_energy(const DeviceSpec& device, KernelCost cost, DataType type) {
  const FlopsPerSecond peak = device.peak(type),
                       peak_16bit = std::max(device.peak(DataType::bf16), device.peak(DataType::fp16));
  const double half = peak > FlopsPerSecond(0) ? peak_16bit / peak : 1;
  const PowerSpec& power = device.power;
  const Bytes memory = cost.moved[own_memory];
  cost.clocked = power.per_flop * (half * cost.flops) + power.per_chip_byte * memory;
  cost.energy = cost.clocked + power.per_byte * memory + power.per_link_byte * cost.moved[interconnect];
  return cost;
}

KernelCost with_attention_energy(const DeviceSpec& device, KernelCost cost) {
  cost = with_energy(device, cost, DataType::bf16);
  const Joules beside = device.power.per_attention_byte * cost.moved[own_memory];
  cost.clocked += beside;
  cost.energy += beside;
  return cost;
}

const Attention* whole_attention(const KernelWork& work) {
  const auto* attention = work.as<Attention>();
  return attention && attention->part == Attention::Part::whole && work.share == 1 ? attention : nullptr;
}

std::string attends_otherwise(const std::string& who, std::span<const KernelWork> all) {
  for (const KernelWork& work : all) {
    const auto* attention = work.as<Attention>();
    if (!attention || is_plain(*attention)) continue;
    return fmt::format("{} attends to all tokens' keys and values alone, not {} ({})", who,
                       attention->keys == Attention::Keys::cached  ? "in sliding windows"
                       : attention->keys == Attention::Keys::index ? "to those that an indexer chooses"
                                                                   : "to latents (MLA)",
                       work.name);
  }
  return "";
}

std::string lacks_a_peak(const DeviceSpec& device, std::span<const KernelWork> all) {
  for (const KernelWork& work : all) {
    const std::optional<DataType> type = calculates_in(work);
    if (type && device.peak(*type) <= FlopsPerSecond(0))
      return fmt::format("{} cannot calculate in {} ({}'s activations); it can in {}", device.kind,
                         to_string(*type), work.name, fmt::join(types_with_a_peak(device), ", "));
  }
  return "";
}

}  // namespace weir
