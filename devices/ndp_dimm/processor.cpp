// The host's processor: its memory's bandwidth and its peak.
#include "devices/ndp_dimm/neuron_member.h"

namespace weir {
namespace {

class Processor final : public NeuronMember {
 public:
  Processor(BytesPerSecond memory, FlopsPerSecond peak, const PowerSpec& power)
      : memory_(memory), peak_(peak), power_(power) {}

  MemberCost neurons(double count, Bytes of_each, double macs, Bytes /*inputs*/) const override {
    return stream(count * of_each, macs);
  }
  MemberCost stream(Bytes bytes, double macs) const override {
    const Flops flops(2 * macs);
    return {{}, bytes / memory_, flops / peak_, power_.dynamic(flops, bytes, Bytes(0))};
  }
  // In its caches.
  MemberCost activate(double elements) const override { return stream(Bytes(0), elements / 2); }

 private:
  BytesPerSecond memory_;
  FlopsPerSecond peak_;
  PowerSpec power_;
};

}  // namespace

std::shared_ptr<const NeuronMember> make_processor(BytesPerSecond memory, FlopsPerSecond peak,
                                                   const PowerSpec& power) {
  return std::make_shared<Processor>(memory, peak, power);
}

}  // namespace weir
