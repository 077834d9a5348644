#pragma once
// The pipeline stages of a replica where they stand in the cluster, and the flows that its KV takes: to the
// replica that goes on with a request, or to host memory and back.
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "models/llm/kv_parts.h"
#include "sim/serving/server/server.h"

namespace weir {

// One step model for each stage of each kind of replica: replicas of a kind share them.
using StepModels = std::map<std::pair<const ReplicaPlan*, int>, std::shared_ptr<const StepModel>>;

// Adds each stage's devices to the recorder, in order.
std::vector<Server::Stage> build_stages(const Scenario& scenario, const ReplicaPlan& replica,
                                        const ReplicaPlace& place, const std::string& replica_name,
                                        const Cluster& cluster, Recorder& recorder, StepModels& models);

// Devices that hold a request's KV cache: in each stage those of its attention-data rank.
struct KvDevices {
  const std::vector<Server::Stage>& stages;
  std::size_t rank, ranks;  // of so many

  std::size_t in_stage(std::size_t stage) const { return stages[stage].ranks.size() / ranks; }
  std::size_t first(std::size_t stage) const { return rank * in_stage(stage); }
};
KvDevices kv_devices(const Server& server, std::int32_t request);
// So many tokens' part of a cache, from one stage; `with_request`: what is kept once as well.
std::vector<LinkFlow> handover_flows(const KvDevices& from, std::size_t stage, const KvDevices& to,
                                     std::span<const KvPart> parts, double tokens, bool with_request);
// The bytes that the operators of a step send over links of the cluster, for others to share these.
std::vector<LinkFlow> step_flows(const Server::Stage& stage, const StepCost& cost);
std::vector<LinkFlow> activation_flows(const Server::Stage& from, const Server::Stage& to,
                                       std::int64_t tokens);
std::vector<LinkFlow> host_flows(const KvDevices& devices, std::int64_t tokens, bool out);

}  // namespace weir
