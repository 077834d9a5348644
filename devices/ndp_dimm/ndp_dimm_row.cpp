// The row of devices/catalog of NDP-DIMMs. Power and price of a row are a DIMM's.
#include <fmt/format.h>

#include "devices/catalog_rows.h"
#include "devices/ndp_dimm/neuron_memory.h"
#include "models/memory/memory_row.h"

namespace weir {
namespace {

const CatalogNumbers& ndp_numbers() {
  static const CatalogNumbers all = {
      {{"dimm_capacity_gib", "Capacity of a DIMM; weights and KV caches lie on all of them."}},
      {{"macs_per_cycle", "Multiply-accumulates of a multiplier of an NDP core, at 1 GHz."}},
      {{"buffer_kib", "Buffer of an NDP core; inputs beyond it are worked on in parts."}},
      {{"synchronisation_us",
        "A synchronisation of a device with its host, launch included: whatever crosses their link takes "
        "it."},
       not_negative},
      {{"dimm_link_gb_per_s", "Bandwidth of a link between two DIMMs, per direction."}},
  };
  return all;
}

const CatalogCount ndp_counts[] = {
    {{"dimms",
      "NDP-DIMMs of the node, dealt out to its devices; capacity, bandwidth, power and price are so many "
      "times a DIMM's. null: as the catalog has it."},
     64},
    {{"dimms_per_channel", "DIMMs that share the bus of a channel. null: as the catalog has it."}, 16},
    {{"ranks_per_dimm", "Ranks of a DIMM, which its core reads at once. null: as the catalog has it."}, 16},
    {{"multipliers", "Multipliers of the NDP core of a DIMM. null: as the catalog has it."}, 4096},
};

void override_ndp_dimm(Json& row, Params& params) {
  override_counts(row, ndp_counts, params);
  override_numbers(row, ndp_numbers(), params);
}

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

std::shared_ptr<const Device> read_ndp_dimm(const std::string& kind, const Json& json) {
  Reading reading("devices/catalog/" + kind + ".json");
  Params row(reading, json);
  const std::map<std::string, std::int64_t> count = read_counts(row, ndp_counts);
  const std::map<std::string, double> value = read_numbers(row, ndp_numbers());
  const auto si = [&](const char* key) { return Params::unit(key) * value.at(key); };
  const Json* given = row.value({"memory", ""}, {});
  DeviceSpec spec = common_spec(kind, row);
  close_row(row);
  reading.finish();
  const auto of = [&](const char* key) { return static_cast<int>(count.at(key)); };
  const int dimms = of("dimms"), in_channel = of("dimms_per_channel"), ranks = of("ranks_per_dimm");
  MemorySpec channel = memory_of(*given);
  channel.organisation.ranks = ranks * in_channel;
  const NdpCore core{.multipliers = of("multipliers"),
                     .macs_per_cycle = value.at("macs_per_cycle"),
                     .buffer = Bytes(si("buffer_kib"))};
  const NdpDimmCosts costs(channel, core, ranks);
  const NeuronShare all{.members = dimms,
                        .member = make_ndp_member(costs, ranks),
                        .bus = (dimms + in_channel - 1) / in_channel * channel.peak(),
                        .reads = {},
                        .synchronisation = Seconds(si("synchronisation_us")),
                        .link = DimmLink{.bandwidth = BytesPerSecond(si("dimm_link_gb_per_s"))}};
  spec.peak = [](DataType) { return FlopsPerSecond(0); };
  spec.units = {computing_unit("ndp_dimms", dimms)};
  spec.own().capacity = dimms * Bytes(si("dimm_capacity_gib"));
  spec.own().bandwidth = all.bus;
  spec.power.idle = dimms * spec.power.idle;
  spec.power.tdp = dimms * spec.power.tdp;
  spec.dollars_per_hour *= dimms;
  return std::make_shared<NdpDimms>(std::move(spec), all, costs);
}

}  // namespace

const DeviceClass& ndp_dimm_class() {
  static const DeviceClass made = {
      .name = "ndp_dimm", .override = override_ndp_dimm, .read = read_ndp_dimm, .other_rows = {memory_key()}};
  return made;
}

}  // namespace weir
