// The row of devices/catalog of a host whose processor computes neurons (PowerInfer, Hermes-host).
#include "devices/catalog_rows.h"
#include "devices/ndp_dimm/neuron_memory.h"

namespace weir {
namespace {

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

struct HostNeuronsRow final : DeviceRow {
  void bind(RowKeys& keys) override {
    keys.quantity(reported_capacity_key, spec.own().capacity);
    keys.quantity(memory_bandwidth_key, spec.own().bandwidth);
    keys.quantity({"fp32_tflops", "Dense peak in 32-bit floating point."}, peak);
    keys.quantity(synchronisation_key, synchronisation, not_negative);
  }

  std::shared_ptr<const Device> make() override {
    spec.peak = [fp32 = peak](DataType type) { return type == DataType::fp32 ? fp32 : FlopsPerSecond(0); };
    spec.units = {computing_unit("host_cpu", 1)};
    return std::make_shared<HostNeurons>(std::move(spec), synchronisation);
  }

  FlopsPerSecond peak;
  Seconds synchronisation;
};

}  // namespace

const DeviceClass& host_neurons_class() {
  static const DeviceClass made = {.name = "host_neurons", .row = empty_row<HostNeuronsRow>};
  return made;
}

}  // namespace weir
