// Several rows of a decode, on every device that attends for them at once.
#include <catch2/catch.hpp>

#include "test/devices/priced.h"
#include "test/devices/rows.h"
#include "test/models/llm/decode_shape.h"

using namespace weir;
using namespace weir::test;

TEST_CASE(
    "device: rows of a decode read its keys once, and cost no less than one row, no more than as many "
    "decodes",
    "[device]") {
  int devices = 0;
  for (const std::string& kind : rows_that_run_models()) {
    const auto device = catalog_device(kind);
    if (!device->widens_decodes()) continue;
    ++devices;
    const DataType type =
        device->spec().peak(DataType::bf16) > FlopsPerSecond(0) ? DataType::bf16 : DataType::fp16;
    const Operator op = placed_on(
        *device,
        {.name = "attention",
         .kernel = Attention{
             .query_heads = 32, .kv_heads = 8, .head_dim = 128, .activations = type, .kv_cache = type}});
    for (const std::int64_t decodes : {1, 7, 64, 300})
      for (const std::int64_t context : {100, 5000})
        for (const std::int64_t rows : {2, 4, 9}) {
          CAPTURE(kind, decodes, context, rows);
          const KernelCost one = priced(*device, op, equal_decodes(decodes, context, 1));
          const KernelCost wide = priced(*device, op, equal_decodes(decodes, context, rows));
          const KernelCost many = priced(*device, op, equal_decodes(decodes * rows, context, 1));
          CHECK(wide.flops.value() == Approx(static_cast<double>(rows) * one.flops.value()));
          CHECK(wide.moved[own_memory] < many.moved[own_memory]);
          CHECK(wide.time >= one.time);
          CHECK(wide.time <= many.time * (1 + 1e-9));
        }
  }
  CHECK(devices > 8);
}
