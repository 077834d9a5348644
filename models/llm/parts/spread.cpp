#include "models/llm/parts/spread.h"

#include "models/llm/parts/rewrite.h"

namespace weir {

StageGraph spread_over_members(StageGraph stage, std::span<const int> members, MemberChannels channels) {
  for (Part& part : stage.parts) {
    const auto one_a_member = [&](const OperatorGraph& from, std::size_t v) -> Replacement {
      Operator op = from[v];
      if (!op.each_member) return op;
      Replacement copies;
      copies.lanes = op.unit;
      op.rotates = part.times > 1 && channels == MemberChannels::rotating;
      for (op.member = 0; op.member < members[static_cast<std::size_t>(op.unit)]; ++op.member) {
        if (channels != MemberChannels::even)
          op.channels = {op.member, op.member + 1};
        else
          op.share = 1. / members[static_cast<std::size_t>(op.unit)];
        copies.operators.push_back(op);
      }
      return copies;
    };
    part.operators = rewrite(part.operators, one_a_member);
  }
  return stage;
}

}  // namespace weir
