#pragma once
// One step as the timeline sees it: units that operators occupy, resources (memories, links) they draw
// bandwidth from, operators, and what waits for what. A policy or an adapter (stage_step.h) describes it once
// per configuration; a Timeline compiles it, and only times and rates change from step to step.
//
// Parts run one after the other as far as the edges say so: prologue, a block repeated for `layers`,
// epilogue; or a whole step as one part repeated, which chains steps that overlap. Any number of parts, each
// repeated or not.
//
// Serial unit: M >= 1 members side by side, each running one operator at a time. An operator names the
// portions it needs; it starts when all of their members are free (a gang), frees each member when that
// portion ends, and is done with the slowest. A portion of zero seconds neither needs nor occupies its
// member. Operators start in order of readiness, ties by part, layer, index; one may overtake another only if
// it needs no member wanted by an operator waiting before it, so nothing starves.
//
// Ranked: operators of a serial unit that have ranks start in the order of these, whenever each became ready.
// Ranks count on, from layer to layer and from part to part, by `ranks_per_layer` of the part; ties by part,
// layer, index. An operator that takes no time has no place in the order. Evaluating an order that the edges
// contradict throws std::invalid_argument.
//
// Pool: an amount that operators share. One starts when `least` is free and takes up to `most`; strictly in
// order of readiness. What is then left over goes to running operators in the order they started, up to their
// `most`; nobody gives back before the end. A portion's time is with `most` in hand (work = time x most);
// with an amount a of it, the operator runs at a / most.
//
// Yielding: operators of a part that yields wait for a unit behind those of all other parts, whenever these
// became ready; what runs is not interrupted.
//
// Turning: an operator of a serial unit that `turns` needs in layer l, in the place of each member it names,
// the one l places on, round the unit.
//
// Draw: `rate` bytes/s at full speed, from start to end, whatever portions have ended (a pool operator draws
// in proportion to what it holds). Where the sum exceeds a capacity, speeds are shared max-min (fair_share.h)
// and every portion slows alike. Bytes moved are rate x time alone, however slow it got. A draw above the
// capacity itself is allowed: that operator is slow even alone.
//
// Disturbance: operators of a unit take longer by a share of up to `most` while operators of undisturbed
// units draw from its resource, in proportion to how much these draw of all that the disturbed one leaves.
//
// Alternatives: more than one way to run an operator (unit, portions, draws); the Timeline's policy picks one
// when the operator becomes ready, in order of part, layer, index where several do at once. An operator that
// follows another takes the alternative of the same number as that one took in its layer: phases of one
// thing, placed together.
#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/units.h"

namespace weir {

struct Disturbance {  // of a unit
  int resource = -1;  // none
  double most = 0;
};

struct StepGraph {
  struct Unit {
    std::string name;
    int members = 1;    // of a serial unit
    double amount = 0;  // > 0: a pool instead (one member in every list and result)
    Disturbance disturbance;
  };
  struct Resource {
    std::string name;
    BytesPerSecond capacity;  // zero: none there; drawing from it is an error
  };
  struct Portion {
    int member = 0;
    Seconds time;  // refilled per step
  };
  struct Draw {
    int resource = 0;
    BytesPerSecond rate;  // refilled per step
  };
  struct Alternative {
    int unit = 0;
    std::vector<Portion> portions;  // a pool: exactly one, of member 0
    std::vector<Draw> draws;
    double least = 0, most = 0;  // pools only
    bool turns = false;          // serial units only
  };
  struct Operator {
    std::string name;
    int part = 0;
    std::vector<Alternative> alternatives;
    int rank = -1;     // none; else all of its unit have one, and no choice
    int follows = -1;  // an operator with as many alternatives, from which an edge of its layer leads here
  };
  struct Part {
    std::string name;
    std::int64_t layers = 1;
    bool unlike = false;  // layers have times and rates of their own: run unfolded
    bool yields = false;
    int ranks_per_layer = 0;
  };
  struct Edge {
    int from = 0, to = 0;  // operators
    bool next_layer = false;
  };

  std::vector<Unit> units;
  std::vector<Resource> resources;
  std::vector<Part> parts;
  std::vector<Operator> operators;  // part by part
  std::vector<Edge> edges;

  // Each returns the index of what it added. Operators go into the part added last.
  int add_unit(std::string name, int members = 1, Disturbance disturbance = {});
  int add_pool(std::string name, double amount);
  int add_resource(std::string name, BytesPerSecond capacity);
  int add_part(std::string name, std::int64_t layers = 1, bool unlike = false, bool yields = false);
  int add_operator(std::string name, std::vector<Alternative> alternatives);

  void follow(int op, int followed);  // and waits for it

  // In one part: in the same layer. Between parts (the later one waits): from the last layer to the first.
  void add_edge(int from, int to);
  // From layer i's `from` to layer i + 1's `to`, in one part. An operator that waits for nothing in a later
  // layer is ready from the start in all of them, and its part will not fold: carry it from itself if that is
  // not meant.
  void add_carry(int from, int to);

  // Why this cannot run (cycles, members that do not exist, more than a pool has ...), in words; empty if it
  // can.
  std::vector<std::string> problems() const;
  // True if only one operator can ever run at a time, whatever the times are: each two wait for one another
  // or for the same unit, nothing is left to choose, and a layer waits for all of the one before. Its step
  // then takes the sum of its operators, and it need not be played. Not every such graph is recognised.
  bool serial() const;
};

}  // namespace weir
