// The row of devices/catalog of NDP-DIMMs. Power and price of a row are a DIMM's.
#include <fmt/format.h>

#include "devices/catalog_rows.h"
#include "devices/ndp_dimm/neuron_memory.h"
#include "models/memory/memory_row.h"

namespace weir {
namespace {

// A device's share is whole DIMMs.
class NdpDimms final : public HostMemory {
 public:
  NdpDimms(DeviceSpec spec, NeuronShare all, NdpDimmCosts costs)
      : spec_(std::move(spec)), all_(std::move(all)), costs_(std::move(costs)) {}

  const DeviceSpec& spec() const override { return spec_; }
  std::string cannot_share(int devices) const override {
    if (all_.members % devices == 0) return "";
    return fmt::format("its {} DIMMs cannot be dealt out evenly to the {} devices of the node", all_.members,
                       devices);
  }
  std::shared_ptr<const Device> beside(std::shared_ptr<const Device> device, int devices,
                                       Memory::KeptFor kept_for) const override {
    NeuronShare share = all_;
    share.members /= devices;
    share.bus = all_.bus / devices;
    share.reads = share.members * costs_.stream_bandwidth();  // played first here
    return beside_neurons(std::move(device), spec_, devices, std::move(share), kept_for);
  }

 private:
  DeviceSpec spec_;
  NeuronShare all_;
  NdpDimmCosts costs_;
};

struct NdpDimmRow final : DeviceRow {
  void bind(RowKeys& keys) override {
    keys.count({"dimms",
                "NDP-DIMMs of the node, dealt out to its devices; capacity, bandwidth, power and price are "
                "so many times a DIMM's."},
               dimms, 64);
    keys.count({"dimms_per_channel", "DIMMs that share the bus of a channel."}, in_channel, 16);
    keys.count({"ranks_per_dimm", "Ranks of a DIMM, which its core reads at once."}, ranks, 16);
    keys.count({"multipliers", "Multipliers of the NDP core of a DIMM."}, core.multipliers, 4096);
    keys.quantity({"dimm_capacity_gib", "Capacity of a DIMM; weights and KV caches lie on all of them."},
                  dimm_capacity);
    keys.number({"macs_per_cycle", "Multiply-accumulates of a multiplier of an NDP core, at 1 GHz."},
                core.macs_per_cycle);
    keys.quantity({"buffer_kib", "Buffer of an NDP core; inputs beyond it are worked on in parts."},
                  core.buffer);
    keys.quantity(synchronisation_key, synchronisation, not_negative);
    keys.quantity({"dimm_link_gb_per_s", "Bandwidth of a link between two DIMMs, per direction."}, dimm_link);
    bind_memory(keys, channel);
  }

  std::shared_ptr<const Device> make() override {
    channel.organisation.ranks = ranks * in_channel;
    const NdpDimmCosts costs(channel, core, ranks);
    const NeuronShare all{.members = dimms,
                          .member = make_ndp_member(costs, ranks),
                          .bus = (dimms + in_channel - 1) / in_channel * channel.peak(),
                          .reads = {},
                          .synchronisation = synchronisation,
                          .link = DimmLink{.bandwidth = dimm_link}};
    spec.peak = [](DataType) { return FlopsPerSecond(0); };
    spec.units = {computing_unit("ndp_dimms", dimms)};
    spec.own().capacity = dimms * dimm_capacity;
    spec.own().bandwidth = all.bus;
    spec.power.idle = dimms * spec.power.idle;
    spec.power.tdp = dimms * spec.power.tdp;
    spec.dollars_per_hour *= dimms;
    return std::make_shared<NdpDimms>(std::move(spec), all, costs);
  }

  int dimms = 1, in_channel = 1, ranks = 1;
  NdpCore core;
  MemorySpec channel;
  Bytes dimm_capacity;
  BytesPerSecond dimm_link;
  Seconds synchronisation;
};

}  // namespace

const DeviceClass& ndp_dimm_class() {
  static const DeviceClass made = {
      .name = "ndp_dimm", .row = empty_row<NdpDimmRow>, .other_rows = {memory_key()}};
  return made;
}

}  // namespace weir
