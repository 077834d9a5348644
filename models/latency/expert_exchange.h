#pragma once
// Sending a step's tokens to the ranks that hold their experts (dispatch) and their results back (combine),
// for one layer with experts. Called by whoever lays out such a layer; pure.
//
// A kernel takes: start + start_between x (the share of ranks that are in other nodes) + the longest of what
// it sends inside the node, what it sends between nodes and what its SMs handle. Fitted and judged by
// docs/calibration/expert_exchange.py; numbers and errors are in models/latency/interconnects/*.json.
#include <cstdint>
#include <string>

#include "models/latency/collectives_by_level.h"

namespace weir {

// One direction of one kind of kernel.
struct ExchangeKernel {
  Seconds start, start_between;
  double inside_share = 1, between_share = 1;  // of the links' bandwidth that it reaches
  BytesPerSecond per_sm, per_sm_between;       // that an SM handles, in a node and across nodes; 0: no bound
};

struct ExchangeKernels {
  ExchangeKernel dispatch, combine;
};

// The kernels that were measured on one interconnect.
struct ExchangeLibrary {
  ExchangeKernels low_latency, normal, nvlink_all_to_all;
};

// The object "expert_exchange" of an interconnect.
ExchangeLibrary read_exchange_library(Params& params);

struct ExchangeGroup {
  int ranks = 1;     // that share the experts
  int per_node = 1;  // of them in a node, or in one NVLink domain; ranks are dealt out to nodes in turn
  LinkSpec inside, between;  // a device's links in the node; its share of the node's NICs
};

struct ExchangeStep {
  double tokens = 0;                     // of a rank, on average
  std::int64_t experts = 1, active = 1;  // of the layer; of a token
  Bytes dispatched, combined;            // of one token: scales included; in the combine's own type
  double imbalance = 1;                  // copies of the fullest rank over their mean; see RankLoad
};

// `inside` and `between` are what a rank sends on average, over its links to the node's others and over its
// share of the NICs; all ranks together receive as much. The time is the fullest rank's.
struct ExchangeCost {
  Seconds time;
  Bytes inside, between;
  int multiprocessors = 0;  // that it keeps from other kernels meanwhile
};

// DeepEP's own default (Buffer.num_sms in deep_ep/buffer.py).
constexpr int deepep_multiprocessors = 20;

class ExpertExchange {
 public:
  // Links whose kernels nobody measured reach nvlink4_switch's shares of their bandwidth (nvlink5_switch's
  // for the all-to-all over NVLink): ESTIMATE. `library` of the collectives (make_collectives) for
  // all_gather. Throws std::invalid_argument where an all-to-all over NVLink would leave its domain.
  ExpertExchange(ExchangeMethod method, ExchangeGroup group, const std::string& library = "nccl",
                 int multiprocessors = deepep_multiprocessors);

  ExchangeCost dispatch(const ExchangeStep& step) const;
  ExchangeCost combine(const ExchangeStep& step) const;

 private:
  ExchangeCost exchange(const ExchangeKernel& kernel, const ExchangeStep& step, Bytes token) const;
  ExchangeCost collective(Collective op, const ExchangeStep& step, Bytes token) const;

  ExchangeMethod method_;
  ExchangeGroup group_;
  ExchangeKernels kernels_;
  std::shared_ptr<const CollectiveModel> collectives_, between_;
  int nodes_ = 1, multiprocessors_ = 0;
};

// Into how many of `groups` that share the experts evenly a token's `active` different experts fall, on
// average.
double reached_groups(double groups, std::int64_t experts, std::int64_t active);

}  // namespace weir
