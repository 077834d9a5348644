#include "models/machine/kernel.h"

#include <algorithm>

namespace weir {
namespace {

KernelKind kind_of_part(Attention::Part part) {
  switch (part) {
    case Attention::Part::decodes:
      return KernelKind::decode_attention;
    case Attention::Part::logit:
      return KernelKind::logit;
    case Attention::Part::softmax:
      return KernelKind::softmax;
    case Attention::Part::attend:
      return KernelKind::attend;
    default:
      return KernelKind::attention;
  }
}

struct Kinds {
  KernelKind operator()(const Elementwise&) const { return KernelKind::elementwise; }
  KernelKind operator()(const Gemm&) const { return KernelKind::gemm; }
  KernelKind operator()(const GroupedGemm&) const { return KernelKind::grouped_gemm; }
  KernelKind operator()(const Attention& attention) const { return kind_of_part(attention.part); }
  KernelKind operator()(const Communication&) const { return KernelKind::communication; }
  KernelKind operator()(const Copy&) const { return KernelKind::copy; }
  KernelKind operator()(const Prefetch&) const { return KernelKind::prefetch; }
  KernelKind operator()(const CustomKernel& custom) const { return custom.kind(); }
};

}  // namespace

KernelKind kind_of(const Kernel& kernel) {
  return std::visit(Kinds(), kernel);
}

Bytes bytes_per_query(const Attention& a) {
  return Bytes(static_cast<double>(a.query_heads * a.head_dim) * bytes_per_element(a.activations));
}

bool is_plain(const Attention& a) {
  return a.keys == Attention::Keys::cached && a.window == 0;
}

std::int64_t values_met(const Attention& a) {
  return a.keys == Attention::Keys::cached ? a.head_dim : a.value_dim;
}

std::int64_t values_read(const Attention& a) {
  return a.keys == Attention::Keys::latent ? 0 : values_met(a);
}

Bytes bytes_per_token(const Attention& a) {
  return Bytes(static_cast<double>(a.kv_heads * (a.head_dim + values_read(a))) *
               bytes_per_element(a.kv_cache));
}

Bytes stored_bytes(const KernelWork& work) {
  const auto matrix = [](const Gemm& gemm, std::int64_t matrices) {
    return Bytes(static_cast<double>(matrices * gemm.in * gemm.out) * bytes_per_element(gemm.weights));
  };
  if (const auto* gemm = work.as<Gemm>()) return matrix(*gemm, gemm->matrices);
  if (const auto* experts = work.as<GroupedGemm>()) return matrix(experts->each, experts->here);
  const auto* attention = work.as<Attention>();
  if (!attention || attention->part != Attention::Part::whole) return Bytes(0);
  if (attention->keys == Attention::Keys::expanded) return Bytes(0);
  const auto seen = [&](std::int64_t tokens, std::int64_t requests) {
    return attention->window > 0 ? std::min(tokens, requests * attention->window) : tokens;
  };
  std::int64_t tokens =
      seen(work.batch.decode_context_sum - work.batch.decodes * work.batch.decode_rows, work.batch.decodes);
  for (const PrefillChunk& chunk : work.batch.prefill) tokens += seen(chunk.context, 1);
  return static_cast<double>(tokens) * bytes_per_token(*attention);
}

}  // namespace weir
