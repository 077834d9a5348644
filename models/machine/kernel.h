#pragma once
// A kernel is what an operator is to a machine, whichever model or training graph it comes from. Models make
// them for one row (models/llm/operator_graph.h), policies place them on units by their kind, and a device
// prices KernelWork: the kernel with the rows and contexts of a batch (devices/device.h). Pure values.
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <variant>

#include "models/machine/batch_shape.h"
#include "models/machine/custom_kernel.h"
#include "models/machine/data_type.h"
#include "models/machine/side_loads.h"
#include "sim/core/units.h"

namespace weir {

struct Gemm {  // rows x in by in x out
  std::int64_t in = 0, out = 0;
  StoredType weights = DataType::bf16;
  DataType activations = DataType::bf16, outputs = DataType::bf16;
  std::int64_t matrices = 1;  // so many alike in one kernel, each with rows of its own
  bool operator==(const Gemm&) const = default;
};

class ExpertLoads;  // models/latency/expert_load.h

struct GroupedGemm {  // experts: a matrix each, rows spread over them by a router
  Gemm each;
  std::int64_t here = 0, active = 0, total = 0;  // experts on this rank; of a row; in the layer
  const ExpertLoads* loads = nullptr;            // how rows fall on ranks; null: evenly
  bool operator==(const GroupedGemm&) const = default;
};

struct Attention {
  enum class Part {
    whole,    // of prompts and decodes
    decodes,  // of decodes alone, in the memory that their KV caches lie in
    logit,    // decodes in three, where several units share them: K q,
    softmax,  // of the scores,
    attend    // V s
  };
  Part part = Part::whole;
  std::int64_t query_heads = 0, kv_heads = 0,
               head_dim = 0;  // of the rank, or of these parts the heads of one
  DataType activations = DataType::bf16, kv_cache = DataType::bf16;
  enum class Keys {
    cached,    // keys and values of the KV cache, both as wide as a head
    latent,    // the cache's latents: values are the first `value_dim` elements of keys
    expanded,  // keys and values of `value_dim` that a kernel before has made of the cache's latents
    index      // keys alone: their scores are all that is wanted
  };
  Keys keys = Keys::cached;
  std::int64_t value_dim = 0;  // where it is not the head's
  std::int64_t window = 0;     // a token attends to so many at most; 0: to all
  bool operator==(const Attention&) const = default;
};
// Heads whose every token attends to the keys and values that a cache has of all tokens before: what hardware
// for attention was built for.
bool is_plain(const Attention& attention);
// Elements of values that a query meets beside a key, and that are read beside one of each KV head.
std::int64_t values_met(const Attention& attention);
std::int64_t values_read(const Attention& attention);

struct Elementwise {  // norms, activations, rotary embedding, residuals: bytes only
  Bytes per_row;      // read + written
  bool operator==(const Elementwise&) const = default;
};

// Bytes of a row's queries (or results, which are as many), and of its keys and values.
Bytes bytes_per_query(const Attention& attention);
Bytes bytes_per_token(const Attention& attention);

enum class Collective { all_reduce, all_gather, reduce_scatter, all_to_all, send_receive };

// How ranks send tokens to those that hold their experts.
enum class ExchangeMethod {
  low_latency,        // DeepEP's for decodes: a copy for each expert of a token, straight to its rank
  normal,             // DeepEP's for prompts: once a node over NICs, then once a rank inside it
  all_gather,         // every rank gets every token, and a reduce-scatter brings the results back
  nvlink_all_to_all,  // TensorRT-LLM's one-sided kernels: once a rank, over NVLink alone
};
inline constexpr std::size_t exchange_methods = 4;

// An all-to-all of tokens with the experts of a layer.
struct ExpertTraffic {
  ExchangeMethod method = ExchangeMethod::all_gather;
  bool back = false;                     // what the experts made of them (combine)
  std::int64_t experts = 0, active = 0;  // of the layer; of a token
  const ExpertLoads* loads = nullptr;    // as of their GroupedGemm
  bool operator==(const ExpertTraffic&) const = default;
};

struct Communication {
  Collective collective = Collective::all_reduce;
  Bytes per_row;    // payload
  int devices = 1;  // ranks taking part
  // All ranks of a stage; otherwise those that share every layer's attention, its tensor group.
  enum class Among { tensor, stage } among = Among::tensor;
  std::optional<ExpertTraffic> experts = {};  // rows are tokens of all ranks then
  bool operator==(const Communication&) const = default;
};

struct Copy {  // between the device's own memory and that of its host
  enum class Way { out, back };
  Way way = Way::out;
  Bytes per_row;
  bool operator==(const Copy&) const = default;
};

struct Prefetch {   // into the device's cache, of what another kernel reads that was there before it
  int window = -1;  // which communication it runs beside (StageGraph::windows)
  bool operator==(const Prefetch&) const = default;
};

// Units run kinds of kernels, and policies ask for them.
enum class KernelKind : std::uint32_t {
  elementwise,
  gemm,
  grouped_gemm,
  attention,
  decode_attention,
  logit,
  softmax,
  attend,
  communication,
  copy,
  prefetch,
  custom  // of a unit: every kernel of a custom kind, as the plain ones that it comes to
};

// The kind of custom kernels (custom_kernel.h) of that name.
constexpr KernelKind custom_kind(std::string_view name) {
  std::uint32_t hash = 2166136261u;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<std::uint8_t>(c)) * 16777619u;
  return static_cast<KernelKind>(hash | 0x8000'0000u);
}
constexpr bool is_custom(KernelKind kind) {
  return kind >= KernelKind::custom;
}

using Kernel =
    std::variant<Elementwise, Gemm, GroupedGemm, Attention, Communication, Copy, Prefetch, CustomKernel>;
KernelKind kind_of(const Kernel& kernel);

template <class K, class Variant>
inline constexpr bool is_one_of = false;
template <class K, class... Kinds>
inline constexpr bool is_one_of<K, std::variant<Kinds...>> = (std::is_same_v<K, Kinds> || ...);

// The kernel as one of these types, or as the type of a custom kernel; null of others.
template <class K>
const K* kernel_as(const Kernel& kernel) {
  if constexpr (is_one_of<K, Kernel>) {
    return std::get_if<K>(&kernel);
  } else {
    const auto* custom = std::get_if<CustomKernel>(&kernel);
    return custom ? custom->as<K>() : nullptr;
  }
}

// A device is asked for this: a kernel for so many rows. Points to the kernel and its name.
struct KernelWork {
  std::string_view name;  // the layer as measured tables know it (devices/profile/profile_bundle.h)
  const Kernel& kernel;
  double rows = 0;            // 0: nothing to do, but for attention, which has `batch`
  BatchShape batch = {};      // attention: prompts and decodes that it is for, and no others
  double begin = 0, end = 1;  // of a kernel in chunks: this one's share of its columns, or of the payload
  double share = 1;           // it does so much of every row: members of a unit may share all evenly
  std::span<const SideLoad> side = {};  // by member of the unit; copies: so many of them

  template <class K>
  const K* as() const {
    return kernel_as<K>(kernel);
  }
};

// Bytes that it reads and that lie in memory before the kernels that lead to it have run: what a device may
// fetch ahead. Weights of matrices, of all experts of a rank whichever will be chosen; of attention K and V
// of the tokens in the cache. 0 of others.
Bytes stored_bytes(const KernelWork& work);

}  // namespace weir
