// From a type to bytes, by hand: bits of a number, and of scales and zero points over their group.
#include <catch2/catch.hpp>

#include "models/machine/kernel.h"

namespace weir {

TEST_CASE("types: a matrix of 4096 x 14336 weights takes these bytes in each type") {
  struct Row {
    StoredType type;
    double bytes;
  };
  const double weights = 4096. * 14336;  // 58,720,256
  const std::vector<Row> rows = {
      {DataType::fp32, 234881024},
      {DataType::bf16, 117440512},
      {DataType::fp16, 117440512},
      {DataType::fp8, 58720256},
      {DataType::int8, 58720256},
      {DataType::int4, 29360128},
      {DataType::fp8_block, 58720256 + 32 * 112 * 4},  // 32 x 112 blocks of 128 x 128, 32 bits each
      {DataType::fp4, 29360128 + 58720256 / 16},       // 8 bits to 16
      {DataType::mxfp4, 29360128 + 58720256 / 32},     // 8 bits to 32
      {{DataType::int4, 32, false}, 29360128 + 2 * 58720256 / 32},
      {{DataType::int4, 128, false}, 29360128 + 2 * 58720256 / 128},
      {{DataType::int4, 128, true}, 29360128 + 2.5 * 58720256 / 128},  // 16 bits and a zero point of 4
      {{DataType::int8, 128, true}, 58720256 + 3. * 58720256 / 128},
      {{DataType::fp8, 128, false}, 58720256 + 4. * 58720256 / 128},
  };
  for (const auto& [type, bytes] : rows) {
    INFO(to_string(type));
    CHECK(weights * bytes_per_element(type) == bytes);
    const Kernel kernel = Gemm{4096, 14336, type};
    CHECK(stored_bytes({.name = "matrix", .kernel = kernel}).value() == bytes);
  }
  CHECK(bytes_per_element(StoredType(DataType::int4, 32, false)) == 0.5625);
  CHECK(bytes_per_element(StoredType(DataType::int4, 128, true)) == 0.51953125);
}

TEST_CASE("types: formats of activations multiply in their own type, those of weights alone in 16 bits") {
  for (const DataType own : {DataType::fp32, DataType::bf16, DataType::fp16, DataType::fp8, DataType::int8,
                             DataType::fp8_block, DataType::fp4})
    CHECK(multiplied_in(own) == own);
  CHECK(multiplied_in(DataType::int4) == DataType::bf16);
  CHECK(multiplied_in(DataType::mxfp4) == DataType::bf16);
  CHECK(multiplied_in(StoredType(DataType::int8, 128, false)) == DataType::bf16);
  CHECK(to_string(StoredType(DataType::int4, 128, true)) == "int4 in groups of 128 with zero points");
}

}  // namespace weir
