#pragma once
// One serving engine's state: its queues and its KV cache, and how a batching policy's decision changes them.
// It knows no SimGrid: a serving actor asks schedule() what to compute, lets the time pass, and reports
// complete(). Requests are int32 indices into the run's records.
#include <deque>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "sim/plan/plan.h"
#include "sim/serving/kv/batch_prefixes.h"
#include "sim/serving/kv/kv_cache.h"
#include "sim/serving/record/recorder.h"
#include "sim/serving/replica/draft_draws.h"
#include "sim/serving/replica/front_end.h"
#include "sim/serving/replica/iteration.h"
#include "sim/serving/replica/replica_listener.h"
#include "sim/serving/replica/waiting_queue.h"
#include "sim/serving/side_work.h"

namespace weir {

class Replica {
 public:
  // The rest of the cluster must hear of these. The first two are called inside complete(), at the time given
  // to it.
  struct Events {
    std::function<void(std::int32_t request)> finished;
    std::function<void(std::int32_t request)> hand_over;  // prefill done here, decode elsewhere
    // Such a one is admitted, perhaps again; is preempted, where what was computed of it may be given up.
    // Called inside schedule().
    std::function<void(std::int32_t request)> prompt_begins = [](std::int32_t) {};
    std::function<void(std::int32_t request, bool lost)> prompt_preempted = [](std::int32_t, bool) {};
    // A tier is to have a part of a prompt or answer: stored() when it has arrived.
    std::function<void(const KvMove&)> store = [](const KvMove&) {};
  };

  // `contents`: which of the run's requests begin alike; `tiers`: the memories of its spec, which it may
  // share.
  Replica(int index, const ReplicaPlan& plan, std::vector<std::int32_t>& positions, Recorder& recorder,
          Events events, const Contents& contents = nothing_shared(),
          std::vector<std::shared_ptr<KvTier>> tiers = {});

  // False: it can never fit, and was recorded as rejected. Otherwise it is outstanding, in the front end.
  bool accept(std::int32_t request, Seconds now);
  // An accepted request reaches the scheduler, when so many steps of a run that goes on are over.
  void enqueue_accepted(std::int32_t request, Seconds now, std::int64_t steps_over = 0);
  // Both, of a request that comes to an engine without a front end.
  bool enqueue(std::int32_t request, Seconds now);
  // The same for one whose input is in the KV cache, all but the last token: it decodes from its first step.
  bool enqueue_in_generation(std::int32_t request, Seconds now);
  void enqueue_handover(std::int32_t request, int from_replica, Seconds now, std::int64_t steps_over = 0);
  // It gives its place here back, where it waits or has room; gets another; has not got what still comes.
  void withdraw_handover(std::int32_t request, Seconds now);
  void renew_handover(std::int32_t request, int from_replica, Seconds now, std::int64_t steps_over);
  bool withdrawn(std::int32_t request) const;
  bool fits(const Request& request) const;

  // Asks the policy and carries its decision out. False if there is nothing to compute and nothing to
  // transfer.
  bool schedule(Seconds now, Iteration& iteration);
  // How often the iteration can run before it is no longer valid, a request ends or the blocks run out; >= 1.
  std::int64_t longest_run(Iteration& iteration);
  // The iteration ran once, or `runs` covers its `steps` repetitions; it ended at `end`.
  void complete(const Iteration& iteration, Seconds start, Seconds end, const std::vector<StepRun>& runs,
                std::int64_t steps);
  // The same in two: steps beyond the first pass on all attention-data ranks before one hands out what it
  // has, as that may bring a new request to another.
  void pass(std::int64_t more_steps, std::int64_t decodes);
  void complete_passed(const Iteration& iteration, Seconds start, Seconds end,
                       const std::vector<StepRun>& runs, std::int64_t steps);
  void arrived(const KvMove& move, Seconds now);
  void release_held(std::int32_t request, Seconds now);
  void stored(const KvMove& move);

