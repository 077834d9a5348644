// A GPU's row of devices/catalog.
#include "devices/catalog_rows.h"
#include "devices/gpu.h"
#include "devices/gpu_pim/gpu_pim.h"

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

const CatalogNumbers& pim_numbers() {
  static const CatalogNumbers all = {
      {{"pim_bandwidth_gb_per_s", "Of a GPU with HBM-PIM: of all banks, at their peak."}, positive, true},
  };
  return all;
}

std::shared_ptr<const Device> with_pim_of(std::shared_ptr<const Device> gpu, const std::string& memory,
                                          bool commands, BytesPerSecond peak) {
  return with_hbm_pim(std::move(gpu),
                      {peak, commands ? std::make_shared<PimCosts>(find_memory(memory)) : nullptr});
}

std::shared_ptr<const Device> read_gpu(const std::string& kind, const Json& json) {
  Reading reading("devices/catalog/" + kind + ".json");
  Params row(reading, json);
  std::map<std::string, double> value = read_numbers(row, numbers());
  value.merge(read_numbers(row, cache_numbers()));
  const auto si = [&](const char* key) { return Params::unit(key) * value.at(key); };
  DeviceSpec spec = common_spec(kind, row);
  spec.power.note = gpu_energy_note;
  read_memory_and_peaks(spec, row);
  const std::string kernels = row.choice({"kernels", ""}, kernel_names());
  const std::map<std::string, double> pim = read_numbers(row, pim_numbers());
  const std::string pim_memory = row.has("pim_memory") ? row.choice({"pim_memory", ""}, memory_names()) : "";
  const bool pim_commands =
      row.has("pim_timing") && row.choice({"pim_timing", ""}, {"commands", "peak"}) == "commands";
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
  std::shared_ptr<const Device> gpu = make_gpu(std::move(spec), shape, efficiencies);
  if (pim_memory.empty()) return gpu;
  return with_pim_of(
      std::move(gpu), pim_memory, pim_commands,
      BytesPerSecond(Params::unit("pim_bandwidth_gb_per_s") * pim.at("pim_bandwidth_gb_per_s")));
}

}  // namespace

const DeviceClass gpu_class = {"gpu",
                               [](Json& row, Params& params) {
                                 override_numbers(row, memory_and_peak_numbers(), params);
                                 override_numbers(row, cache_numbers(), params);
                                 override_numbers(row, numbers(), params);
                                 override_numbers(row, pim_numbers(), params);
                               },
                               read_gpu};

}  // namespace weir
