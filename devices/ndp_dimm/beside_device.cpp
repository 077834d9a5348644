// A device that runs a model, with its share of a host's memory that computes neurons.
#include <fmt/format.h>

#include <algorithm>

#include "devices/decodes_elsewhere.h"
#include "devices/host_memory/host_share.h"
#include "devices/kernel_shapes.h"
#include "devices/ndp_dimm/neuron_memory.h"
#include "models/neurons/neurons.h"

namespace weir {
namespace {

constexpr double element_bytes = 2;  // of activations

class BesideNeurons final : public DecodesElsewhere {
 public:
  BesideNeurons(std::shared_ptr<const Device> device, DeviceSpec spec, std::size_t more_units,
                NeuronShare share, HostResources host, std::size_t reads)
      : DecodesElsewhere(std::move(device), std::move(spec), more_units),
        share_(std::move(share)),
        host_(host),
        reads_(reads) {}
  enum { computing, activation, host_link, dimm_links };  // units

 private:
  const Memory& attending_memory() const override { return spec().memories.back(); }

  std::string cannot_run(std::span<const KernelWork> all) const override {
    for (const KernelWork& work : all)
      if (const auto* neurons = work.as<Neurons>(); neurons && !sixteen_bits(neurons->weights.number))
        return fmt::format("{} computes neurons in bf16 and fp16 alone, not in {}", attending_memory().name,
                           to_string(neurons->weights));
    return DecodesElsewhere::cannot_run(all);
  }

  // By one member, but for what has a load for each.
  KernelCost elsewhere(const KernelWork& work, int unit) const override {
    if (work.as<Attention>()) return attend(work, 1);
    if (work.as<Elementwise>()) return activate(work);
    return work.as<Neurons>() || unit == dimm_links ? by_load(work, {}) : copy(work);
  }

  // Tokens lie evenly over the members; copies stop all of them.
  KernelCost elsewhere(const KernelWork& work, int unit, std::span<Seconds> times) const override {
    if (work.as<Neurons>() || unit == dimm_links) return by_load(work, times);
    const KernelCost cost = work.as<Attention>() ? attend(work, times.size()) : elsewhere(work, unit);
    std::ranges::fill(times, cost.time);
    return cost;
  }

  // The slowest of the members, each with a load of its own.
  KernelCost by_load(const KernelWork& work, std::span<Seconds> times) const {
    KernelCost sum;
    std::ranges::fill(times, Seconds(0));
    for (std::size_t member = 0; member < work.side.size(); ++member) {
      const auto* neurons = work.as<Neurons>();
      const KernelCost one = neurons ? compute(*neurons, work.side[member], work.rows)
                                     : remap(std::get<Copy>(work.kernel), work.side[member]);
      if (member < times.size()) times[member] = one.time;
      sum.time = std::max(sum.time, one.time);
      sum.compute = std::max(sum.compute, one.compute);
      sum.traffic = std::max(sum.traffic, one.traffic);
      sum.flops += one.flops;
      sum.energy += one.energy;
      sum.moved[reads_] += one.moved[reads_];
    }
    return sum;
  }

  KernelCost of(const MemberCost& cost, Bytes read, double macs, double members = 1) const {
    KernelCost sum;
    sum.time = cost.time();
    sum.compute = cost.multiplying;
    sum.traffic = cost.first + cost.reading;
    sum.energy = members * cost.energy;
    sum.flops = Flops(2 * macs);
    sum.moved[reads_] = read;
    return sum;
  }

  // A neuron that was expected to be active and is not has the matrices read that find it out, for one
  // sequence.
  KernelCost compute(const Neurons& neurons, const SideLoad& active, double sequences) const {
    Neurons finding_out = neurons;
    finding_out.behind = 0;
    const auto width = static_cast<double>(neurons.width), before = static_cast<double>(neurons.before);
    const double wrong = active.read - active.computed, wrong_macs = wrong * width * before,
                 macs = active.uses * width * (before + static_cast<double>(neurons.behind));
    const Bytes whole = bytes_per_neuron(neurons), part = bytes_per_neuron(finding_out),
                inputs(element_bytes * sequences * width);
    MemberCost cost = share_.member->neurons(active.computed, whole, macs, inputs);
    cost += share_.member->neurons(wrong, part, wrong_macs, inputs);
    return of(cost, active.computed * whole + wrong * part, macs + wrong_macs);
  }

  // Out of one DIMM's ranks and into another's.
  KernelCost remap(const Copy& copied, const SideLoad& moved) const {
    const Bytes bytes = moved.read * copied.per_row;
    KernelCost cost;
    cost.time = cost.traffic = share_.link->transfer(bytes);
    cost.energy = share_.link->transfer_energy(bytes);
    cost.moved[reads_] = 2 * bytes;
    return cost;
  }

  // A line over the steps of decodes: the first data, then the slower of reading and multiplying.
  KernelCost attend(const KernelWork& work, std::size_t members) const {
    if (work.batch.decodes == 0) return {};
    const AttentionShape heads = attention_shape(std::get<Attention>(work.kernel));
    const double tokens = work.share * static_cast<double>(work.batch.decode_context_sum),
                 macs = heads.flops_per_pair() / 2 * tokens, all = static_cast<double>(members);
    const Bytes bytes(heads.bytes_per_token() * tokens);
    return of(share_.member->stream(bytes / all, macs / all), bytes, macs, all);
  }

  KernelCost activate(const KernelWork& work) const {
    const Bytes bytes = work.rows * (work.share * std::get<Elementwise>(work.kernel).per_row);
    const double members = share_.members;
    return of(share_.member->activate(bytes.value() / element_bytes / members), Bytes(0), 0, members);
  }

  KernelCost copy(const KernelWork& work) const {
    KernelCost cost = copy_over_link(spec(), host_, work, share_.bus);
    if (cost.time == Seconds(0)) return cost;
    cost.moved[reads_] = cost.moved[host_.memory];
    cost.time += share_.synchronisation;
    return cost;
  }

  NeuronShare share_;
  HostResources host_;
  std::size_t reads_;  // resource
};

}  // namespace

Unit computing_unit(const char* name, int members) {
  return {name, {neurons_kind, KernelKind::decode_attention, KernelKind::copy}, {}, members, true};
}

std::shared_ptr<const Device> beside_neurons(std::shared_ptr<const Device> device, const DeviceSpec& memory,
                                             int devices, NeuronShare share, Memory::KeptFor kept_for) {
  auto [spec, host] = share_of_host(*device, memory, devices, share.bus, kept_for);
  std::vector<Port> ports = host.ports();
  std::size_t reads = host.memory;
  if (share.reads) {
    reads = interconnect + 1 + spec.more_resources.size();
    spec.more_resources.push_back({"dimm ranks", *share.reads});
    ports.push_back({static_cast<int>(reads)});
  }
  const std::size_t own_units = spec.units.size();
  spec.units.push_back(memory.units.front());
  spec.units.back().ports = ports;
  spec.units.back().members = share.members;
  spec.units.push_back({"activation", {KernelKind::elementwise}, {}});
  spec.units.push_back({"host_link", {KernelKind::copy}, ports, 2});  // there, and back
  if (share.link && share.members > 1)
    spec.units.push_back({"dimm_links", {KernelKind::copy}, {{static_cast<int>(reads)}}, share.members / 2});
  const std::size_t more_units = spec.units.size() - own_units;
  return std::make_shared<BesideNeurons>(std::move(device), std::move(spec), more_units, std::move(share),
                                         host, reads);
}

}  // namespace weir
