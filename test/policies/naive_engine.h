#pragma once
// A serving replica without time: carries out what a batching policy decides, one batch after the other, with
// plain loops, and throws LawBroken at the first decision that no engine may carry out. A tick is one
// decision.
#include <deque>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "policies/batching/batching.h"
#include "test/policies/dice.h"

namespace weir {

struct LawBroken : std::logic_error {
  using std::logic_error::logic_error;
};

struct NaiveScenario {
  std::string kind = "chunked_prefill";
  Json keys = Json::object();  // of the policy, beside its limits
  std::int64_t max_batch_requests = 4, max_batch_tokens = 16;
  std::int64_t total_blocks = 16, block_tokens = 4;  // blocks of one channel
  std::int64_t channels = 1;                         // a request's is drawn whenever it starts to wait
  // Blocks of the GPU's own memory beside the one channel of its host's; a request that waits is for it while
  // there is room. 0: there is no such memory.
  std::int64_t own_blocks = 0;
  Admission admission = Admission::chunk;
  int pipeline_stages = 1;
  bool swap = false;                          // preemption keeps what was computed
  std::vector<std::int64_t> arrivals;         // tick of each request, never falling
  std::vector<std::int64_t> inputs, outputs;  // tokens of each
  std::vector<std::int32_t> priorities = {};  // of each; empty: all alike
  std::string text() const;
};

std::shared_ptr<const BatchingPolicy> make_policy(const std::string& kind, std::int64_t requests,
                                                  std::int64_t tokens, const Json& keys = Json::object());

// The others are first come, first served.
bool may_overtake(const std::string& kind);

// What policies with a predictor are told: a GPU as a roofline has it, so small that prompts of some ten
// tokens fill it, and a memory of several channels, of which the one with most to attend to is waited for.
class NaiveTimes final : public StepTimes {
 public:
  Seconds prefill_attention(std::span<const PrefillChunk> chunks) const override;
  Seconds batched(std::int64_t prompt_tokens, std::int64_t decodes) const override;
  Seconds offloaded(const OffloadedWork& work) const override;
  Seconds decode_attention(std::span<const DecodeContext> own) const override;
};

class NaiveEngine {
 public:
  explicit NaiveEngine(NaiveScenario scenario);
  void run();   // to the end of every request that the policy serves
  bool step();  // one tick; false when all is done

  // What happened, for tests to look at.
  struct Outcome {
    bool rejected = false;
    std::int64_t generated = 0, preemptions = 0;
    std::int64_t first_scheduled = -1, finished = -1;  // ticks
  };
  std::vector<Outcome> outcomes;
  std::int64_t preemptions = 0, repeats_checked = 0, blocked_arrivals_checked = 0, moves_in = 0,
               moves_out = 0;
  std::vector<int> admission_order;  // requests, when first admitted
  Batch last;                        // decision of the last tick

  const std::vector<SequenceView>& running() const { return running_; }
  const std::vector<SequenceView>& waiting() const { return waiting_; }
  ServingView view() const;

 private:
  struct Flying {
    std::vector<int> epochs;            // of each slice's request
    std::vector<std::int64_t> reaches;  // computed_tokens when it comes back
    bool repeatable;
    std::int64_t issued;  // when, in events_
    Batch decision;
  };

  static std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a / b + (a % b != 0); }

  struct OnItsWay {  // a KV cache to the GPU's own memory
    int request;
    std::int64_t host_blocks, due;  // tick
  };

  void arrive();
  void come_back();
  void place_waiting();
  void move(const Batch& batch);
  void end_moves();
  void check(const ServingView& view, const Batch& batch) const;
  void check_slice(const ServingView& view, const Batch& batch, const Slice& slice) const;
  void check_moves(const ServingView& view, const Batch& batch) const;
  void check_classes(const ServingView& view, const Batch& batch) const;
  void check_repetition(const Batch& batch);
  void carry_out(const Batch& batch);
  void preempt(const Batch& batch);
  void demand(bool holds, const std::string& law) const;
  std::int64_t held_blocks(std::int64_t channel) const;
  // Null if it does not run, or wait.
  static const SequenceView* named(std::span<const SequenceView> sequences, std::int32_t request);
  std::size_t running_at(std::int32_t request) const;
  std::int64_t& free_of(const SequenceView& s) { return free_[static_cast<std::size_t>(s.channel)]; }
  std::int16_t draw_channel();

  NaiveScenario scenario_;
  std::shared_ptr<const BatchingPolicy> policy_;
  std::vector<SequenceView> running_, waiting_;  // plain vectors: slow is fine
  std::vector<int> epoch_;                       // of each request: how often it was preempted
  std::vector<std::int64_t> chunks_;             // tokens of its prompt computed since it was admitted
  std::deque<Flying> flying_;
  std::vector<OnItsWay> on_their_way_;
  std::optional<Flying> back_;      // the batch that came back just before this decision
  std::vector<std::int64_t> free_;  // of each channel
  Dice dice_{0};
  NaiveTimes times_;
  std::int64_t tick_ = 0;
  std::size_t arrived_ = 0;
  std::int64_t events_ = 0;     // decisions and disturbances so far
  std::int64_t disturbed_ = 0;  // the last event other than a repeatable decision
  bool was_empty_ = false;      // the last decision was empty, and nothing but blocked arrivals came since
};

}  // namespace weir
