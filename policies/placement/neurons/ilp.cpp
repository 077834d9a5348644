// Hermes' offline mapping: the integer program of mapping_program.h.
#include <stdexcept>

#include "policies/placement/neurons/expected_time.h"
#include "policies/placement/neurons/greedy.h"
#include "policies/placement/neurons/mapping_program.h"

namespace weir {
namespace {

class Ilp final : public NeuronPlacementPolicy {
 public:
  explicit Ilp(const MappingLimits& limits) : limits_(limits) {}

  // The solver sees buckets and stops within its gap; where greedy's mapping is better by what its neurons
  // are, that is the answer.
  NeuronMapping place(const NeuronMachine& machine, std::span<const NeuronLayer> layers,
                      std::uint64_t /*seed*/) const override {
    if (const std::string why = why_not_placed(machine, layers); !why.empty())
      throw std::invalid_argument(why);
    std::vector<LayerSites> greedy = greedy_mapping(machine, layers);
    auto mapping = least_time_mapping(machine, layers, limits_);
    if (!mapping) return {std::move(greedy), 1, limits_.nodes};
    if (expected_time(machine, layers, greedy) < expected_time(machine, layers, mapping->layers))
      mapping->layers = std::move(greedy);
    return *std::move(mapping);
  }

 private:
  MappingLimits limits_;
};

}  // namespace

std::shared_ptr<const NeuronPlacementPolicy> make_ilp_neurons(Params& params) {
  MappingLimits limits{};
  limits.buckets = static_cast<std::size_t>(params.integer(
      {"buckets",
       "Groups of alike neurons a block and layer; more follow frequencies closer and take longer."},
      {1, 4096}, 32));
  limits.each_dimm = params.choice<bool>(
      {"dimms",
       "as_one: alike, as their neurons are dealt by frequency; each: by itself, for a few neurons."},
      {{"as_one", false}, {"each", true}}, "as_one");
  limits.gap = params.number({"gap", "Relative to the least possible time, where the solver may stop."},
                             {0, 1}, 0.001);
  limits.nodes = static_cast<int>(
      params.integer({"node_limit", "Nodes that the solver may branch to; then its best mapping is taken."},
                     {1, 100'000'000}, 1'000));
  return std::make_shared<Ilp>(limits);
}

}  // namespace weir
