#pragma once
// Operators that the members of a unit run by themselves, one for each member. The engine asks, once a
// stage, after the partitioning policy.
#include <span>

#include "models/llm/operator_graph.h"

namespace weir {

// Which channel's requests the members of a unit have in layer l.
enum class MemberChannels {
  own,       // their own
  rotating,  // the one l places before
  even,      // an equal share of all
};
// One operator for each member of its unit in the place of one that has `each_member`; `members` of each
// unit. What follows such an operator on the same members waits for the one of its own alone.
StageGraph spread_over_members(StageGraph stage, std::span<const int> members, MemberChannels channels);

}  // namespace weir
