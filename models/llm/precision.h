#pragma once
// Number formats of one scenario: how each group of a model's matrices is stored, and what it is multiplied
// in. Read from a scenario's `precision` over what the checkpoint says of itself (quantization.h).
#include <array>
#include <cstdint>
#include <optional>

#include "models/machine/data_type.h"
#include "sim/core/params.h"

namespace weir {

struct Quantization;

// Matrices that checkpoints quantise together. Routers, norms and biases are in none of them.
enum class MatrixGroup { attention, mlp, experts, shared_expert, head, embedding };
inline constexpr std::size_t matrix_groups = 6;
const char* name_of(MatrixGroup group);

using GroupSet = std::uint8_t;  // a bit a group
inline GroupSet only(MatrixGroup group) {
  return static_cast<GroupSet>(1u << static_cast<unsigned>(group));
}
inline constexpr GroupSet all_groups = (1u << matrix_groups) - 1;

struct MatrixTypes {
  StoredType weights = DataType::bf16;
  DataType activations = DataType::bf16;
  bool operator==(const MatrixTypes&) const = default;
};

struct Precision {
  StoredType weights = DataType::bf16;
  DataType activations = DataType::bf16;  // decides the tensor-core peak
  DataType kv_cache = DataType::bf16;
  std::optional<DataType> between = {};  // hidden() where a scenario says it
  std::optional<StoredType> expert_weights = {};
  std::optional<DataType> expert_activations = {};                    // where routed experts differ
  std::array<std::optional<MatrixTypes>, matrix_groups> groups = {};  // others that differ
  GroupSet by_layer =
      0;  // as the checkpoint has them: some layers may leave them in 16 bits (LayerKind::wide)

  // `checkpoint` is what the model's files say of themselves; null: 16 bits.
  static Precision from(Params& params, const Quantization* checkpoint = nullptr);

  // The types of `group` in a layer whose checkpoint leaves the groups in `wide` in 16 bits.
  MatrixTypes of(MatrixGroup group, GroupSet wide = 0) const;
  // The type between the GEMMs: of hidden states, residuals, attention's arithmetic, all-reduce payloads.
  // Unless said, never below 16 bits.
  DataType hidden() const;
  // The type of what is never quantised: the input of routers and of the LM head, logits; at least 16 bits.
  DataType unquantised() const;
  // Weights that are not quantised (norms, biases, routers; embedding and LM head where nothing else is
  // said): at least 16 bits.
  DataType unquantised_weights() const;
};

}  // namespace weir
