#pragma once
// Frequencies of neurons, and machines for them, for tests over random inputs.
#include <algorithm>
#include <cmath>

#include "policies/placement/neurons/neurons.h"
#include "test/policies/dice.h"

namespace weir::test {

struct Frequencies {
  std::vector<PerBlock<std::vector<float>>> of_layers;

  std::vector<NeuronLayer> views() const {
    std::vector<NeuronLayer> layers;
    for (const auto& layer : of_layers) layers.push_back({layer.attention, layer.mlp});
    return layers;
  }
};

inline std::vector<float> random_frequencies(Dice& dice, std::int64_t neurons) {
  std::vector<float> frequencies(static_cast<std::size_t>(neurons));
  for (float& f : frequencies) f = static_cast<float>(dice(0, 100)) / 100.0F;
  return frequencies;
}

inline Frequencies random_layers(Dice& dice, std::int64_t most_layers, std::int64_t most_neurons) {
  Frequencies frequencies;
  frequencies.of_layers.resize(static_cast<std::size_t>(dice(1, most_layers)));
  for (auto& layer : frequencies.of_layers)
    layer = {random_frequencies(dice, dice(0, most_neurons)),
             random_frequencies(dice, dice(0, most_neurons))};
  return frequencies;
}

// Few neurons are hot, in an order that a seed draws: 1 / (1 + 8 rank)^0.9, near the paper's 80 % in 20 %.
inline Frequencies skewed_layers(unsigned seed, std::size_t layers, std::size_t attention, std::size_t mlp) {
  std::mt19937_64 random(seed);
  const auto block = [&](std::size_t neurons) {
    std::vector<float> frequencies(neurons);
    for (std::size_t i = 0; i < neurons; ++i)
      frequencies[i] = static_cast<float>(
          1 / std::pow(1 + 8 * static_cast<double>(i) / (0.15 * static_cast<double>(neurons)), 0.9));
    std::shuffle(frequencies.begin(), frequencies.end(), random);
    return frequencies;
  };
  Frequencies frequencies;
  for (std::size_t l = 0; l < layers; ++l) {
    std::vector<float> of_attention = block(attention);
    frequencies.of_layers.push_back({std::move(of_attention), block(mlp)});
  }
  return frequencies;
}

inline Bytes bytes_of(const NeuronMachine& machine, const Frequencies& frequencies) {
  Bytes all;
  for (const auto& layer : frequencies.of_layers)
    for (const NeuronBlock block : neuron_blocks)
      all += static_cast<double>(layer[block].size()) * machine.costs[block].bytes;
  return all;
}

// Times and rooms of one order of magnitude, so that now the GPU is the slower, now a DIMM, and rooms bind.
inline NeuronMachine random_machine(Dice& dice, const Frequencies& frequencies, int most_dimms) {
  const auto cost = [&] {
    return NeuronCost{Bytes(static_cast<double>(dice(1, 5))), Seconds(1e-7 * static_cast<double>(dice(0, 9))),
                      Seconds(1e-7 * static_cast<double>(dice(1, 20))),
                      Seconds(1e-7 * static_cast<double>(dice(0, 3)))};
  };
  NeuronMachine machine{static_cast<int>(dice(1, most_dimms)), Bytes(), Bytes(), {cost(), cost()}, Seconds()};
  const Bytes all = bytes_of(machine, frequencies);
  machine.gpu_room = Bytes(std::floor(static_cast<double>(dice(0, 120)) / 100 * all.value()));
  machine.dimm_room = all / machine.dimms + Bytes(static_cast<double>(dice(5, 20)));
  machine.sync = Seconds(1e-7 * static_cast<double>(dice(0, 8)));
  return machine;
}

// LLaMA2-70B on eight NDP-DIMMs beside 20 GB of an RTX 4090, by the numbers of Hermes' Table II: 92.7 and 95
// GB/s a DIMM at pieces of 5 and 12 KB, 936 GB/s.
inline NeuronMachine llama2_70b_machine() {
  return {8,
          Bytes(20e9),
          Bytes(32e9),
          {{Bytes(20480), Seconds(20480 / 936e9), Seconds(20480 / 92.7e9)},
           {Bytes(49152), Seconds(49152 / 936e9), Seconds(49152 / 95e9)}},
          Seconds(8e-6)};
}

}  // namespace weir::test
