#pragma once
// Which of a profile's tables an operator's kernel is looked up in, and the kernels that these tables' rows
// stand for. Used by profiled.cpp alone.
#include "devices/profile/profile_shapes.h"
#include "models/machine/kernel.h"

namespace weir {

// The block of a mixture of experts is measured whole: its first matrix stands for all of it.
inline bool whole_moe(const KernelWork& work) {
  return work.name == "moe_gate_up";
}
inline bool part_of_moe(const KernelWork& work) {
  return work.name.starts_with("moe_");
}

// Layers of per_sequence.csv; all others are of dense.csv.
inline bool of_sequences(const KernelWork& work) {
  return work.name == "lm_head" || work.name == "sampler";
}

// 8-bit matrices and narrower ones leave 16-bit numbers behind.
inline Gemm gemm_of(const GemmTypes& types, std::int64_t in, std::int64_t out) {
  const bool narrow = bytes_per_element(types.activations) < 2;
  return {in, out, types.weights, types.activations, narrow ? DataType::bf16 : types.activations};
}

inline GroupedGemm up_projection(const ExpertBlock& block) {
  return {gemm_of(block.types, block.hidden, 2 * block.inter), block.total / block.ep, block.active,
          block.total};
}

inline ExpertBlock block_of(const GroupedGemm& op, bool up) {
  const GemmTypes types{op.each.weights.number, op.each.activations};
  return {types,
          up ? op.each.in : op.each.out,
          up ? op.each.out / 2 : op.each.in,
          op.active,
          op.total,
          op.total / op.here};
}

}  // namespace weir
