// A GPU's row of devices/catalog.
#include "devices/catalog_rows.h"
#include "devices/gpu.h"

namespace weir {
namespace {

const CatalogNumbers& numbers() {
  static const CatalogNumbers all = {
      {{"streaming_multiprocessors", "SMs; attention's tiles are dealt out over them."}},
      {{"sustained_compute",
        "Share of the tensor-core rate of short benchmarks that a server sustains under its power limit."},
       {0.01, 1}},
  };
  return all;
}

std::shared_ptr<const Device> read_gpu(const std::string& kind, const Json& json) {
  Reading reading("devices/catalog/" + kind + ".json");
  Params row(reading, json);
  std::map<std::string, double> value = read_numbers(row, numbers());
  value.merge(read_numbers(row, cache_numbers()));
  const auto si = [&](const char* key) { return Params::unit(key) * value.at(key); };
  DeviceSpec spec = common_spec(kind, row);
  read_memory_and_peaks(spec, row);
  const std::string kernels = row.choice({"kernels", ""}, kernel_names());
  row.close_ignoring_rest();  // sources, for people; a test holds them
  reading.finish();
  spec.units = {{"gpu"}, {"link"}};
  const GpuShape shape{value.at("streaming_multiprocessors"), Bytes(si("l2_mb")),
                       value.at("sustained_compute")};
  const KernelEfficiencies efficiencies = find_kernels(kernels, shape);
  if (value.contains("l2_bandwidth_gb_per_s")) {
    spec.units.push_back({"prefetch"});
    // ESTIMATE: a stream of prefetches reaches what a matrix's weights reach.
    spec.cache = CacheSpec{shape.l2, BytesPerSecond(si("l2_bandwidth_gb_per_s")),
                           efficiencies.gemm_16bit.memory * spec.memory_bandwidth};
  }
  return make_gpu(std::move(spec), shape, efficiencies);
}

}  // namespace

const DeviceClass gpu_class = {"gpu",
                               [](Json& row, Params& params) {
                                 override_numbers(row, memory_and_peak_numbers(), params);
                                 override_numbers(row, cache_numbers(), params);
                                 override_numbers(row, numbers(), params);
                               },
                               read_gpu};

}  // namespace weir
