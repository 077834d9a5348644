#pragma once
// Types of numbers that machines calculate in and memories hold, and how matrices of them are stored.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir {

// fp8 has a scale a tensor; fp8_block one for each block of 128 x 128 weights (DeepSeek's checkpoints), fp4
// is NVIDIA's NVFP4 (an 8-bit scale to 16 numbers), mxfp4 OCP's (one to 32). int4 is for weights.
enum class DataType { fp32, bf16, fp16, fp8, int8, int4, fp8_block, fp4, mxfp4 };
inline constexpr std::size_t data_types = 9;
// In the order that messages list them in.
inline constexpr std::array<DataType, data_types> all_data_types = {
    DataType::fp32, DataType::bf16, DataType::fp16,  DataType::fp8,      DataType::int8,
    DataType::int4, DataType::fp4,  DataType::mxfp4, DataType::fp8_block};
double bytes_per_element(DataType type);  // in weights and caches, with the scales of blocks
// Kernels and links pass activations on with scales. Those of 8 bits have a 32-bit scale to 128 numbers
// (DeepEP, deep_ep/buffer.py, low_latency_dispatch with use_fp8; SGLang and vLLM quantise a token by groups
// of 128).
double bytes_per_activation(DataType type);
std::string to_string(DataType type);
std::optional<DataType> data_type_named(std::string_view name);
std::string data_type_names();  // every name, for messages

// bf16 and fp16: what PIM calculates in.
inline bool sixteen_bits(DataType type) {
  return type == DataType::bf16 || type == DataType::fp16;
}

// A matrix in memory: numbers, with a scale to each group of them, and where they are not symmetric a zero
// point as wide as a number. Other groups than the type's own are chosen for int4 and int8 (takes_groups);
// fp8's are a checkpoint's.
struct StoredType {
  DataType number = DataType::bf16;
  int group = 0;  // weights to a scale; 0: as the type itself has them
  bool zeros = false;

  constexpr StoredType() = default;
  constexpr StoredType(DataType type) : number(type) {}  // implicit: a type with the groups it has by itself
  constexpr StoredType(DataType type, int weights_to_a_scale, bool zero_points)
      : number(type), group(weights_to_a_scale), zeros(zero_points) {}
  bool operator==(const StoredType&) const = default;
};
double bytes_per_element(const StoredType& type);
std::string to_string(const StoredType& type);  // "int4 in groups of 128 with zero points"
bool takes_groups(DataType type);               // a scenario may choose their size
bool quantised(const StoredType& type);         // below 16 bits
// The type that engines multiply such a matrix in: formats of activations in their own, those of weights
// alone in 16 bits.
DataType multiplied_in(const StoredType& type);

// Kernels may need matrices of experts whose sizes are multiples of their tiles: a library's loader then
// fills them up, and the card holds more than the file has.
struct ExpertPadding {
  std::int64_t hidden = 1, width = 1;  // a rank's mxfp4 expert is padded to multiples of these

  std::int64_t padded_hidden(std::int64_t size) const { return (size + hidden - 1) / hidden * hidden; }
  std::int64_t padded_width(std::int64_t size) const { return (size + width - 1) / width * width; }
  bool operator==(const ExpertPadding&) const = default;
};

}  // namespace weir