  bool empty() const { return running_.empty() && waiting_.empty() && overlooked_.empty(); }
  bool anyone_waits() const { return !waiting_.empty(); }
  // Before each schedule(), where other attention-data ranks run beside it: the steps decided so far are
  // theirs as well, and whether it has any company now.
  void step_with(std::int64_t decisions, bool others_run) {
    decisions_ = decisions;
    others_run_ = others_run;
  }
  std::int64_t decisions() const { return decisions_; }
  bool runs() const { return !running_.empty(); }
  // Steps until a request that is overlooked is seen, or blocks of one that ended are given back.
  std::int64_t steps_until_seen() const;
  std::int64_t held_blocks() const;  // by requests that have not ended
  // Whether a request that comes is seen by the next decision.
  bool sees_at_once() const { return !spec_->sees_late() || nothing_runs(); }
  // Whether the request that has just come may change the first decision that sees it.
  bool arrival_matters() const {
    return waiting_.size() + overlooked_.size() == 1 || batch_.valid.wakes_on.any_arrival;
  }
  std::int64_t outstanding_requests() const { return outstanding_requests_; }
  std::int64_t outstanding_tokens() const { return outstanding_tokens_; }
  // Steps after the one under way that a run plays before a decision sees who has just come.
  std::int64_t steps_unseen(std::int64_t steps_over) const {
    return seen_by(steps_over) - (decisions_ + steps_over + 1);
  }
  FrontEnd& front_end() { return front_end_; }
  const KvCache& cache() const { return cache_; }
  const ReplicaPlan& plan() const { return *plan_; }
  int index() const { return index_; }
  std::string state() const;  // in words
  // Before the first schedule(), where the batching policy has a predictor.
  void expect(std::unique_ptr<StepTimes> times) { times_ = std::move(times); }
  // Before the first schedule(), where its steps have side loads.
  void follow(std::unique_ptr<SideWork> side) { side_ = std::move(side); }
  void tell(ReplicaListener* listener);  // before the first schedule(), one more; null: none
  std::span<ReplicaListener* const> listeners() const { return listeners_; }
  void add_used(WorkingSet& uses) const;  // as an iteration ends, and the next is decided

 private:
  struct Held {  // for a KV cache that goes elsewhere, until it has arrived
    std::int32_t request;
    std::int64_t blocks;
    int pool;
  };
  struct Overlooked {  // by the decisions before that one
    SequenceView view;
    Live live;
    std::int64_t until;
  };
  struct Leaving {  // these blocks and a seat, in the decisions before that one
    std::int32_t request;
    std::int64_t blocks;
    int pool;
    std::int64_t until;
  };
  void enqueue(std::int32_t request, std::int64_t computed, Seconds now, std::int64_t steps_over);
  std::int64_t seen_by(std::int64_t steps_over) const;
  bool nothing_runs() const { return running_.empty() && (!others_run_ || spec_->prompt_interval == 1); }
  void join_queue(const SequenceView& view, const Live& live, std::int64_t steps_over, Seconds now);
  void catch_up(bool with_all);
  bool decide(Seconds now, Iteration& iteration);
  std::int64_t generated_here(const Request& request) const;
  void show(std::int32_t request, Seconds now, const char* phase);
  bool hands_over(const RequestRecord& record) const {
    return spec_->role == Role::prefill && record.request.output_tokens > 1;
  }
  static const char* doing(const SequenceView& view) { return view.prefilling() ? "prefill" : "decode"; }
  void account(Seconds now);                          // what the queue looked like since the last call
  void carry_out(Seconds now, Iteration& iteration);  // batch_
  void admit(std::int32_t request, Seconds now, Iteration& iteration);
  void load(SequenceView& view, Live& live, std::vector<TierTokens> from, Iteration& iteration);
  void store(const SequenceView& view);
  void send_stores();
  void place_waiting();
  Validity ask_placement();  // for to_place_
  void move(const Move& move, Iteration& iteration);
  void move_out(SequenceView& view, Iteration& iteration);
  void move_in(SequenceView& view, Iteration& iteration);
  std::int64_t spare_room(bool reserved) const;  // blocks of spare_channel() that nobody has or may need
  int pool(const SequenceView& view) const {
    return plan_->kv_pools.of_channel[static_cast<std::size_t>(view.channel)];
  }
  std::int16_t spare_channel() const { return static_cast<std::int16_t>(plan_->kv_pools.spare_channel); }
  void compute(const std::vector<Slice>& slices, Iteration& iteration);
  std::size_t compute_decodes(const std::vector<Slice>& slices, Iteration& iteration);
  void compute(std::size_t at, const Slice& slice, bool with_contexts, Iteration& iteration);
  void follow_side(Iteration& iteration);
  void preempt(std::int32_t request, Seconds now, Iteration& iteration);
  bool swaps_out(const SequenceView& view) const;
  KvMove::Place here(bool in_host) const { return {index_, in_host}; }
  std::size_t running_at(std::int32_t request, const char* what_for);
  bool keeps_tree() const { return spec_->prefix_index() == PrefixIndex::radix_tree; }
  bool publishes() { return prefixes_.path().shared() || keeps_tree(); }
  void publish(const SequenceView& view);
  void publish_prompt(const SequenceView& view);
  void publish_chunks(const Iteration& iteration);
  void write_up(std::int32_t text);
  bool writes(Origin origin);
  void tell_waiting(Seconds now);
  void tell_kept(Seconds now);
  void remove_marked();
  // No division where its blocks hold them already.
  void take_blocks_for(SequenceView& view, std::int64_t tokens) {
    if (tokens <= view.blocks * cache_.block_tokens()) return;
    const std::int64_t blocks = cache_.blocks_for(tokens);
    cache_.take(blocks - view.blocks, pool(view));
    view.blocks = blocks;
  }
  std::int64_t drafts() const { return spec_->drafts(); }
  std::int64_t longest_drafted_run(Iteration& iteration);
  std::int64_t take_drafts(const Iteration& iteration, std::int64_t steps);  // fills given_
  std::int64_t verify(SequenceView& view, std::int64_t steps);
  std::int64_t given(std::size_t member, std::int64_t steps) const {
    return given_.empty() ? steps : given_[member];
  }
  void extend_blocks(const Iteration& iteration, std::int64_t more_tokens);
  bool other_gap(Seconds last, Seconds start, Seconds first, std::int64_t steps);
  void record_steps(double members, Seconds first, const std::vector<StepRun>& runs, std::int64_t steps);
  void record_token_gaps(const Iteration& iteration, Seconds start, Seconds first,
                         const std::vector<StepRun>& runs, std::int64_t steps);
  double advance(const Iteration& iteration, Seconds start, Seconds end, Seconds first, std::int64_t steps);
  void advance_in_turn(const Iteration& iteration, std::span<const Seconds> turns, Seconds end);
  void record_turns(std::int32_t request, Seconds last, std::int64_t before, std::span<const Seconds> turns);
  void give(std::size_t at, Seconds seen, Seconds end, std::int64_t steps);
  void first_token(const SequenceView& view, Seconds seen, Seconds now);
  void leave(const SequenceView& view, Seconds seen, Seconds now);
  std::size_t position(std::int32_t request) {
    if (!indexed_) find_positions();
    return static_cast<std::size_t>(positions_[static_cast<std::size_t>(request)]);
  }
  void find_positions();
  // The same where requests are asked for in the order of running_, nearly always: `next` is tried first.
  std::size_t position(std::int32_t request, std::size_t& next) {
    if (next >= running_.size() || running_[next].request != request) next = position(request);
    return next++;
  }

