#pragma once
// One of those that compute neurons and attend to decodes in a host's memory: the NDP core of a DIMM, or the
// host's processor with all of them. What it reads and what it multiplies go on beside each other. Asked by
// the unit beside a device (neuron_memory.h); pure, any thread may ask.
#include <algorithm>
#include <memory>

#include "models/energy/power.h"
#include "models/memory/ndp_dimm/ndp_dimm_costs.h"

namespace weir {

struct MemberCost {
  Seconds first;  // before anything is multiplied
  Seconds reading, multiplying;
  Joules energy;

  Seconds time() const { return first + std::max(reading, multiplying); }
  MemberCost& operator+=(const MemberCost& next);
};

class NeuronMember {
 public:
  virtual ~NeuronMember() = default;
  // An expectation of so many neurons, all over the memory, beside `inputs` that they are multiplied with.
  virtual MemberCost neurons(double count, Bytes of_each, double macs, Bytes inputs) const = 0;
  // Bytes in order. A line over both amounts while they grow together.
  virtual MemberCost stream(Bytes bytes, double macs) const = 0;
  // One pass over elements that it holds.
  virtual MemberCost activate(double elements) const = 0;
};

std::shared_ptr<const NeuronMember> make_ndp_member(const NdpDimmCosts& costs, int ranks);
std::shared_ptr<const NeuronMember> make_processor(BytesPerSecond memory, FlopsPerSecond peak,
                                                   const PowerSpec& power);

}  // namespace weir
