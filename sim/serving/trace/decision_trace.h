#pragma once
// The trace of a run: what happened to the requests that it is asked of, and why, as lines of trace.jsonl
// (docs/results.md). It hears replicas and the router, and changes nothing. Lines come in the order of time.
#include <memory>
#include <vector>

#include "sim/serving/replica/replica.h"
#include "sim/serving/routing/routing_choice.h"
#include "sim/serving/trace/trace_options.h"

namespace weir {

class DecisionTrace final : public ChoiceListener {
 public:
  DecisionTrace(const TraceOptions& options, std::size_t requests);
  ~DecisionTrace() override;

  // The listener of one attention-data rank of a replica; -1: it has no others.
  ReplicaListener* listener(int replica, int rank);
  bool hears(std::int32_t request) const override { return traced_[static_cast<std::size_t>(request)] != 0; }
  void chose(const RoutingChoice& choice) override;
  void rejected(std::int32_t request, Seconds now);

 private:
  class Listener;

  std::vector<char> traced_;  // by request
  std::function<void(const Json&)> write_;
  std::vector<std::unique_ptr<Listener>> listeners_;
};

}  // namespace weir
