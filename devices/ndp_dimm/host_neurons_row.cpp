// The row of devices/catalog of a host whose processor computes neurons (PowerInfer, Hermes-host).
#include "devices/catalog_rows.h"
#include "devices/ndp_dimm/neuron_memory.h"

namespace weir {
namespace {

const CatalogNumbers& host_numbers() {
  static const CatalogNumbers all = {
      {{"memory_capacity_gib", "Device memory as the driver reports it; more of it holds more KV cache."}},
      {{"memory_bandwidth_gb_per_s", "Of the device memory; decode steps follow it."}},
      {{"fp32_tflops", "Dense peak in 32-bit floating point."}},
      {{"synchronisation_us",
        "A synchronisation of a device with its host, launch included: whatever crosses their link takes "
        "it."},
       not_negative},
  };
  return all;
}

void override_host_neurons(Json& row, Params& params) {
  override_numbers(row, host_numbers(), params);
}

// Devices have an even share of the processor each.
class HostNeurons final : public HostMemory {
 public:
  HostNeurons(DeviceSpec spec, Seconds synchronisation)
      : spec_(std::move(spec)), synchronisation_(synchronisation) {}

  const DeviceSpec& spec() const override { return spec_; }
  std::string cannot_share(int) const override { return ""; }
  std::shared_ptr<const Device> beside(std::shared_ptr<const Device> device, int devices,
                                       Memory::KeptFor kept_for) const override {
    const BytesPerSecond memory = spec_.own().bandwidth / devices;
    NeuronShare share{.member = make_processor(memory, spec_.peak(DataType::fp32) / devices, spec_.power),
                      .bus = memory,
                      .reads = {},
                      .synchronisation = synchronisation_,
                      .link = {}};
    return beside_neurons(std::move(device), spec_, devices, std::move(share), kept_for);
  }

 private:
  DeviceSpec spec_;
  Seconds synchronisation_;
};

std::shared_ptr<const Device> read_host_neurons(const std::string& kind, const Json& json) {
  Reading reading("devices/catalog/" + kind + ".json");
  Params row(reading, json);
  const std::map<std::string, double> value = read_numbers(row, host_numbers());
  const auto si = [&](const char* key) { return Params::unit(key) * value.at(key); };
  DeviceSpec spec = common_spec(kind, row);
  close_row(row);
  reading.finish();
  const FlopsPerSecond peak(si("fp32_tflops"));
  spec.peak = [peak](DataType type) { return type == DataType::fp32 ? peak : FlopsPerSecond(0); };
  spec.units = {computing_unit("host_cpu", 1)};
  spec.own().capacity = Bytes(si("memory_capacity_gib"));
  spec.own().bandwidth = BytesPerSecond(si("memory_bandwidth_gb_per_s"));
  return std::make_shared<HostNeurons>(std::move(spec), Seconds(si("synchronisation_us")));
}

}  // namespace

const DeviceClass& host_neurons_class() {
  static const DeviceClass made = {
      .name = "host_neurons", .override = override_host_neurons, .read = read_host_neurons};
  return made;
}

}  // namespace weir
