// The row of devices/catalog of an NPU with a cache that software fills.
#include "devices/catalog_rows.h"
#include "devices/l2_npu/l2_npu.h"

namespace weir {
namespace {

struct L2NpuRow final : DeviceRow {
  void bind(RowKeys& keys) override {
    bind_memory_and_peaks(keys, spec);
    bind_cache(keys, l2_mb, l2_bandwidth);
    keys.number(memory_efficiency_key, shape.memory_efficiency, efficiency_range);
    keys.number({"strided_kv_efficiency",
                 "Share of a stream's bandwidth that K and V are read with where a device holds more than "
                 "one KV head, so that reads are strided. 1: no effect; PRESERVE names the effect (Table 1) "
                 "and no number: another value is fitted."},
                shape.strided_kv, efficiency_range);
    keys.quantity({"chunk_start_us",
                   "Before a chunk of a matrix (fused_all_reduce_chunks), but the first, gets what it "
                   "reads."},
                  shape.chunk_start, not_negative);
    keys.quantity({"core_int8_tflops", "Peak of a core; the cores are int8_tflops over it."}, core_peak);
    keys.number({"core_mm2", "Die area of a core."}, core_mm2);
    keys.number({"l2_mm2_per_mb", "Die area of 10^6 bytes of cache."}, l2_mm2_per_mb, not_negative);
    Params* row = keys.row();
    if (row && !l2_bandwidth) row->fail("l2_bandwidth_gb_per_s", "required, but missing");
    if (row && row->flag({"without_lm_head", "What follows the decoder layers takes no time."}, false))
      spec.untimed_parts = {"epilogue"};
  }

  std::shared_ptr<const Device> make() override {
    // 16-bit operations at half the rate of 8-bit ones, unless the row has them.
    spec.peak = [given = spec.peak](DataType type) {
      const bool half = type == DataType::bf16 || type == DataType::fp16;
      return half && given(type) <= FlopsPerSecond(0) ? 0.5 * given(DataType::int8) : given(type);
    };
    spec.units = {
        {"npu", {KernelKind::gemm, KernelKind::grouped_gemm, KernelKind::attention, KernelKind::elementwise}},
        {"prefetch", {KernelKind::prefetch}},
        link_unit()};
    spec.own().sustained = shape.memory_efficiency * spec.own().bandwidth;
    spec.memories.push_back({.name = "L2",
                             .capacity = Bytes(1e6 * l2_mb),
                             .bandwidth = l2_bandwidth.value(),
                             .sustained = spec.own().sustained,
                             .kept_for = Memory::KeptFor::prefetches});
    const double cores = spec.peak(DataType::int8) / core_peak;
    spec.notes.die_mm2 = cores * core_mm2 + l2_mb * l2_mm2_per_mb;
    return make_l2_npu(std::move(spec), shape);
  }

  L2NpuShape shape;
  double l2_mb = 0, core_mm2 = 0, l2_mm2_per_mb = 0;
  std::optional<BytesPerSecond> l2_bandwidth;
  FlopsPerSecond core_peak;
};

}  // namespace

const DeviceClass& l2_npu_class() {
  static const DeviceClass made = {.name = "l2_npu", .row = empty_row<L2NpuRow>};
  return made;
}

}  // namespace weir
