#pragma once
// Types of numbers that machines calculate in and memories hold.
#include <optional>
#include <string>
#include <string_view>

namespace weir {

enum class DataType { fp32, bf16, fp16, fp8, int8, int4 };
double bytes_per_element(DataType type);
std::string to_string(DataType type);
std::optional<DataType> data_type_named(std::string_view name);
std::string data_type_names();  // of all, for messages

// bf16 and fp16: what PIM calculates in.
inline bool sixteen_bits(DataType type) {
  return type == DataType::bf16 || type == DataType::fp16;
}

}  // namespace weir
