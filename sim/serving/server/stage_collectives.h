#pragma once
// The collectives of a pipeline stage's ranks, in closed form, on links that KV transfers cross as well. As
// long as none does they take what the step's cost says. Beside one, a step is played piece by piece: the
// time without its collectives' bytes, then these as flows, which share the links max-min.
#include <optional>
#include <vector>

#include "devices/actor/lockstep.h"
#include "sim/serving/platform/link_traffic.h"
#include "sim/step/rank.h"
#include "sim/step/step_model.h"

namespace weir {

class StageCollectives {
 public:
  // `joined` is called when a transfer comes to the links while no step of play() waits for it.
  StageCollectives(const Rank& rank, std::shared_ptr<const StepModel> model,
                   std::vector<simgrid::s4u::Host*> ranks, LinkTraffic& traffic,
                   std::function<void()> joined);

  bool shared() const { return traffic_.shared_since(group_).has_value(); }
  bool beside_others() const { return traffic_.beside_others(group_); }
  // Has the devices execute their shares of a step of `cost`, and blocks until its collectives are over too;
  // what they lose to transfers is added to the cost.
  void play(Lockstep& devices, Lockstep::Share share, const BatchShape& batch, StepCost& cost);
  // Counts those of steps with that batch, `cost` together.
  void carried(const BatchShape& batch, const StepCost& cost, Seconds from, Seconds to);

 private:
  // A step from one collective to the next: for `working` of its time no bytes of theirs are on the links,
  // but for those that are hidden.
  struct Rhythm {
    double calls, working;
    std::vector<LinkFlow> exposed, hidden;  // of the whole step
    std::size_t unit;
  };
  struct Pattern {  // of a step's collectives
    BatchShape::Counts counts;
    std::vector<LinkFlow> flows;
    Bytes sum;
    double calls = 0;
    std::size_t unit = 0;
  };
  const Pattern& pattern(const BatchShape& batch);
  std::vector<LinkFlow> flows(const BatchShape& batch, const StepCost& cost);
  Rhythm rhythm(const BatchShape& batch, const StepCost& cost);
  double alone(Lockstep& devices, Lockstep::Share share, double done, bool interruptible);
  double beside_transfers(Lockstep& devices, Lockstep::Share share, const Rhythm& rhythm, double done);

  Rank rank_;
  std::shared_ptr<const StepModel> model_;
  std::vector<simgrid::s4u::Host*> ranks_;
  LinkTraffic& traffic_;
  LinkTraffic::Group group_;
  Lockstep* interruptible_ = nullptr;  // the devices that execute a step by themselves
  Pattern pattern_;                    // the last that was asked for
};

// The collectives of a step, message by message (`"collectives": "flows"`). Blocks, and adds their time to
// the cost.
void play_as_flows(const Rank& rank, const StepModel& model, const std::vector<simgrid::s4u::Host*>& ranks,
                   const BatchShape& batch, LinkTraffic& traffic, StepCost& cost);

}  // namespace weir
