// A DIMM of Hermes with its core, by the bank model.
#include <cmath>

#include "devices/ndp_dimm/neuron_member.h"

namespace weir {
namespace {

class NdpMember final : public NeuronMember {
 public:
  NdpMember(const NdpDimmCosts& costs, int ranks) : costs_(costs), ranks_(ranks) {}

  // A neuron lies in a piece over all ranks. Where the buffer cannot hold the inputs of all sequences, these
  // are cut by their elements, and the neurons with them: nothing is read twice, in shorter pieces. ESTIMATE:
  // the paper does not say what is done then (OPT-66B at a batch of 16).
  MemberCost neurons(double count, Bytes of_each, double macs, Bytes inputs) const override {
    if (count == 0 || of_each == Bytes(0)) return {};
    const double piece = of_each.value() / ranks_,
                 cuts = std::max({1., std::ceil(inputs / costs_.core().buffer),
                                  std::ceil(piece / static_cast<double>(most_piece_bytes))});
    return beside({},
                  costs_.neurons({count * cuts, static_cast<std::int64_t>(std::ceil(piece / cuts)), macs}));
  }

  MemberCost stream(Bytes bytes, double macs) const override {
    if (bytes == Bytes(0)) return {};
    return beside(costs_.reads().rank_stream().start, costs_.stream(bytes, macs));
  }

  MemberCost activate(double elements) const override {
    const auto whole = static_cast<std::int64_t>(std::ceil(elements));
    const NdpCore& core = costs_.core();
    return {{}, {}, core.activate(NdpFunction::relu, whole), core.activate_energy(NdpFunction::relu, whole)};
  }

 private:
  static MemberCost beside(Seconds first, const NdpWorkCost& cost) {
    return {first, cost.reading - first, cost.multiplying, cost.energy()};
  }

  NdpDimmCosts costs_;
  int ranks_;
};

}  // namespace

MemberCost& MemberCost::operator+=(const MemberCost& next) {
  first += next.first;
  reading += next.reading;
  multiplying += next.multiplying;
  energy += next.energy;
  return *this;
}

std::shared_ptr<const NeuronMember> make_ndp_member(const NdpDimmCosts& costs, int ranks) {
  return std::make_shared<NdpMember>(costs, ranks);
}

}  // namespace weir
