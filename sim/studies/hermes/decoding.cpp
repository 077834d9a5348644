#include "sim/studies/hermes/decoding.h"

#include "models/llm/parts/rewrite.h"

namespace weir::hermes {

std::shared_ptr<const NeuronPlan> neurons_of(const HermesRun& run, const std::string& assumptions) {
  return read_plan(scenario_of(run, assumptions), name_of(run)).replicas[0].neurons;
}

Decoding::Decoding(const HermesRun& run, const std::string& assumptions)
    : plan_(read_plan(scenario_of(run, assumptions), name_of(run))), batch_(run.batch) {
  const ReplicaPlan& replica = plan_.replicas[0];
  tables_ = std::make_unique<NeuronTables>(replica.neurons, replica.rank,
                                           start_mapping(*replica.neurons).mapping, totals_);
}

void Decoding::each_token(const std::function<void(const BatchShape&)>& action) {
  std::vector<NeuronTables::Sequence> sequences;
  for (int request = 0; request < batch_; ++request) sequences.push_back({request, input_tokens});
  for (std::int64_t token = 1; token < output_tokens; ++token) {
    BatchShape shape;
    shape.decodes = shape.sequences = batch_;
    shape.decode_context_max = input_tokens + token;
    shape.decode_context_sum = batch_ * shape.decode_context_max;
    shape.side = tables_->next(sequences, shape);
    action(shape);
  }
}

StageGraph Decoding::only(const Keep& keep) const {
  StageGraph kept = rewrite(operators(), [&](const OperatorGraph& from, std::size_t vertex) {
    return keep(from, vertex) ? Replacement(from[vertex]) : Replacement();
  });
  std::erase_if(kept.parts, [](const Part& part) { return boost::num_vertices(part.operators) == 0; });
  return kept;
}

}  // namespace weir::hermes
