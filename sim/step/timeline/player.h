#pragma once
// Plays a FlatGraph event by event, by the rules of step_graph.h. Internal to the timeline. All that happens
// at one moment is one round: operators end (finish_due), what became ready is placed and queued
// (place_ready), units start what they can (start_waiting), speeds follow (update_speeds), and a layer that
// began is compared with an earlier one (fold). player.cpp says what happens when, units.cpp who may start
// where, speeds.cpp how fast, causes.cpp why then; fold.cpp folds.
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sim/step/timeline/fair_share.h"
#include "sim/step/timeline/flat_graph.h"
#include "sim/step/timeline/timeline.h"

namespace weir {

inline constexpr int word = 64;  // members of a word of a set
inline std::uint64_t bit(int member) {
  return std::uint64_t{1} << (member % word);
}

class Timeline::Player {
 public:
  Player(const StepGraph& graph, PlacementPolicy policy);
  const StepResult& evaluate(const EvaluateOptions& options);

  FlatGraph graph;

 private:
  struct Instance {
    int id = 0, op = 0, layer = 0;
    int after = -1;  // instance whose end made it ready
    bool operator>(const Instance& other) const { return id > other.id; }
  };
  struct Waiting : Instance {
    int alternative = 0;  // in the graph
    const FlatGraph::Alternative* way = nullptr;
    const Seconds* times = nullptr;
    const BytesPerSecond* rates = nullptr;
    std::uint64_t* needs = nullptr;  // members of its unit, a bit each; none of a pool
    int slowest = 0;                 // portion
    double alone = 0;                // seconds with nothing in its way: that portion's
    double ready = 0;                // when
    bool yields = false;
  };
  struct Running : Waiting {
    Running(const Waiting& waiting, double now, double held)
        : Waiting(waiting), start(now), since(now), milestone(waiting.alone), amount(held) {}
    double start = 0;
    double progress = 0;  // seconds of `alone` done at `since`
    double since = 0;     // when velocity or amount last changed
    double velocity = 0;  // of progress
    double milestone =
        0;  // progress to look at it again: its end, or a portion's while somebody waits for the unit
    double finish = 0;  // when, at this velocity
    double amount = 1;  // held of a pool
    double scale = 1;   // amount / most
  };
  struct Queue {
    std::vector<Waiting> waiting;  // in the order they may start
    bool changed = false;
  };
  struct PartState {
    std::int64_t layers = 0;        // to be played, those done included: folding takes some away
    std::int64_t touched = 0;       // layers whose waits are initialised
    std::int64_t low = 0;           // first layer not complete
    std::int64_t latest_done = -1;  // last layer of which any operator is complete
    std::int64_t begun = -1;        // last layer whose anchor became ready
    bool folds = false;
    std::int64_t turn = 1;  // layers until the members of its units are what they were
    std::vector<int> left;  // operators of each touched layer that are not complete
  };
  // The state of the play at the start of a layer, as far as it decides the future.
  struct Snapshot {
    struct Item {
      int id, way;  // instance number, relative to the layer
      double progress, amount;
    };
    int part = -1;
    std::int64_t layer = 0, low = 0;  // low: relative to the layer
    double time = 0;
    std::vector<Item> items;          // running, then waiting (progress -1), in order
    std::vector<std::int32_t> waits;  // of the layers from `low` to the last touched
    std::vector<std::int8_t> chosen;  // as `waits`
    std::vector<double> held, bytes;  // so far
    std::vector<std::int64_t> runs;
  };

  void play(const EvaluateOptions& options);
  void reset(const EvaluateOptions& options);
  void touch(int part, std::int64_t layer);
  void make_ready(int op, std::int64_t layer);
  void one_less(int op, std::int64_t layer);
  void complete(const Waiting& done, double start);
  void finish_due();
  bool pass_milestone(Running& running);
  void place_ready();
  void update_speeds();
  void share_bandwidth();
  void disturb();
  void change_velocity(Running& running, double velocity);
  double progress_now(const Running& running) const;
  void catch_up(Running& running);
  void advance(Running& running, double progress);
  void aim(Running& running) const;

