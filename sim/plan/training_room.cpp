// Whether what a training step holds at once fits where it lies.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/plan/scenario_parts.h"

namespace weir {
namespace {

// The layers with most bytes, for a message.
std::string largest_layers(const TrainingGraph& graph) {
  std::map<std::string, double> by_layer;
  for (const Tensor& tensor : graph.tensors) by_layer[tensor.layer] += tensor.bytes().value();
  std::vector<std::pair<double, std::string>> layers;
  for (const auto& [layer, bytes] : by_layer) layers.emplace_back(bytes, layer.empty() ? "the net" : layer);
  std::ranges::sort(layers, std::greater<>());
  layers.resize(std::min<std::size_t>(layers.size(), 5));
  std::string words;
  for (const auto& [bytes, layer] : layers)
    words += fmt::format("{}{} {:.2f} GB", words.empty() ? "" : ", ", layer, bytes / 1e9);
  return words;
}

}  // namespace

// Weights, slots, activations and gradients lie in what computes, and else in the CPU's memory.
void check_training_room(const TrainingJob& job, const std::string& pointer, Reading& reading) {
  const RuntimeUnits needs = job.spec.runtime->needs();
  const auto& where = needs.gpu ? job.machine.gpu : job.machine.memory ? job.machine.memory : job.machine.cpu;
  if (!where) return;  // told by what the policy needs
  const Bytes needed = peak_bytes(job.graph) + (job.beside ? peak_bytes(*job.beside) : Bytes(0)),
              room = where->spec().own().capacity;
  if (needed > room)
    reading.problem(
        pointer + "/batch",
        fmt::format("a step of {} with a batch of {}{} holds {:.2f} GB at once, {} has {:.2f}; most "
                    "tensors, whenever they live: {}",
                    job.graph.net, job.graph.batch,
                    job.beside ? fmt::format(" beside one of {}", job.beside->net) : "", needed.value() / 1e9,
                    where->spec().kind, room.value() / 1e9, largest_layers(job.graph)));
}

}  // namespace weir
