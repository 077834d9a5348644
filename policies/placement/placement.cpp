#include "policies/placement/placement.h"

namespace weir {

// One factory per file; add yours here and in the table, nowhere else in C++.
std::shared_ptr<const ChannelPlacementPolicy> make_round_robin_placement(Params& params);
std::shared_ptr<const ChannelPlacementPolicy> make_greedy_min_load_placement(Params& params);
std::shared_ptr<const ChannelPlacementPolicy> make_layer_wise_placement(Params& params);
std::shared_ptr<const ChannelPlacementPolicy> make_random_placement(Params& params);

const Catalog<ChannelPlacementPolicy>& placement_policies() {
  static const Catalog<ChannelPlacementPolicy> table = {
      {"round_robin", "memory channels in turn, whatever their load", make_round_robin_placement, by_default},
      {"greedy_min_load", "longest requests first, each to the channel with the least attention (NeuPIMs)",
       make_greedy_min_load_placement},
      {"layer_wise", "a request's layers round the channels, requests starting in turn (L3)",
       make_layer_wise_placement},
      {"random", "any channel with room, drawn anew for every request", make_random_placement},
  };
  return table;
}

}  // namespace weir
