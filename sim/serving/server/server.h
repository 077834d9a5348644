#pragma once
// A replica in SimGrid: the actor of each pipeline stage's first device takes the steps, together with those
// of the stage's other devices (Lockstep). The first stage's runs the scheduler as well, as vLLM's engine
// core drives its workers.
#include <map>
#include <memory>
#include <set>
#include <simgrid/s4u/Semaphore.hpp>
#include <vector>

#include "devices/actor/lockstep.h"
#include "sim/serving/platform/courier.h"
#include "sim/serving/replica/attention_ranks.h"
#include "sim/serving/server/decode_run.h"
#include "sim/serving/server/stage_collectives.h"

namespace weir {

class Handovers;

class Server {
 public:
  struct Stage {
    std::shared_ptr<const StepModel> model;
    std::vector<simgrid::s4u::Host*> ranks;
    std::vector<simgrid::s4u::Host*> memories;  // the node each rank is in: where swapped KV goes
    std::vector<simgrid::s4u::Host*> dimms;     // that node's memory that computes; null: it has none
    // Resources of a rank that are links of the cluster, which KV transfers and other replicas use as well.
    std::vector<std::pair<std::size_t, ClusterLink>> links;
    std::unique_ptr<Lockstep> devices;
    std::unique_ptr<StageCollectives> collectives;  // null: no flow ever crosses their links
    std::optional<LinkTraffic::Group> beside;       // of its links; none where nobody else sends over them
    int attending_unit = -1;                        // a host's memory works as long as it; -1: there is none
    Bytes kv_per_token;                             // of one rank
    std::size_t device;                             // in the recorder
    std::int32_t track;
    std::vector<std::int32_t> unit_tracks;  // empty: its operators are not drawn
    Bytes activation_per_token;             // each rank sends this to the next stage
  };
  struct Cluster {  // what it needs of the rest of the run
    std::function<bool()> stopping;
    std::function<bool()> over;    // the clients have left, and SimGrid ends what is under way
    std::function<void()> failed;  // called while an exception is being handled
    // Without `arrived` it blocks until all of it has.
    std::function<void(const KvMove&, std::function<void()> arrived)> move;
    LinkTraffic* traffic;
    bool flows_cross_links;          // of devices of a node and beyond
    bool shared;                     // by others than replicas
    Handovers* layerwise = nullptr;  // which hears of its steps
  };

  Server(AttentionRanks ranks, std::vector<Stage> stages, bool fast_forward, bool collective_flows,
         Recorder& recorder, Cluster cluster);
  void start();

  AttentionRanks& replica() { return replica_; }
  const AttentionRanks& replica() const { return replica_; }
  const std::vector<Stage>& stages() const { return stages_; }
  // A request comes: as it is; with its input in the KV cache but for the last token; with its prompt
  // computed on another replica.
  void submit(std::int32_t request);
  void submit_in_generation(std::int32_t request);
  void submit_handover(std::int32_t request, int from_replica);
  void withdraw_handover(std::int32_t request);  // which waits for its room, or has it, and no KV cache there
  void renew_handover(std::int32_t request, int from_replica);
  void stored(const KvMove& move);                     // in a tier
  void wake_if_anyone_waits();                         // they may find more
  void wake();                                         // a transfer ended
  std::int64_t outstanding_tokens(Seconds now) const;  // counting the steps of a run that are over by now
  bool computes() const;                               // a step, or more
  void commit_until(Seconds now);                      // the run is over: counts the steps that ended in time

 private:
  void serve();
  void guard(const std::function<void()>& body) const;
  void wait();
  void wake_for_arrival(const Replica& rank);
  void cut_run(std::int64_t more_steps);
  void reach_scheduler();
  std::int64_t steps_over() const;  // of the run
  struct InPipe {
    Iteration iteration;
    Seconds start{0};
    bool used = false;
  };
  InPipe* decide();
  void run_alone(Iteration& iteration);
  void go_on();
  void say_used(const Iteration& iteration);
  void commit_run(const Iteration& iteration, Seconds end, std::int64_t steps);
  void start_moves(const Iteration& iteration);
  bool shares_links(std::size_t stage) const;  // with KV caches that move, or with others
  bool beside_others(const Stage& stage) const;
  void occupy(std::size_t stage, const Iteration& iteration);  // has its devices execute the step
  void execute(Stage& stage, const BatchShape& batch, StepCost& cost);
  static Lockstep::Share share_of(const Stage& stage, const StepCost& cost);
  static bool keeps_kv_caches(const ReplicaSpec& spec);
  bool may_run() const;
  bool plan_run(Iteration& iteration);
  bool begin_run(Iteration& iteration);
  bool end_run();
  void wait_for_run();
  void forward(std::size_t stage, Iteration* iteration);
  void serve_stage(std::size_t stage);
  void note(std::size_t stage, const Iteration& iteration, Seconds start, Seconds end, const StepCost& cost,
            std::int64_t steps);
  void tell(std::size_t stage, const Iteration& iteration, Seconds start, Seconds end, const StepCost& cost,
            std::int64_t steps) const;
  void draw_operators(std::size_t stage, const Iteration& iteration, Seconds start);

  AttentionRanks replica_;
  std::vector<Stage> stages_;
  bool fast_forward_, collective_flows_;
  bool in_kernel_;  // a run follows another without the actor
  Recorder& recorder_;
  Cluster cluster_;

  std::multimap<Seconds, std::int32_t> in_front_end_;  // by when they leave it

  simgrid::s4u::SemaphorePtr wake_;
  bool sleeping_ = false, in_run_ = false;
  int occupied_ = 0;         // stages, by single steps
  int moves_under_way_ = 0;  // beside steps
  DecodeRun run_;            // goes on, if in_run_

  std::vector<InPipe> pipe_;             // one a stage
  InPipe* decided_ = nullptr;            // as a run ended, for the actor to carry out
  std::function<void()> when_run_ends_;  // go_on()
  struct Inbox {
    std::deque<InPipe*> arrived;
    simgrid::s4u::SemaphorePtr ready;
    std::unique_ptr<Courier> from_previous;
  };
  std::vector<Inbox> inboxes_;
  std::vector<std::set<std::string>> drawn_;  // by stage: kinds of steps whose operators were
};

}  // namespace weir
