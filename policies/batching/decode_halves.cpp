#include "policies/batching/decode_halves.h"

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <cstdlib>
#include <limits>
#include <tuple>
#include <utility>

#include "policies/batching/sequences_by_name.h"

namespace weir {
namespace {

struct Decode {
  std::int16_t channel;
  std::int64_t tokens;
  std::size_t slice;
};
using Decodes = boost::container::small_vector<Decode, 256>;

// The decodes of one channel, longest first. They go to the one half, the other, the other, the one and so
// on: the half that begins gets `more` tokens, which may be fewer and are no more than the longest, and
// `growth` more with every step.
struct Group {
  std::size_t first, size = 0;
  std::int64_t more = 0, growth = 0;
};

Group group_of(const Decodes& decodes, std::size_t first) {
  Group group{first};
  for (std::size_t i = first; i < decodes.size() && decodes[i].channel == decodes[first].channel; ++i) {
    const int sign = ++group.size / 2 % 2 == 0 ? 1 : -1;
    group.more += sign * decodes[i].tokens;
    group.growth += sign;
  }
  return group;
}

// Steps for which `value` + t x `slope` stays on the side of 0 that it is on, 0 being with what is below.
std::int64_t steps_on_side(std::int64_t value, std::int64_t slope) {
  if (value > 0 && slope < 0) return (value - slope - 1) / -slope;
  if (value <= 0 && slope > 0) return -value / slope + 1;
  return std::numeric_limits<std::int64_t>::max();
}

}  // namespace

// Groups whose difference does not grow come first, the largest before the others; then the rest by channel:
// so their order never changes. Each begins with the half that brings the sums together.
void part_decodes(const ServingView& view, Batch& batch) {
  Decodes decodes;
  SequencesByName sequences(view);
  for (std::size_t i = 0; i < batch.slices.size(); ++i) {
    const SequenceView& sequence = sequences[batch.slices[i].request];
    if (!sequence.elsewhere) decodes.push_back({sequence.channel, sequence.known_tokens, i});
  }
  std::ranges::sort(decodes, {}, [](const Decode& d) { return std::tuple(d.channel, -d.tokens, d.slice); });
  boost::container::small_vector<Group, 16> groups;
  for (std::size_t i = 0; i < decodes.size(); i += groups.back().size) groups.push_back(group_of(decodes, i));
  std::ranges::stable_sort(groups, {}, [](const Group& g) {
    return std::pair(g.growth != 0, g.growth != 0 ? 0 : -std::abs(g.more));
  });
  std::int64_t ahead = 0, slope = 0;  // the first half's tokens less the second's; a step
  for (const Group& group : groups) {
    batch.valid.steps =
        std::min({batch.valid.steps, steps_on_side(ahead, slope), steps_on_side(group.more, group.growth)});
    const bool second = (ahead > 0) == (group.more > 0);
    for (std::size_t i = 0; i < group.size; ++i)
      batch.slices[decodes[group.first + i].slice].sub_batch =
          static_cast<std::int8_t>(((i + 1) / 2 + second) % 2);
    ahead += second ? -group.more : group.more;
    slope += second ? -group.growth : group.growth;
  }
}

}  // namespace weir
