// Models of real size are solved at the root: the paper's, on one to sixteen DIMMs and two GPUs, to 0.002 to
// 0.07 % in 0.2 to 0.6 s of CPU (measured). Blocks of some hundred neurons may take all nodes: a whole neuron
// is more than the gap there.
#include "policies/placement/neurons/mapping_program.h"

#include <algorithm>
#include <cmath>

#include "policies/placement/neurons/frequency_buckets.h"
#include "policies/placement/neurons/home_dimms.h"
#include "policies/placement/neurons/integer_program.h"

namespace weir {
namespace {

class MappingProgram {
 public:
  MappingProgram(const NeuronMachine& machine, std::span<const NeuronLayer> layers,
                 const MappingLimits& limits)
      : machine_(machine),
        layers_(layers),
        limits_(limits),
        places_(limits.each_dimm ? static_cast<std::size_t>(machine.dimms) : 1),
        dimms_a_place_(machine.dimms / static_cast<double>(places_)),
        time_unit_(time_unit()),
        byte_unit_(std::max(machine.costs.attention.bytes, machine.costs.mlp.bytes)),
        homed_(places_) {
    for (std::size_t l = 0; l < layers.size(); ++l)
      for (const NeuronBlock block : neuron_blocks) add_block(l, block);
    program_.add_row(on_gpu_, 0, machine.gpu_room / byte_unit_);
    for (const std::vector<Term>& bytes : homed_)  // as one, they were asked before (why_not_placed)
      if (limits.each_dimm) program_.add_row(bytes, 0, machine.dimm_room / byte_unit_);
  }

  // Nothing where the solver has found none within its nodes.
  std::optional<NeuronMapping> solved() const {
    const auto solution = program_.minimised(limits_.gap, limits_.nodes);
    if (!solution) return {};
    NeuronMapping mapping{std::vector<LayerSites>(layers_.size()), 0, solution->nodes};
    if (solution->cost > 0) mapping.gap = std::max(0.0, 1 - solution->bound / solution->cost);
    HomeDimms homes(machine_.dimms);
    for (const Block& block : blocks_) {
      NeuronSites& sites = mapping.layers[block.layer][block.block];
      sites = seated(block, solution->values);
      if (!limits_.each_dimm) homes.deal(machine_.costs[block.block].bytes, block.order, sites);
    }
    return mapping;
  }

 private:
  using Term = IntegerProgram::Term;
  enum class Seats { hottest, spread };
  struct Bucket {
    FrequencyBucket neurons;
    std::vector<int> homed, on_gpu;  // columns, one a place: neurons at home there; of these, on the GPU
  };
  struct Block {
    std::size_t layer;
    NeuronBlock block;
    std::vector<std::uint32_t> order;
    std::vector<Bucket> buckets;
  };

  // The program counts time in this: all neurons on the DIMMs take 1e4 of it, see integer_program.h.
  Seconds time_unit() const {
    Seconds all;
    for (const NeuronLayer& layer : layers_)
      for (const NeuronBlock block : neuron_blocks)
        for (const float frequency : layer[block])
          all += static_cast<double>(frequency) * machine_.costs[block].dimm_time / machine_.dimms;
    return all > Seconds() ? 1e-4 * all : Seconds(1);
  }

  void add_block(std::size_t layer, NeuronBlock which) {
    const std::span<const float> frequencies = layers_[layer][which];
    Block block{layer, which, hottest_first(frequencies), {}};
    const NeuronCost& cost = machine_.costs[which];
    const int time = program_.add_real(1, 0, IntegerProgram::unbounded);
    const int gpu_has_any = program_.add_whole(0, 0, 1, IntegerProgram::Rounded::up);
    const double overhead = (cost.gpu_fixed + 2 * machine_.sync) / time_unit_;
    double without_gpu = 0;  // the DIMMs' time
    std::vector<Term> gpu{{time, -1}};
    std::vector<std::vector<Term>> dimms(places_, {{time, -1}});
    for (const FrequencyBucket& neurons : frequency_buckets(frequencies, block.order, limits_.buckets)) {
      const Bucket& bucket = block.buckets.emplace_back(make_bucket(neurons, cost, gpu_has_any));
      const double gpu_time = neurons.frequency * (cost.gpu_time / time_unit_),
                   dimm_time = neurons.frequency * (cost.dimm_time / time_unit_);
      without_gpu += dimm_time * static_cast<double>(neurons.size()) / machine_.dimms;
      for (std::size_t place = 0; place < places_; ++place) {
        gpu.push_back({bucket.on_gpu[place], gpu_time});                            // Equation 4
        dimms[place].push_back({bucket.homed[place], dimm_time / dimms_a_place_});  // Equation 5
        dimms[place].push_back({bucket.on_gpu[place], -dimm_time / dimms_a_place_});
      }
    }
    // Equation 3 where the GPU has any; where it has none the time is the DIMMs', which the row says too:
    // half a GPU is then half of each. Without it the bound of LLaMA2-70B stays 8 % off for 2,000 nodes; with
    // it, 0.01 %.
    gpu.push_back({gpu_has_any, overhead - without_gpu});
    program_.add_row(gpu, -IntegerProgram::unbounded, -without_gpu);
    for (const std::vector<Term>& dimm : dimms) program_.add_row(dimm, -IntegerProgram::unbounded, 0);
    blocks_.push_back(std::move(block));
  }

