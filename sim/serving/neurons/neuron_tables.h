#pragma once
// Where the neurons of one replica are, and what each step has to do of them (Hermes, Section IV): the
// replica asks before every step of decodes. Placement and online policies decide on views of these tables
// and keep none (policies/placement/neurons).
#include <map>
#include <memory>

#include "models/machine/side_loads.h"
#include "policies/placement/neurons/online/remapping.h"
#include "sim/plan/neurons/neuron_plan.h"
#include "sim/serving/neurons/neuron_moves.h"
#include "sim/serving/neurons/sequence_neurons.h"
#include "sim/serving/record/results.h"
#include "sim/serving/side_work.h"

namespace weir {

class NeuronTables : public SideWork {
 public:
  NeuronTables(std::shared_ptr<const NeuronPlan> plan, const Rank& rank, const NeuronMapping& start,
               NeuronTotals& totals);

  const SideLoads* next(std::span<const Sequence> sequences, const BatchShape& batch) override;
  void pass(std::span<const Sequence> decodes) override;
  void forget(std::int32_t request) override;

  // Views, for tests.
  const LayerSites& sites(std::int64_t layer) const { return sites_[static_cast<std::size_t>(layer)]; }
  std::span<const Bytes> free() const { return moves_.free(); }

 private:
  SequenceNeurons& sequence(const Sequence& of);
  void follow(std::int64_t layer, NeuronBlock block);
  void count(std::int64_t layer, NeuronBlock block);
  void swap(std::int64_t layer);
  std::span<const std::uint8_t> hottest_states(std::int64_t layer, NeuronBlock block);
  void spread();
  void fill_dense(std::int64_t decodes);
  void time_projection(const BatchShape& batch);

  std::shared_ptr<const NeuronPlan> plan_;
  const Rank* rank_;
  NeuronTotals* totals_;
  std::vector<LayerSites> sites_;  // of followed layers
  NeuronMoves moves_;
  std::map<std::int32_t, std::unique_ptr<SequenceNeurons>> sequences_;
  SideLoads followed_, loads_;
  std::int64_t dense_decodes_ = -1;     // that loads_ is for, where all neurons are active
  std::int64_t projected_decodes_ = 0;  // that projection_ is for: beside it neurons move
  Seconds projection_;
  // Scratch of a step.
  std::vector<SequenceNeurons*> batch_;
  std::vector<std::uint16_t> reads_, uses_;
  PerBlock<std::vector<std::uint8_t>> hottest_;
};

}  // namespace weir
