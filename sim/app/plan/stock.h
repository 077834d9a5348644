#pragma once
// The devices that a plan may use, as the user gave them (--devices 16xh100_sxm,8xl40s), and the cluster that
// they make: of the scenario's nodes, or of the servers that each kind comes in (servers/servers.json).
#include <optional>
#include <string>
#include <vector>

#include "sim/core/params.h"

namespace weir {

struct Stock {
  std::string kind;
  std::int64_t count = 0;
  std::int64_t in_a_node = 0;  // the most that one node has
};

// "16xh100_sxm,8xl40s"; problems are told at "--devices".
std::vector<Stock> read_stock(const std::string& text, Reading& reading);

std::vector<std::string> planned_kinds();  // that a server is known of

// `given` is the scenario's cluster, or null. Where it has nodes these are the cluster, and a bound: of each
// kind no more are used than they have; of an empty `stock` all. Otherwise each kind comes in its servers.
// Problems are told at /cluster or --devices. Completes `stock`.
Json cluster_of(const Json& given, std::vector<Stock>& stock, Reading& reading);

}  // namespace weir
