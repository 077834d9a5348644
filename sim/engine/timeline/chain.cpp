// A graph in which only one operator ever runs: its time is a sum. An operator alone has its unit to itself,
// all it wants of a pool, and is slow only where it draws more than a capacity.
#include <algorithm>

#include "sim/engine/timeline/player.h"

namespace weir {

void Timeline::Player::sum_chain() {
  for (const auto& part : graph.parts) {
    if (part.unlike)
      for (std::int64_t layer = 0; layer < part.layers; ++layer) sum_layer(part, layer, 1);
    else
      sum_layer(part, 0, static_cast<double>(part.layers));
  }
}

void Timeline::Player::sum_layer(const FlatGraph::Part& part, std::int64_t layer, double layers) {
  double sum = 0;
  for (int op = part.first_operator; op < part.first_operator + part.operators; ++op) {
    const int alternative = graph.operators[static_cast<std::size_t>(op)].first_alternative;
    const auto& way = graph.alternatives[static_cast<std::size_t>(alternative)];
    const auto& unit = graph.units[static_cast<std::size_t>(way.unit)];
    const Seconds* times = graph.times_of(way, part, layer);
    const BytesPerSecond* rates = graph.rates_of(way, part, layer);
    const double alone = slowest(way, times);
    double slow = 1;
    for (int d = 0; d < way.draws; ++d) {
      const auto r =
          static_cast<std::size_t>(graph.draw_resources[static_cast<std::size_t>(way.first_draw + d)]);
      if (rates[d].value() > graph.capacities[r].value())
        slow = std::max(slow, rates[d] / graph.capacities[r]);
      bytes_[r] += layers * rates[d].value() * alone;
    }
    for (int i = 0; i < way.portions; ++i) {
      const int member = graph.portion_members[static_cast<std::size_t>(way.first_portion + i)];
      held_[static_cast<std::size_t>(unit.first_member + member)] +=
          layers * slow * times[i].value() * (unit.amount > 0 ? way.most : 1);
    }
    sum += alone * slow;
  }
  now_ += layers * sum;
}

}  // namespace weir
