#pragma once
// Results are what a run leaves behind, as the engine fills it and sim/app writes it: one record a request,
// pooled inter-token gaps, samples over time, totals per device. No formatting here.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "devices/device.h"
#include "models/memory/cache.h"
#include "policies/batching/predict/step_times.h"
#include "sim/core/params.h"
#include "sim/core/request.h"
#include "workloads/sessions.h"

namespace weir {

// Rejected: it can never fit the KV cache or max_model_len. Lost: with a device that was switched off.
enum class RequestStatus { unfinished, completed, rejected, lost };

struct RequestRecord {
  Request request;
  Seconds scheduled{-1}, first_token{-1}, finished{-1};  // < 0: never
  std::int32_t replica = -1;
  std::int32_t preemptions = 0;
  std::int64_t found_tokens = 0;  // of its prompt, in the KV cache when it was first scheduled
  RequestStatus status = RequestStatus::unfinished;
};

// Gaps between a request's tokens, pooled: log-spaced bins (1e-3 wide), because 121 M gaps as numbers would
// be 1 GB.
class GapHistogram {
 public:
  void add(Seconds gap, double count);
  // `steps` gaps of `count` requests each, growing evenly from `first` by `slope`.
  void add_run(Seconds first, Seconds slope, std::int64_t steps, double count);
  double count() const;
  Seconds mean() const, standard_deviation() const;
  Seconds percentile(double p) const;  // p in [0, 100]

 private:
  std::vector<double> bins_;  // bin i holds gaps of about exp((lowest_ + i) * 1e-3) seconds
  std::int64_t lowest_ = 0;
  double count_ = 0, sum_ = 0, squares_ = 0;
  double& bin(std::int64_t index);
};

// A part of a device that works by itself: "gpu", "link".
struct UnitUsage {
  std::string name;
  std::size_t index;  // in the device's units, of which the idle stream of prefetches is left out
  bool attends;       // to decodes, beside the unit of the other kernels
  Seconds busy = {};
};

// One device of one pipeline stage of one replica (the ranks of a tensor-parallel group are alike).
struct DeviceUsage {
  std::string name;  // "replica 0 stage 1"
  std::string kind;
  int devices = 1;  // alike, counted in energy and cost
  Seconds busy;
  // Where the device's step time went: the larger of arithmetic and traffic names a kernel's bound.
  Seconds compute_bound, memory_bound, link_bound, host_bound;
  Flops flops;                  // per device
  Bytes memory;                 // per device
  Bytes link;                   // per device
  PrefetchBytes prefetch = {};  // per device
  FlopsPerSecond peak;
  BytesPerSecond memory_bandwidth, link_bandwidth;
  std::vector<UnitUsage> units;
  Joules energy;                 // all `devices`
  std::string energy_note = {};  // what is known to be wrong with that
  double dollars_per_hour = 0;   // of all `devices`, as what follows
  double cost_dollars = 0;
  std::string kernels = {};                       // whose efficiencies a GPU's are
  std::string host_memory = {};                   // its kind, where the KV cache lies in it
  std::optional<double> die_mm2 = {};             // of one device, where its catalog row says
  std::optional<ProfileSource> profile = {};      // whose measured kernel times it has,
  std::vector<std::string> analytic_layers = {};  // but for these
};

// How well active neurons of the MLP were predicted, over all tokens.
struct PredictionCounts {
  double neurons = 0, active = 0, predicted = 0, both = 0;
  PredictionCounts& operator+=(const PredictionCounts& o) {
    neurons += o.neurons, active += o.active, predicted += o.predicted, both += o.both;
    return *this;
  }
  // Shares: of neurons that were told right, of active ones that were found, of expected ones that were
  // active. None where there are none of these.
  std::optional<double> accuracy() const { return share(neurons - active - predicted + 2 * both, neurons); }
  std::optional<double> recall() const { return share(both, active); }
  std::optional<double> precision() const { return share(both, predicted); }

