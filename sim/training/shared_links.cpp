#include "sim/training/shared_links.h"

#include <map>

namespace weir {
namespace {

Bytes fed_bytes(const TrainingGraph& graph) {
  Bytes bytes;
  for (const Tensor& tensor : graph.tensors)
    if (tensor.kind == TensorKind::fed) bytes += tensor.bytes();
  return bytes;
}

bool runs_on_gpu(const TrainingJob& job) {
  return job.spec.runtime->needs().gpu;
}

bool runs_in_host_memory(const TrainingJob& job) {
  return !runs_on_gpu(job) && !job.machine.memory;
}

void add_inputs(std::vector<LinkFlow>& flows, const TrainingJob& job, const Cluster& cluster) {
  const bool gpu = runs_on_gpu(job);
  if (!gpu && !runs_in_host_memory(job)) return;
  const Bytes bytes = gpu ? fed_bytes(job.graph) : bytes_moved(job.graph);
  for (const std::vector<DevicePlace>& copy : job.places) {
    simgrid::s4u::Host* host = cluster.node(copy.front().node);
    if (simgrid::s4u::Host* dimms = cluster.host_memory(copy.front().node))
      flows.push_back({dimms, host, bytes});
    if (gpu) flows.push_back({host, cluster.device(copy.front()), bytes});
  }
}

// As many bytes as the closed form counts, from whom and to whom the plain algorithm sends them.
void add_gradients(std::vector<LinkFlow>& flows, const TrainingJob& job, const Cluster& cluster) {
  const int copies = job.machine.copies;
  if (copies < 2) return;
  const Bytes sent = job.first_steps(1).plan().reduced[0];
  const auto op = Collective::all_reduce;
  const auto rounds = job.levels ? rounds_by_level(op, sent, job.links, *job.levels)
                                 : plain_rounds(op, sent, copies, job.links.shape);
  std::map<std::pair<int, int>, Bytes> sums;
  Bytes all;
  for (const auto& round : rounds)
    for (const Message& m : round) {
      sums[{m.from, m.to}] += m.bytes;
      all += m.bytes;
    }
  const double share = copies * sent.value() / all.value();
  const auto at = [&](int copy) {
    return cluster.device(job.places[static_cast<std::size_t>(copy)].front());
  };
  for (const auto& [ends, bytes] : sums) flows.push_back({at(ends.first), at(ends.second), share * bytes});
}

}  // namespace

std::vector<LinkFlow> training_flows(const TrainingJob& job, const Cluster& cluster) {
  std::vector<LinkFlow> flows;
  add_inputs(flows, job, cluster);
  add_gradients(flows, job, cluster);
  return flows;
}

bool has_training_flows(const TrainingJob& job) {
  return runs_on_gpu(job) || runs_in_host_memory(job) || job.machine.copies > 1;
}

}  // namespace weir