  int index_;
  const ReplicaPlan* plan_;
  const ReplicaSpec* spec_;  // the plan's
  KvCache cache_;
  KvTiers tiers_;
  BatchPrefixes prefixes_;
  FrontEnd front_end_;
  // Where each request of the run is in its replica's running_. Written only where somebody asks out of
  // order, since these lie far from each other.
  std::vector<std::int32_t>& positions_;
  bool indexed_ = false;
  Recorder& recorder_;
  Events events_;
  std::vector<ReplicaListener*> listeners_;

  std::unique_ptr<StepTimes> times_;
  std::unique_ptr<SideWork> side_;
  std::optional<DraftDraws> draws_;  // where decodes verify drafts
  std::vector<std::int64_t> given_;  // to each member of the iteration that completes; empty: one a step
  std::vector<SideWork::Sequence> decoding_;  // scratch
  std::vector<SequenceView> running_;
  std::vector<Live> live_;            // beside running_, but for
  std::vector<Seconds> last_tokens_;  // theirs, which change at every step
  WaitingQueue waiting_;
  // Requests that an engine which decides steps ahead does not see yet.
  std::deque<Overlooked> overlooked_;
  std::deque<Leaving> leaving_;
  std::int64_t decisions_ = 0;  // steps decided so far
  bool others_run_ = false;     // attention-data ranks, while it has nothing to do
  std::int64_t received_ = 0;   // a decision that looks at who has come; others do so every recv_interval
  std::vector<Held> held_;
  std::vector<std::int32_t> withdrawn_;                              // while its KV cache is on its way
  std::unordered_map<std::int32_t, std::vector<TierTokens>> loads_;  // of requests that wait for these
  std::vector<KvMove> to_store_;                                     // once the iteration is complete
  std::unique_ptr<Rng> stored_after_load_;
  std::int64_t swapped_ = 0;  // blocks in the host's swap space
  Batch batch_;
  std::vector<char> removed_;
  std::vector<std::int32_t> left_;
  std::int64_t admitted_ = 0, preempted_ = 0;  // the latter since it computed a step
  std::vector<PlacedRequest> placed_, to_place_;
  std::vector<std::int64_t> free_by_channel_;
  Validity placement_{Validity::unlimited};  // of those who wait
  std::int64_t outstanding_requests_ = 0, outstanding_tokens_ = 0;
  std::int64_t passed_tokens_ = 0;  // no longer outstanding, and not handed out
  Seconds accounted_{0};
  double blocks_then_ = 0;
  bool kv_limited_ = false;
  std::int32_t refused_ = -1;  // it waits, and lacked KV blocks when it was last looked at
};

}  // namespace weir