  Bucket make_bucket(const FrequencyBucket& neurons, const NeuronCost& cost, int gpu_has_any) {
    Bucket bucket{neurons, {}, {}};
    const auto count = static_cast<double>(neurons.size());
    const double bytes = cost.bytes / byte_unit_;
    std::vector<Term> homes, all_on_gpu{{gpu_has_any, -count}};
    for (std::size_t place = 0; place < places_; ++place) {
      const int homed = program_.add_whole(0, places_ == 1 ? count : 0, count),
                on_gpu = program_.add_whole(0, 0, count);
      bucket.homed.push_back(homed);
      bucket.on_gpu.push_back(on_gpu);
      homes.push_back({homed, 1});
      all_on_gpu.push_back({on_gpu, 1});
      on_gpu_.push_back({on_gpu, bytes});
      homed_[place].push_back({homed, bytes});
      if (places_ > 1)
        program_.add_row(std::vector<Term>{{on_gpu, 1}, {homed, -1}}, -IntegerProgram::unbounded, 0);
    }
    if (places_ > 1) program_.add_row(homes, count, count);
    program_.add_row(all_on_gpu, -IntegerProgram::unbounded, 0);
    return bucket;
  }

  // The solver knows a bucket by its mean alone. Of one that is only partly on the GPU the hottest neurons
  // are there, which takes work from the DIMMs; or some of every frequency, as it reckoned, where the GPU
  // would be the slower for it.
  NeuronSites seated(const Block& block, std::span<const double> values) const {
    NeuronSites hottest = seated(block, values, Seats::hottest),
                spread = seated(block, values, Seats::spread);
    return even_time(block, spread) < even_time(block, hottest) ? std::move(spread) : std::move(hottest);
  }

  NeuronSites seated(const Block& block, std::span<const double> values, Seats seats) const {
    const auto value = [&](int column) {
      return static_cast<std::size_t>(std::lround(values[static_cast<std::size_t>(column)]));
    };
    NeuronSites sites;
    sites.on_gpu.resize(block.order.size());
    sites.dimm.resize(block.order.size());
    for (const Bucket& bucket : block.buckets) {
      std::size_t there = 0;
      for (const int column : bucket.on_gpu) there += value(column);
      const std::size_t size = bucket.neurons.size();
      std::vector<std::uint32_t> gpu, left;
      for (std::size_t k = 0; k < size; ++k) {
        const bool on_gpu = seats == Seats::hottest ? k < there : (k + 1) * there / size > k * there / size;
        const std::uint32_t neuron = block.order[bucket.neurons.begin + k];
        sites.on_gpu[neuron] = on_gpu;
        (on_gpu ? gpu : left).push_back(neuron);
      }
      for (std::size_t place = 0, next_gpu = 0, next_left = 0; place < places_; ++place)
        for (std::size_t n = 0; n < value(bucket.homed[place]); ++n)
          sites.dimm[n < value(bucket.on_gpu[place]) ? gpu[next_gpu++] : left[next_left++]] =
              static_cast<std::uint8_t>(place);
    }
    return sites;
  }

  Seconds even_time(const Block& block, const NeuronSites& sites) const {  // on DIMMs that are alike
    const NeuronCost& cost = machine_.costs[block.block];
    double on_gpu = 0, on_dimms = 0;
    for (std::size_t i = 0; i < block.order.size(); ++i)
      (sites.on_gpu[i] ? on_gpu : on_dimms) += static_cast<double>(layers_[block.layer][block.block][i]);
    return std::max(on_gpu * cost.gpu_time + cost.gpu_fixed + 2 * machine_.sync,
                    on_dimms * cost.dimm_time / machine_.dimms);
  }

  const NeuronMachine& machine_;
  std::span<const NeuronLayer> layers_;
  MappingLimits limits_;
  std::size_t places_;  // that a home may be: the DIMMs, or all of them as one
  double dimms_a_place_;
  Seconds time_unit_;
  Bytes byte_unit_;
  IntegerProgram program_;
  std::vector<Block> blocks_;
  std::vector<Term> on_gpu_;              // bytes there, Equation 6
  std::vector<std::vector<Term>> homed_;  // bytes at each place, Equation 7
};

}  // namespace

std::optional<NeuronMapping> least_time_mapping(const NeuronMachine& machine,
                                                std::span<const NeuronLayer> layers,
                                                const MappingLimits& limits) {
  return MappingProgram(machine, layers, limits).solved();
}

}  // namespace weir
