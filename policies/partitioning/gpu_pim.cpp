// L3, Sections 3 and 5.1: the attention of decodes on the ranksets of the host's DIMM-PIM, which hold all of
// the KV cache, the rest on the GPU. Q, K and V of decodes go there and the results come back while the step
// waits; the keys and values of prompts go there beside the projection and the feed-forward network. In the
// same places: a host processor that attends to a KV cache in plain DIMMs (NEO, FastDecode), and PIM in the
// GPU's own memory (AttAcc), which needs no transfers.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

#include "models/llm/parts/rewrite.h"
#include "policies/partitioning/partitioning.h"
#include "policies/partitioning/units.h"

namespace weir {
namespace {

struct Transfers {
  bool concurrent;    // one rankset receives or sends while the others compute
  bool asynchronous;  // of prompts
};

struct Host {        // units
  int memory, link;  // none where the memory is the device's own
  int channels;      // of the memory
};

// Behind PIM in the device comes that of its host, which then holds the KV cache.
int attending_memory(std::span<const Unit> units) {
  int memory = -1;
  for (std::size_t u = 0; u < units.size(); ++u)
    if (units[u].runs(KernelKind::decode_attention)) memory = static_cast<int>(u);
  return memory;
}

class GpuPim final : public PartitioningPolicy {
 public:
  GpuPim(std::shared_ptr<const PartitioningPolicy> rest, Transfers transfers, bool spare_memory)
      : rest_(std::move(rest)), transfers_(transfers), spare_memory_(spare_memory) {}

  StageGraph place(StageGraph stage, std::span<const Unit> units) const override {
    StageGraph placed = rest_->place(std::move(stage), units);
    const int memory = attending_memory(units);
    if (memory < 0)
      throw std::invalid_argument(fmt::format(
          "gpu_pim needs a memory that attends to decodes: PIM in the device, or among the devices "
          "of the node host memory such as dimm_pim (the device has {})",
          unit_names(units)));
    const Unit& attending = units[static_cast<std::size_t>(memory)];
    return split(placed, {memory, host_link(units), attending.share_channel ? 1 : attending.members});
  }

  HostMemoryUse host_memory() const override { return {.kv_caches = true, .spare = spare_memory_}; }

 private:
  StageGraph split(StageGraph placed, Host host) const {
    return rewrite(std::move(placed), [&](const OperatorGraph& from, std::size_t v) {
      if (!from[v].as<Attention>()) return Replacement(from[v]);
      return host.link >= 0 ? in_host(from[v], host) : in_device(from[v], host.memory);
    });
  }

  static Operator prompts_of(Operator attention) {
    attention.rows = Rows::prompt_tokens;
    return attention;
  }

  // All prompts, and the decodes whose KV caches are not in the host's channels.
  Operator on_device(Operator attention, Host host) const {
    if (!spare_memory_) return prompts_of(std::move(attention));
    attention.channels.first = host.channels;
    return attention;
  }

  static Operator of_decodes(const Operator& whole, int unit) {
    Attention attention = std::get<Attention>(whole.kernel);
    attention.part = Attention::Part::decodes;
    return {.name = "decode_attention", .kernel = attention, .rows = Rows::decodes, .unit = unit};
  }

  static Replacement in_device(const Operator& attention, int unit) {
    Replacement parts(prompts_of(attention));
    parts.operators.push_back(of_decodes(attention, unit));
    return parts;
  }

  // Queries and results are a thousandth of what is attended to: a rankset is held by them for as long as its
  // bus needs, as part of its attention, while they cross the host's link on their own. Prompts are as fast
  // as that link, and hold their rankset all the while.
  Replacement in_host(const Operator& attention, Host host) const {
    enum { prompts, offload, decodes, onload, store };
    const auto& heads = std::get<Attention>(attention.kernel);
    const Bytes query = bytes_per_query(heads), token = bytes_per_token(heads);
    const auto copy = [](const char* name, Copy what, Rows rows, int unit) {
      return Operator{.name = name, .kernel = what, .rows = rows, .unit = unit};
    };
    Replacement parts;
    parts.operators = {on_device(attention, host),
                       copy("offload", {Copy::Way::out, query + token}, Rows::decodes, transfer_unit(host)),
                       of_decodes(attention, host.memory),
                       copy("onload", {Copy::Way::back, query}, Rows::decodes, transfer_unit(host)),
                       copy("store", {Copy::Way::out, token}, Rows::prompt_tokens, host.memory)};
    for (const int in_host : {offload, decodes, onload, store})
      parts.operators[static_cast<std::size_t>(in_host)].channels.last = host.channels;
    parts.operators[decodes].each_member = true;
    parts.operators[store].each_member = transfers_.concurrent;
    if (transfers_.concurrent) parts.operators[offload].member = 0, parts.operators[onload].member = 1;
    parts.edges = {{offload, decodes}, {decodes, onload}};
    parts.first = {prompts, offload};
    parts.last = {prompts, onload};
    if (transfers_.asynchronous) {
      parts.edges.insert(parts.edges.end(), {{prompts, store}, {onload, store}});
    } else {
      parts.first.push_back(store);
      parts.last.push_back(store);
    }
    return parts;
  }

  int transfer_unit(Host host) const { return transfers_.concurrent ? host.link : host.memory; }

  std::shared_ptr<const PartitioningPolicy> rest_;
  Transfers transfers_;
  bool spare_memory_;
};

}  // namespace

std::shared_ptr<const PartitioningPolicy> make_device_only_partitioning(Params& params);

std::shared_ptr<const PartitioningPolicy> make_gpu_pim_partitioning(Params& params) {
  Transfers transfers{};
  transfers.concurrent = params.flag(
      {"concurrent_transfers",
       "One rankset of a host memory receives or sends while the others attend (L3, Section 5.1); false: all "
       "of them stop for it."},
      true);
  transfers.asynchronous = params.flag(
      {"asynchronous_store",
       "Keys and values of prompts go to the host memory beside what follows the attention; false: what "
       "follows waits for them."},
      true);
  const bool spare = params.flag({"spare_memory",
                                  "Requests for which the GPU's own memory has room stay there and are "
                                  "attended to by the GPU (L3, Section 8)."},
                                 false);
  return std::make_shared<GpuPim>(make_device_only_partitioning(params), transfers, spare);
}

}  // namespace weir
