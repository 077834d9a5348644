#pragma once
// A stage's operators on the step timeline, where they overlap: one chain of them, or one for each
// sub-batch. StepModel asks; nobody else needs it. Not thread-safe.
#include <span>
#include <string_view>
#include <vector>

#include "sim/step/prefetched.h"

namespace weir {

struct OperatorSpan {
  std::string_view name;  // as long as the model lives
  int unit;
  Seconds start, finish;  // from the start of the step, in which the host comes first
};

class PlayedStep {
 public:
  // Chains that alternate, or (null) go on whenever they can. Throws std::invalid_argument where the timeline
  // refuses the graph.
  PlayedStep(const Rank& rank, const StageGraph& placed, int chains, const Alternation* = nullptr);

  // Without the host's time; `causes`: what lines of steps are found by (PlayedCost) is worked out as well.
  PlayedCost cost(std::span<const BatchShape> chains, bool causes = false);
  std::vector<OperatorSpan> operators(std::span<const BatchShape> chains);

  bool serial() const { return graph_.serial(); }

 private:
  struct Copies {  // of an operator, all of one cost: those of groups of heads, say
    Operator op;
    double times = 0;                     // a step, all of them
    std::vector<std::vector<int>> index;  // in graph_, by chain
  };
  struct Layered {  // an operator whose work differs by layer
    Operator op;
    std::int64_t layers;
    std::vector<int> index;  // by chain
  };
  struct RowsFilled {  // of a chain: what the timeline has of the operators that depend on these alone
    BatchShape::Counts counts;
    StepCost sum;
  };
  void place(const StageStep& step, const StageGraph& placed);
  // They return the sum of what they fill in.
  StepCost fill_timeline(std::span<const BatchShape> chains);
  StepCost fill(const Copies& copies, std::size_t chain, const BatchShape& batch);
  StepCost fill(const Layered& layered, std::size_t chain, const BatchShape& batch);
  void set(int op, const KernelCost& cost, std::int64_t layer);

  Rank rank_;
  StepGraph graph_;
  std::vector<Copies> by_rows_, by_contexts_;
  std::vector<Layered> by_layer_;
  std::optional<Prefetched> prefetched_;
  std::vector<RowsFilled> filled_;  // by chain
  std::vector<Seconds> members_;    // scratch
  std::optional<Timeline> timeline_;
};

}  // namespace weir
