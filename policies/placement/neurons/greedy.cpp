#include "policies/placement/neurons/greedy.h"

#include <queue>
#include <stdexcept>

#include "policies/placement/neurons/frequency_buckets.h"
#include "policies/placement/neurons/home_dimms.h"
#include "policies/placement/neurons/neuron_placement.h"

namespace weir {
namespace {

// The neurons of a block that are not on the GPU yet, hottest first.
struct Candidates {
  double saved_by_byte;  // by the next one
  std::size_t layer;
  NeuronBlock block;
  std::size_t next = 0;
};
bool operator<(const Candidates& a, const Candidates& b) {  // the queue's top is the greatest
  if (a.saved_by_byte != b.saved_by_byte) return a.saved_by_byte < b.saved_by_byte;
  return a.layer > b.layer || (a.layer == b.layer && a.block > b.block);
}

class GreedyMapping {
 public:
  GreedyMapping(const NeuronMachine& machine, std::span<const NeuronLayer> layers)
      : machine_(machine), layers_(layers), orders_(layers.size()), sites_(layers.size()) {
    for (std::size_t l = 0; l < layers.size(); ++l)
      for (const NeuronBlock block : neuron_blocks) {
        orders_[l][block] = hottest_first(layers[l][block]);
        sites_[l][block].on_gpu.assign(layers[l][block].size(), 0);
        enqueue({0, l, block});
      }
  }

  std::vector<LayerSites> made() {
    fill_gpu();
    HomeDimms homes(machine_.dimms);
    for (std::size_t l = 0; l < layers_.size(); ++l)
      for (const NeuronBlock block : neuron_blocks)
        homes.deal(machine_.costs[block].bytes, orders_[l][block], sites_[l][block]);
    return std::move(sites_);
  }

 private:
  void enqueue(Candidates candidates) {
    const std::vector<std::uint32_t>& order = orders_[candidates.layer][candidates.block];
    if (candidates.next == order.size()) return;
    const NeuronCost& cost = machine_.costs[candidates.block];
    const float frequency = layers_[candidates.layer][candidates.block][order[candidates.next]];
    candidates.saved_by_byte = static_cast<double>(frequency) * cost.dimm_time.value() / cost.bytes.value();
    queue_.push(candidates);
  }

  void fill_gpu() {
    Bytes room = machine_.gpu_room;
    while (!queue_.empty()) {
      Candidates hottest = queue_.top();
      queue_.pop();
      const Bytes bytes = machine_.costs[hottest.block].bytes;
      if (bytes > room) continue;  // none of its block fits any more
      room -= bytes;
      sites_[hottest.layer][hottest.block].on_gpu[orders_[hottest.layer][hottest.block][hottest.next++]] = 1;
      enqueue(hottest);
    }
  }

  const NeuronMachine& machine_;
  std::span<const NeuronLayer> layers_;
  std::vector<PerBlock<std::vector<std::uint32_t>>> orders_;
  std::vector<LayerSites> sites_;
  std::priority_queue<Candidates> queue_;
};

class Greedy final : public NeuronPlacementPolicy {
 public:
  NeuronMapping place(const NeuronMachine& machine, std::span<const NeuronLayer> layers,
                      std::uint64_t /*seed*/) const override {
    if (const std::string why = why_not_placed(machine, layers); !why.empty())
      throw std::invalid_argument(why);
    return {greedy_mapping(machine, layers)};
  }
};

}  // namespace

std::vector<LayerSites> greedy_mapping(const NeuronMachine& machine, std::span<const NeuronLayer> layers) {
  return GreedyMapping(machine, layers).made();
}

std::shared_ptr<const NeuronPlacementPolicy> make_greedy_neurons(Params&) {
  return std::make_shared<Greedy>();
}

}  // namespace weir
