#pragma once
// Everything a run writes down while it runs: request records, pooled gaps, samples over time, totals per
// device, spans. Called by serving actors with times that never go back per caller; read once, by finish().
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "devices/actor/working_set.h"
#include "sim/serving/kv/tiers/kv_tiers.h"
#include "sim/serving/record/results.h"
#include "sim/step/step_model.h"
#include "workloads/workload.h"

namespace weir {

// A quantity integrated over equal periods. Without a given period it starts at a millisecond and doubles
// whenever there would be too many, so that a second and a week both end with a few hundred samples.
class TimeBuckets {
 public:
  TimeBuckets(Seconds period, bool adaptive) : period_(period), adaptive_(adaptive) {}
  void add(Seconds from, Seconds to, double integral);  // spread evenly over [from, to]
  void add_used(WorkingSet& uses) const {
    if (!sums_.empty()) uses.add(sums_.back());
  }
  void coarsen_to(Seconds period);  // adaptive ones only; a power of two times today's period
  Seconds period() const { return period_; }
  bool adaptive() const { return adaptive_; }
  double operator[](std::size_t i) const { return i < sums_.size() ? sums_[i] : 0; }
  std::size_t size() const { return sums_.size(); }

 private:
  void halve();
  Seconds period_;
  bool adaptive_;
  std::vector<double> sums_;
};

// For timeline.json, what each of the first requests is doing, as boxes on a track of its own, and arrows
// from there to the steps: to every step of a prefill, and to the first one of a decode.
class RequestTracks {
 public:
  static constexpr std::size_t most_requests = 1000;  // the others are not drawn: nobody scrolls that far

  explicit RequestTracks(RunResult& result);

  void phase(std::int32_t request, Seconds now, const char* phase);
  void arrow(std::int32_t request, std::int32_t track, Seconds at);
  void end(Seconds now);  // of the run: of boxes that are open yet

 private:
  struct Open {
    const char* phase = nullptr;
    Seconds since{0};
    bool begun = false;  // a step has computed a part of it
  };
  RunResult& result_;
  std::vector<Open> open_;
};

class Recorder {
 public:
  // Samples times columns, with a period that the user gives: about half a GB of them while they are written.
  static constexpr std::size_t most_sampled_values = 10'000'000;
  // About 150 MB of timeline.json; the first ones are kept.
  static constexpr std::size_t most_spans = 1'000'000;

  Recorder(const Workload& workload, std::optional<Seconds> sample_period, bool spans);

  std::size_t add_device(DeviceUsage usage);  // a pipeline stage's devices; returns its index
  std::size_t add_link(LinkUsage usage);
  std::int32_t add_track(std::string name);

  // A replica's queue and cache held these values over [from, to]; blocks may grow evenly.
  void queue(Seconds from, Seconds to, std::int64_t running, std::int64_t waiting, double mean_blocks,
             bool kv_limited);
  void tokens(Seconds from, Seconds to, double count);
  void add_used(std::size_t device, WorkingSet& uses) const;  // by busy()
  void busy(std::size_t device, Seconds from, Seconds to, const StepCost& cost);
  void lost_to_others(Seconds time) { result_.lost_to_others += time; }
  void carried(std::size_t link, Seconds from, Seconds to, Bytes bytes);
  void span(Span span);
  bool wants_spans() const { return request_tracks_.has_value(); }
  // The request's phase from now on; null: it has left. Repeating it changes nothing.
  void phase(std::int32_t request, Seconds now, const char* phase) {
    if (request_tracks_) request_tracks_->phase(request, now, phase);
  }
  void arrow(std::int32_t request, std::int32_t track, Seconds at) {
    if (request_tracks_) request_tracks_->arrow(request, track, at);
  }
  void keep_token_gaps() { result_.token_gaps.resize(result_.requests.size()); }
  bool keeps_token_gaps() const { return !result_.token_gaps.empty(); }
  void token_gap(std::int32_t request, double seconds);
  double generated() const { return generated_; }  // tokens so far
  Seconds reply() const { return reply_; }         // on the way to the client
  bool kept(std::int32_t request) const {
    return unmeasured_ == 0 || measured_[static_cast<std::size_t>(request)] != 0;
  }
  // A client sends it now. The first of a warm-up's number are left out; usage before the first one that is
  // kept is not counted.
  void sent(std::int32_t request, Seconds now);
  // The place of each request among those sent so far; empty where that is the workload's order.
  std::span<const std::int32_t> order() const { return order_; }

  // Tokens of its prompt that come from tiers of KV caches, when it is scheduled first; and whether any did.
  void found_in_tiers(std::int32_t request, std::span<const TierTokens> tokens);
  bool found_in_tiers(std::int32_t request) const { return result_.tier_tokens.contains(request); }

  RequestRecord& record(std::int32_t request) { return result_.requests[static_cast<std::size_t>(request)]; }
  GapHistogram& gaps() { return result_.gaps; }
  RunResult& result() { return result_; }
  RunResult finish(Seconds now);

 private:
  void sum_up();
  void sample();
  std::size_t most_samples() const;
  void check_period(Seconds to) const;             // throws ConfigError
  double counted(Seconds from, Seconds to) const;  // the share of [from, to] that is measured

  void leave_out(std::int32_t request);

  RunResult result_;
  bool sent_on_answers_;                // when requests arrive is not known before
  std::vector<std::uint8_t> measured_;  // as in the records, which lie far from each other
  std::int64_t unmeasured_ = 0;
  std::int32_t sent_ = 0;
  std::vector<std::int32_t> order_;
  Seconds reply_;
  std::optional<RequestTracks> request_tracks_;  // only when a timeline was asked for
  double generated_ = 0;
  std::optional<Seconds> start_;
  TimeBuckets running_, waiting_, blocks_, tokens_;
  struct Device {  // apart from DeviceUsage, which is large
    StepCost done = {};
    TimeBuckets busy, link_bytes;
  };
  std::vector<Device> devices_;
  std::vector<TimeBuckets> flow_bytes_;
};

}  // namespace weir
