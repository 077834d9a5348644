#include "models/machine/data_type.h"

#include <array>

namespace weir {
namespace {

struct TypeEntry {
  DataType type;
  const char* name;
  double bytes;
};
// Scales: 4 bytes to 128 x 128 weights (activations have as many to 128, 3 % that nobody counts); 8 bits to
// 16 numbers (NVFP4) and to 32 (MXFP4).
constexpr std::array<TypeEntry, data_types> types = {
    {{DataType::fp32, "fp32", 4},
     {DataType::bf16, "bf16", 2},
     {DataType::fp16, "fp16", 2},
     {DataType::fp8, "fp8", 1},
     {DataType::int8, "int8", 1},
     {DataType::int4, "int4", 0.5},
     {DataType::fp8_block, "fp8_block", 1 + 4. / (128 * 128)},
     {DataType::fp4, "fp4", 4.5 / 8},
     {DataType::mxfp4, "mxfp4", 4.25 / 8}}};

const TypeEntry& entry(DataType type) {
  return types[static_cast<std::size_t>(type)];
}

}  // namespace

double bytes_per_element(DataType type) {
  return entry(type).bytes;
}

std::string to_string(DataType type) {
  return entry(type).name;
}

std::optional<DataType> data_type_named(std::string_view name) {
  for (const TypeEntry& known : types)
    if (name == known.name) return known.type;
  return {};
}

std::string data_type_names() {
  std::string names;
  for (const DataType type : all_data_types) names += (names.empty() ? "" : ", ") + to_string(type);
  return names;
}

}  // namespace weir
