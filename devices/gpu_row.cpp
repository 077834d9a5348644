// A GPU's row of devices/catalog.
#include <array>

#include "devices/catalog_rows.h"
#include "devices/gpu.h"

namespace weir {
namespace {

const CatalogNumbers& numbers() {
  static const CatalogNumbers all = {
      {{"memory_capacity_gib", "Device memory as the driver reports it; more of it holds more KV cache."}},
      {{"memory_bandwidth_gb_per_s", "Of the device memory; decode steps follow it."}},
      {{"l2_mib", "Second-level cache."}},
      {{"streaming_multiprocessors", "SMs; attention's tiles are dealt out over them."}},
      {{"fp32_tflops", "Dense peak in 32-bit floating point."}, positive, true},
      {{"bf16_tflops", "Dense tensor-core peak in bfloat16; prefill follows it."}, positive, true},
      {{"fp16_tflops", "Dense tensor-core peak in 16-bit floating point."}, positive, true},
      {{"fp8_tflops", "Dense tensor-core peak in 8-bit floating point."}, positive, true},
      {{"int8_tflops", "Dense tensor-core peak in 8-bit integers."}, positive, true},
      {{"sustained_compute",
        "Share of the tensor-core rate of short benchmarks that a server sustains under its power limit."},
       {0.01, 1}},
  };
  return all;
}

std::function<FlopsPerSecond(DataType)> peaks(const std::map<std::string, double>& values) {
  std::array<FlopsPerSecond, 6> by_type{};  // as DataType counts
  for (const DataType type : {DataType::fp32, DataType::bf16, DataType::fp16, DataType::fp8, DataType::int8})
    if (const auto it = values.find(to_string(type) + "_tflops"); it != values.end())
      by_type[static_cast<std::size_t>(type)] = FlopsPerSecond(it->second * 1e12);
  return [by_type](DataType type) { return by_type[static_cast<std::size_t>(type)]; };
}

std::shared_ptr<const Device> read_gpu(const std::string& kind, const Json& json) {
  Reading reading("devices/catalog/" + kind + ".json");
  Params row(reading, json);
  const std::map<std::string, double> value = read_numbers(row, numbers());
  const auto si = [&](const char* key) { return Params::unit(key) * value.at(key); };
  DeviceSpec spec = common_spec(kind, row);
  const std::string kernels = row.choice({"kernels", ""}, kernel_names());
  row.close_ignoring_rest();  // sources, for people; a test holds them
  reading.finish();
  spec.memory = Bytes(si("memory_capacity_gib"));
  spec.memory_bandwidth = BytesPerSecond(si("memory_bandwidth_gb_per_s"));
  spec.peak = peaks(value);
  spec.units = {{"gpu"}, {"link"}};
  const GpuShape shape{value.at("streaming_multiprocessors"), Bytes(si("l2_mib")),
                       value.at("sustained_compute")};
  return make_gpu(std::move(spec), shape, find_kernels(kernels, shape));
}

}  // namespace

const DeviceClass gpu_class = {
    "gpu", [](Json& row, Params& params) { override_numbers(row, numbers(), params); }, read_gpu};

}  // namespace weir