  void enqueue(const Waiting& waiting);
  void aim_at_portions(int unit);
  std::uint64_t* held_members(int unit) { return held_members_.data() + unit * words_; }
  const std::uint64_t* held_members(int unit) const { return held_members_.data() + unit * words_; }
  void unit_changed(int unit);
  void start_waiting();
  void start_gangs(int unit);
  void start_ranked(int unit);
  int next_ranked(int unit);
  std::int64_t rank_of(int op, std::int64_t layer) const;
  bool takes_time(int op, std::int64_t layer) const;
  void refuse_order() const;
  void start_in_pool(int unit);
  void grow_in_pool(int unit, double free);
  bool members_free(const Waiting& waiting) const;
  int want_members(const Waiting& waiting);
  void start(const Waiting& waiting, double amount);
  void add_causes(const Waiting& started);
  void add_causes(const Running& slowed);
  void add_last_cause();
  double amount_free(int unit) const;
  double frees(const Running& running, const Waiting& waiting) const;
  int choose(const Instance& instance);
  int way_of(const Instance& instance);
  void describe_units(bool yields);

  void fold(int part);
  std::int64_t turn_of(const FlatGraph::Part& part) const;
  void hold_skipped(const Snapshot& from, const Snapshot& to, std::int64_t periods);
  bool take_snapshot(int part, Snapshot& into) const;
  static bool same_state(const Snapshot& a, const Snapshot& b);
  void skip(const Snapshot& from, const Snapshot& to);
  void mark_skipped(const Snapshot& from, const Snapshot& to, std::int64_t periods);

  void write_result();

  struct Prepared {  // of an alternative; in layers that are unlike of an instance
    int evaluation = 0;
    int slowest = 0;
  };
  Waiting placed(const Instance& instance, int alternative);
  void prepare(Prepared& prepared, std::uint64_t* needs, const FlatGraph::Alternative& way,
               const Seconds* times, std::int64_t layer) const;

  PlacementPolicy policy_;
  FairShare fair_share_;
  double now_ = 0, skipped_ = 0;  // the clock, and what folding skipped
  std::int64_t turned_ = 0;       // layers skipped: held_ of units that turn is as many places behind
  std::vector<Instance> ready_;   // not yet placed; a heap, the first in order on top
  std::vector<Running> running_;  // in order of start
  bool speeds_stale_ = false;
  int begun_ = -1;  // part of which a layer began in this round
  bool wants_causes_ = true;
  std::uint64_t causes_ = 0;
  bool slowed_any_ = false;
  int ending_ = -1;  // instance whose end is being dealt with
  struct LastOn {
    int id = -1;       // instance that started there last
    double left = -1;  // when it let go of it, if somebody waited for just that
  };
  std::vector<LastOn> last_on_;    // by member
  std::vector<int> last_drawing_;  // instance that started last, by resource
  std::vector<Queue> queues_;
  std::vector<int> changed_;  // units that may start something
  std::vector<PartState> parts_;
  std::vector<std::int32_t> waits_;    // by instance: predecessors it waits for, or `done`
  std::vector<std::int8_t> chosen_;    // by instance that others follow; empty where there is none
  std::vector<std::int64_t> started_;  // layers, by operator that has a rank
  int evaluation_ = 0;
  std::vector<Prepared> prepared_;
  // Sets of members, `words_` words each: of every unit what is held, of all that is prepared what it needs.
  int words_ = 1;
  std::vector<std::uint64_t> held_members_, needs_;
  std::vector<std::uint64_t> wanted_;  // by operators waiting earlier
  std::vector<double> held_, bytes_, demand_;
  std::vector<Flow> flows_;
  std::vector<double> speeds_;                          // of running_
  std::vector<std::pair<std::size_t, double>> slowed_;  // index in running_: by this factor
  std::vector<UnitState> unit_states_;
  std::vector<PlacementOption> options_;
  Snapshot current_, reference_;
  std::int64_t patience_ = 1;  // layers until the reference is replaced
  std::vector<OperatorRecord>* trace_ = nullptr;
  std::span<const int> marked_;
  std::vector<MarkedEnd>* marks_ = nullptr;
  StepResult result_;
};

}  // namespace weir
