// The kernels that send tokens to the ranks that hold their experts, where a replica's communication is some.
#include <stdexcept>

#include "sim/plan/scenario_parts.h"

namespace weir {
namespace {

std::vector<ExchangeMethod> methods_of(ExpertSharing::Communication how) {
  switch (how) {
    case ExpertSharing::Communication::deepep:
      return {ExchangeMethod::low_latency, ExchangeMethod::normal};
    case ExpertSharing::Communication::nvlink_all_to_all:
      return {ExchangeMethod::nvlink_all_to_all};
    default:
      return {};
  }
}

}  // namespace

std::string take_exchanges(const Sharding& cut, Rank& rank) try {
  const std::vector<ExchangeMethod> methods = methods_of(cut.experts.communication);
  if (methods.empty()) return "";
  ExchangeGroup group{cut.ranks(), cut.ranks(), rank.stage.links, {}};
  if (rank.stage.levels)
    group.per_node = rank.stage.levels->per_node, group.between = rank.stage.levels->network;
  else if (rank.stage.links.name == "network")
    return "the nodes of a stage have unlike numbers of its devices";
  for (const ExchangeMethod method : methods)
    rank.exchanges[static_cast<std::size_t>(method)] = std::make_shared<ExpertExchange>(method, group);
  const double multiprocessors = rank.on->spec().multiprocessors;
  if (methods.back() == ExchangeMethod::normal && multiprocessors > deepep_multiprocessors)
    rank.multiprocessors_left = 1 - deepep_multiprocessors / multiprocessors;
  return "";
} catch (const std::invalid_argument& refused) {
  return refused.what();
}

}  // namespace weir
