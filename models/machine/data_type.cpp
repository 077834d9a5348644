#include "models/machine/data_type.h"

#include <fmt/format.h>

#include <array>

namespace weir {
namespace {

struct TypeEntry {
  DataType type;
  const char* name;
  double bits;        // of a number
  double group;       // numbers to a scale; 0: scales are too few to count
  double scale_bits;  // of a group, also of one that is chosen; 0: none can be
};
// Scales: 32 bits to 128 x 128 weights; 8 bits to
// 16 numbers (NVFP4) and to 32 (MXFP4); where groups are chosen 16 bits to integers (AWQ, GPTQ,
// compressed-tensors store fp16 or bf16) and 32 to fp8 (weight_scale_inv).
constexpr std::array<TypeEntry, data_types> types = {{{DataType::fp32, "fp32", 32, 0, 0},
                                                      {DataType::bf16, "bf16", 16, 0, 0},
                                                      {DataType::fp16, "fp16", 16, 0, 0},
                                                      {DataType::fp8, "fp8", 8, 0, 32},
                                                      {DataType::int8, "int8", 8, 0, 16},
                                                      {DataType::int4, "int4", 4, 0, 16},
                                                      {DataType::fp8_block, "fp8_block", 8, 128 * 128, 32},
                                                      {DataType::fp4, "fp4", 4, 16, 8},
                                                      {DataType::mxfp4, "mxfp4", 4, 32, 8}}};

const TypeEntry& entry(DataType type) {
  return types[static_cast<std::size_t>(type)];
}

}  // namespace

double bytes_per_element(const StoredType& type) {
  const TypeEntry& of = entry(type.number);
  const double group = type.group > 0 ? type.group : of.group;
  if (group == 0) return of.bits / 8;
  return (of.bits + (of.scale_bits + (type.zeros ? of.bits : 0)) / group) / 8;
}

double bytes_per_element(DataType type) {
  return bytes_per_element(StoredType(type));
}

double bytes_per_activation(DataType type) {
  const bool eight_bits = type == DataType::fp8 || type == DataType::fp8_block || type == DataType::int8;
  return eight_bits ? 1 + 4. / 128 : bytes_per_element(type);
}

std::string to_string(DataType type) {
  return entry(type).name;
}

std::string to_string(const StoredType& type) {
  std::string name = to_string(type.number);
  if (type.group == 0) return name;
  return fmt::format("{} in groups of {}{}", name, type.group, type.zeros ? " with zero points" : "");
}

bool takes_groups(DataType type) {
  return type == DataType::int4 || type == DataType::int8;
}

bool quantised(const StoredType& type) {
  return entry(type.number).bits < 16;
}

DataType multiplied_in(const StoredType& type) {
  switch (type.number) {
    case DataType::int4:
    case DataType::mxfp4:
      return DataType::bf16;
    case DataType::int8:
      return type.group > 0 ? DataType::bf16 : DataType::int8;
    case DataType::fp8:
      return type.group > 0 ? DataType::fp8_block : DataType::fp8;
    default:
      return type.number;
  }
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
