// The row of devices/catalog of an NPU with a cache that software fills.
#include "devices/catalog_rows.h"
#include "devices/l2_npu/l2_npu.h"

namespace weir {
namespace {

const CatalogNumbers& numbers() {
  static const CatalogNumbers all = {
      {{"memory_efficiency", "Share of the memory's peak that a stream of reads reaches."}, {0.01, 1}},
      {{"strided_kv_efficiency",
        "Share of a stream's bandwidth that K and V are read with where a device holds more "
        "than one KV head, so that reads are strided. 1: no effect; PRESERVE names the effect (Table 1) and "
        "no number: another value is fitted."},
       {0.01, 1}},
      {{"chunk_start_us",
        "Before a chunk of a matrix (fused_all_reduce_chunks), but the first, gets what it "
        "reads."},
       not_negative},
      {{"core_int8_tflops", "Peak of a core; the cores are int8_tflops over it."}},
      {{"core_mm2", "Die area of a core."}},
      {{"l2_mm2_per_mb", "Die area of 10^6 bytes of cache."}, not_negative},
  };
  return all;
}

void override_l2_npu(Json& row, Params& params) {
  override_numbers(row, memory_and_peak_numbers(), params);
  override_numbers(row, cache_numbers(), params);
  override_numbers(row, numbers(), params);
}

std::shared_ptr<const Device> read_l2_npu(const std::string& kind, const Json& json) {
  Reading reading("devices/catalog/" + kind + ".json");
  Params row(reading, json);
  std::map<std::string, double> value = read_numbers(row, numbers());
  value.merge(read_numbers(row, cache_numbers()));
  const bool without_lm_head =
      row.flag({"without_lm_head", "What follows the decoder layers takes no time."}, false);
  DeviceSpec spec = common_spec(kind, row);
  read_memory_and_peaks(spec, row);
  close_row(row);
  reading.finish();
  const auto si = [&](const char* key) { return Params::unit(key) * value.at(key); };
  // 16-bit operations at half the rate of 8-bit ones, unless the row has them.
  spec.peak = [given = spec.peak](DataType type) {
    const bool half = type == DataType::bf16 || type == DataType::fp16;
    return half && given(type) <= FlopsPerSecond(0) ? 0.5 * given(DataType::int8) : given(type);
  };
  if (without_lm_head) spec.untimed_parts = {"epilogue"};
  spec.units = {
      {"npu", {KernelKind::gemm, KernelKind::grouped_gemm, KernelKind::attention, KernelKind::elementwise}},
      {"prefetch", {KernelKind::prefetch}},
      link_unit()};
  spec.own().sustained = value.at("memory_efficiency") * spec.own().bandwidth;
  spec.memories.push_back({.name = "L2",
                           .capacity = Bytes(si("l2_mb")),
                           .bandwidth = BytesPerSecond(si("l2_bandwidth_gb_per_s")),
                           .sustained = spec.own().sustained,
                           .kept_for = Memory::KeptFor::prefetches});
  const double cores = spec.peak(DataType::int8).value() / si("core_int8_tflops");
  spec.notes.die_mm2 = cores * value.at("core_mm2") + value.at("l2_mb") * value.at("l2_mm2_per_mb");
  return make_l2_npu(std::move(spec), {value.at("memory_efficiency"), value.at("strided_kv_efficiency"),
                                       Seconds(si("chunk_start_us"))});
}

}  // namespace

const DeviceClass& l2_npu_class() {
  static const DeviceClass made = {.name = "l2_npu", .override = override_l2_npu, .read = read_l2_npu};
  return made;
}

}  // namespace weir
