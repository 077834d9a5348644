#include "policies/batching/decode_halves.h"

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <limits>
#include <tuple>

namespace weir {
namespace {

struct Decode {
  std::int16_t channel;
  std::int64_t tokens;
  std::size_t slice;
};
using Decodes = boost::container::small_vector<Decode, 256>;

// The decodes of one channel, longest first. They go to the one half, the other, the other, the one and so
// on: the half that begins gets `more` tokens, at least 0, while all grow alike by none or, of an odd number,
// by one a step.
struct Group {
  std::size_t first, size;
  std::int64_t more;
  std::int64_t growth() const { return static_cast<std::int64_t>(size % 2); }
};

Group group_of(const Decodes& decodes, std::size_t first) {
  Group group{first, 0, 0};
  for (std::size_t i = first; i < decodes.size() && decodes[i].channel == decodes[first].channel;
       ++i, ++group.size)
    group.more += ((i - first + 1) / 2 % 2 == 0 ? 1 : -1) * decodes[i].tokens;
  return group;
}

// Steps for which `ahead` + t x `slope` stays on the side of 0 that it is on, 0 being with what is below.
std::int64_t steps_on_side(std::int64_t ahead, std::int64_t slope) {
  if (ahead > 0 && slope < 0) return (ahead - slope - 1) / -slope;
  if (ahead <= 0 && slope > 0) return -ahead / slope + 1;
  return std::numeric_limits<std::int64_t>::max();
}

}  // namespace

// Groups of even size first, as what they differ by does not grow; then the odd ones: so their order never
// changes. Each begins with the half that is behind.
void part_decodes(const ServingView& view, Batch& batch) {
  Decodes decodes;
  for (std::size_t i = 0; i < batch.slices.size(); ++i) {
    const SequenceView& sequence = view.running[static_cast<std::size_t>(batch.slices[i].sequence)];
    if (!sequence.elsewhere) decodes.push_back({sequence.channel, sequence.known_tokens, i});
  }
  std::ranges::sort(decodes, {}, [](const Decode& d) { return std::tuple(d.channel, -d.tokens, d.slice); });
  boost::container::small_vector<Group, 16> groups;
  for (std::size_t i = 0; i < decodes.size(); i += groups.back().size) groups.push_back(group_of(decodes, i));
  std::ranges::sort(groups, {}, [](const Group& g) { return std::tuple(g.growth(), -g.more, g.first); });
  std::int64_t ahead = 0, slope = 0;  // the first half's tokens less the second's; a step
  for (const Group& group : groups) {
    batch.same_steps = std::min(batch.same_steps, steps_on_side(ahead, slope));
    const bool second = ahead > 0;
    for (std::size_t i = 0; i < group.size; ++i)
      batch.slices[decodes[group.first + i].slice].sub_batch =
          static_cast<std::int8_t>(((i + 1) / 2 + second) % 2);
    ahead += second ? -group.more : group.more;
    slope += second ? -group.growth() : group.growth();
  }
}

}  // namespace weir
