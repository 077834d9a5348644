#pragma once
// Types of numbers that machines calculate in and memories hold.
#include <array>
#include <cstddef>
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
double bytes_per_element(DataType type);  // scales of blocks included
std::string to_string(DataType type);
std::optional<DataType> data_type_named(std::string_view name);
std::string data_type_names();  // of all, for messages

// bf16 and fp16: what PIM calculates in.
inline bool sixteen_bits(DataType type) {
  return type == DataType::bf16 || type == DataType::fp16;
}

}  // namespace weir
