#pragma once
// A StepGraph compiled into flat arrays, and the times and rates that are refilled from step to step.
// Internal to the timeline; made once per configuration. An instance is one operator in one layer; instances
// are numbered by part, layer, index, so their numbers are also the order of ties.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/step/timeline/step_graph.h"

namespace weir {

struct FlatGraph {
  struct Unit {
    int first_member = 0, members = 1;  // into lists over the members of all units
    double amount = 0;                  // > 0: a pool
    Disturbance disturbance;
    bool turns = false;  // any operator of it
    std::vector<int> ranked_operators;
  };
  struct Alternative {
    int unit = 0;
    int first_portion = 0, portions = 0;  // into portion_members
    int first_draw = 0, draws = 0;        // into draw_resources
    int first_time = 0, first_rate = 0;   // into times and rates, in layer 0
    double least = 0, most = 0;
    int turns = 0;  // > 0: round so many members, a place a layer
  };
  struct Operator {
    int part = 0, local = 0;  // index in its part
    int first_alternative = 0, alternatives = 0;
    int first_next = 0, first_carry = 0, first_leave = 0,
        end = 0;  // into successors: same layer, next, other parts
    int rank = -1;
    int follows = -1;       // operator whose choice it takes
    bool followed = false;  // by any
  };
  struct Part {
    int first_operator = 0, operators = 0;
    std::int64_t layers = 1;
    int first_instance = 0;
    int time_stride = 0, rate_stride = 0;  // from layer to layer; 0 where layers are alike
    bool unlike = false;
    bool yields = false;
    int ranks_per_layer = 0;
    std::vector<int> staying;  // alternatives that do not turn, of units on which others do
    int anchor = 0;  // first operator that waits for none of its own layer: its readiness marks a new layer
    std::vector<std::int32_t> first_waits,
        next_waits;                            // predecessors of each operator in layer 0; in the others
    std::vector<int> first_roots, next_roots;  // operators without any
  };

  // Throws std::invalid_argument with every problem of the graph.
  explicit FlatGraph(const StepGraph& graph);
  // Throws std::invalid_argument if a time or rate is negative or not finite, or drawn from no capacity.
  void check_values() const;

  int member_of(const Alternative& way, int portion, std::int64_t layer) const {
    const int member = portion_members[static_cast<std::size_t>(way.first_portion + portion)];
    return way.turns == 0 ? member : static_cast<int>((member + layer) % way.turns);
  }
  const Seconds* times_of(const Alternative& way, const Part& part, std::int64_t layer) const {
    return times.data() + way.first_time + layer * part.time_stride;
  }
  const BytesPerSecond* rates_of(const Alternative& way, const Part& part, std::int64_t layer) const {
    return rates.data() + way.first_rate + layer * part.rate_stride;
  }

  std::vector<Unit> units;
  std::vector<Part> parts;
  std::vector<Operator> operators;
  std::vector<Alternative> alternatives;
  std::vector<BytesPerSecond> capacities;
  std::vector<int> portion_members, draw_resources, successors;
  int members = 0, instances = 0;
  bool disturbed = false;    // any unit
  bool followed = false;     // any operator
  bool chooses = false;      // any operator has more than one alternative
  bool by_instance = false;  // times or members of any operator differ from layer to layer

  std::vector<std::string> names;     // of the operators
  std::vector<Seconds> times;         // refilled
  std::vector<BytesPerSecond> rates;  // refilled

 private:
  void add_part(const StepGraph& graph, int index);
  void add_alternative(const StepGraph::Alternative& way);
  void find_staying(const Operator& op);
  void find_undrawable(const Operator& op);
  void add_successors(const StepGraph& graph);
  [[noreturn]] void refuse_values() const;

  std::vector<std::size_t> undrawable_;  // rates from resources of no capacity
};

}  // namespace weir
