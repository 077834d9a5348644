#include "models/machine/data_type.h"

#include <array>

namespace weir {
namespace {

struct TypeEntry {
  DataType type;
  const char* name;
  double bytes;
};
constexpr std::array<TypeEntry, 6> types = {{{DataType::fp32, "fp32", 4},
                                             {DataType::bf16, "bf16", 2},
                                             {DataType::fp16, "fp16", 2},
                                             {DataType::fp8, "fp8", 1},
                                             {DataType::int8, "int8", 1},
                                             {DataType::int4, "int4", 0.5}}};

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
  for (const TypeEntry& known : types) names += (names.empty() ? "" : ", ") + std::string(known.name);
  return names;
}

}  // namespace weir
