// Keys that rows of several classes of devices have.
#include <array>

#include "devices/catalog_rows.h"
#include "models/memory/memory_row.h"

namespace weir {

void bind_every_device(RowKeys& keys, DeviceSpec& spec) {
  keys.quantity({"host_bandwidth_gb_per_s", "PCIe to the host, per direction."}, spec.host_bandwidth);
  keys.quantity({"tdp_w", "Thermal design power."}, spec.power.tdp);
  keys.quantity({"idle_w", "Power of a device that does nothing."}, spec.power.idle, not_negative);
  keys.quantity({"compute_pj_per_flop", "Energy of a 16-bit flop above idle."}, spec.power.per_flop,
                not_negative);
  keys.quantity({"memory_pj_per_byte", "Energy of a byte of device memory moved."}, spec.power.per_byte,
                not_negative);
  keys.quantity({"link_pj_per_byte", "Energy of a byte sent to another device."}, spec.power.per_link_byte,
                not_negative);
  keys.number({"price_per_hour", "Dollars an hour of one device."}, spec.dollars_per_hour, not_negative);
  if (Params* row = keys.row()) {
    spec.notes.title = row->text({"title", ""}, spec.kind);
    spec.notes.assumed = row->flag({"assumed", ""}, false);
  }
}

void bind_memory_and_peaks(RowKeys& keys, DeviceSpec& spec) {
  double capacity = 0;
  std::optional<double> usable;
  keys.number(
      {"memory_capacity_gib", "Device memory as nvidia-smi reports it; more of it holds more KV cache."},
      capacity);
  keys.number(
      {"usable_memory_gib",
       "What of it programs see, as CUDA reports it: an engine divides this. By default, and beside a "
       "memory_capacity_gib that is given alone, all of it."},
      usable);
  keys.quantity(memory_bandwidth_key, spec.own().bandwidth);
  std::array<FlopsPerSecond, data_types> peaks{};  // as DataType counts
  const auto peak = [&](Key key, std::initializer_list<DataType> types) {
    std::optional<FlopsPerSecond> value;
    keys.quantity(key, value);
    for (const DataType type : types)
      peaks[static_cast<std::size_t>(type)] = value.value_or(FlopsPerSecond(0));
  };
  peak({"fp32_tflops", "Dense peak in 32-bit floating point."}, {DataType::fp32});
  peak({"bf16_tflops", "Dense tensor-core peak in bfloat16; prefill follows it."}, {DataType::bf16});
  peak({"fp16_tflops", "Dense tensor-core peak in 16-bit floating point."}, {DataType::fp16});
  peak({"fp8_tflops", "Dense tensor-core peak in 8-bit floating point."},
       {DataType::fp8, DataType::fp8_block});
  peak({"int8_tflops", "Dense tensor-core peak in 8-bit integers."}, {DataType::int8});
  peak({"fp4_tflops", "Dense tensor-core peak in 4-bit floating point (NVFP4, MXFP4)."},
       {DataType::fp4, DataType::mxfp4});
  spec.peak = [peaks](DataType type) { return peaks[static_cast<std::size_t>(type)]; };
  if (usable && *usable > capacity) keys.params().fail("usable_memory_gib", "more than memory_capacity_gib");
  spec.own().capacity = Bytes(Params::unit("memory_capacity_gib") * usable.value_or(capacity));
}

void bind_cache(RowKeys& keys, double& megabytes, std::optional<BytesPerSecond>& bandwidth) {
  keys.number({"l2_mb",
               "Second-level cache of a GPU or an L2 NPU, in 10^6 bytes; more of it holds more of what is "
               "prefetched."},
              megabytes, not_negative);
  keys.quantity(
      {"l2_bandwidth_gb_per_s", "Reads that hit the second-level cache. A GPU without it cannot prefetch."},
      bandwidth);
}

void bind_memory(RowKeys& keys, MemorySpec& memory) {
  Params* row = keys.row();
  if (const Json* given = row ? row->value({"memory", ""}, {}) : nullptr) memory = memory_of(*given);
}

OtherRow memory_key() {
  return {
      {"memory",
       "A name of `weir list memories`, the path of such a file, or keys over the device's own (or a base)."},
      memory_rows,
      memory_row_schema};
}

}  // namespace weir