 private:
  static std::optional<double> share(double part, double whole) {
    return whole > 0 ? std::optional(part / whole) : std::nullopt;
  }
};

// Tokens of the fullest rank that holds experts over the ranks' mean, summed over so many steps.
struct ExpertCounts {
  double imbalance = 0, steps = 0;
};

// Drafts that decodes verified, of the requests that are measured.
struct DraftCounts {
  std::int64_t decodes = 0, drafted = 0, accepted = 0;
  void add(std::int64_t more, std::int64_t drafts, std::int64_t good) {
    decodes += more, drafted += drafts, accepted += good;
  }
  // Tokens of a decode in the mean, its own one included; none where there was no decode.
  std::optional<double> length() const {
    return decodes > 0 ? std::optional(1 + static_cast<double>(accepted) / static_cast<double>(decodes))
                       : std::nullopt;
  }
};

// Replicas that compute active neurons alone have these together.
struct NeuronTotals {
  PredictionCounts predictions;
  Bytes swapped, remapped;
  double gap = 0;     // of the offline mapping: how far its time may be above the least
  Seconds placement;  // wall time of the offline mapping
};

// A device that was switched off, which ended the run.
struct StoppedDevice {
  std::string name;  // node0.h100_sxm-3
  Seconds at;
};

// A link of the cluster that flows crossed: KV transfers, activations between stages, swapping.
struct LinkUsage {
  std::string name;
  BytesPerSecond bandwidth;
  Bytes carried;
};

struct Sample {
  Seconds time;             // end of the period
  double running, waiting;  // means over the period
  double kv_blocks;
  double tokens_per_s;                                       // output
  std::vector<double> device_utilisation, link_utilisation;  // in the order of RunResult::devices
  std::vector<double> flow_utilisation = {};                 // in the order of RunResult::links
};

// For timeline.json: a box on a track.
struct Span {
  std::int32_t track;  // index into RunResult::tracks
  Seconds start, duration;
  std::string name;
  std::int64_t requests = 0, tokens = 0, steps = 1;
  const char* category = "step";
};

// For timeline.json, what a request was doing: a box on a track of its own.
struct RequestSpan {
  std::int32_t request;
  const char* phase;
  Seconds start, duration;
};

// For timeline.json: from a request's box to the step on this track that begins then with a part of it.
struct StepArrow {
  std::int32_t request, track;
  Seconds at;
};

struct RunResult {
  // In the workload's order; `measured` of each says whether metrics have it, of a warm-up nothing. One that
  // is sent on answers, and never was, has an arrival < 0.
  std::vector<RequestRecord> requests;
  bool held_at_client = false;  // a request, by max_in_flight
  std::int64_t warmup_requests = 0;
  std::shared_ptr<const Sessions> sessions = {};  // the workload's
  GapHistogram gaps;
  std::vector<DeviceUsage> devices;
  std::vector<LinkUsage> links;  // those that a flow crossed, in the order of the first one
  std::vector<Sample> samples;
  std::vector<std::string> tracks;
  std::vector<Span> spans;  // these only when a timeline was asked for
  std::vector<RequestSpan> request_spans;
  std::vector<StepArrow> arrows;
  std::int64_t requests_drawn = 0;  // the first ones
  std::int64_t spans_left_out = 0;  // the last ones, beyond what Recorder keeps
  // Tokens of prompts that came from tiers of KV caches, by tier; of the requests that have any.
  std::unordered_map<std::int32_t, std::vector<std::int64_t>> tier_tokens;
  std::int64_t not_sent_tokens = 0;             // of prompts handed over, as the next replica had them
  std::size_t kv_tiers = 0;                     // the most that a replica has
  std::vector<std::vector<double>> token_gaps;  // only when asked for: of each request, in seconds
  std::int64_t iterations = 0;
  std::int64_t preemptions = 0;
  std::int64_t kv_blocks_total = 0, kv_blocks_peak = 0, kv_block_tokens = 0;  // of the fullest replica
  Seconds kv_limited;      // replica-seconds in which a request waited for KV blocks
  Seconds lost_to_others;  // by steps of all stages, on links and memories that not only replicas use
  Seconds start;           // of what is measured: arrival of the first request kept
  Seconds end;             // last token
  bool interrupted = false, out_of_time = false;
  std::optional<StoppedDevice> stopped = {};
  std::vector<PredictionErrors> predictions;  // one a replica with a learned predictor
  std::optional<NeuronTotals> neurons = {};
  DraftCounts drafts = {};
  ExpertCounts experts = {};
  std::vector<std::string> notes;
  std::int64_t events = 0;
  std::int64_t actors = 0, hosts = 0, activities = 0;  // of SimGrid: activities are executions and flows
};

}  // namespace weir
