#include "sim/app/output/rows/of_run.h"

#include <algorithm>

namespace weir {

using namespace metrics;

namespace {

// An operation's error, the mean over the replicas that predicted any.
Json prediction_error(const RunResult& run, std::optional<double> PredictionErrors::*operation) {
  double sum = 0;
  int replicas = 0;
  for (const PredictionErrors& errors : run.predictions)
    if (const std::optional<double>& error = errors.*operation) sum += *error, ++replicas;
  return replicas > 0 ? Json(sum / replicas) : Json(nullptr);
}

void add_predictions(std::vector<MetricRow>& rows) {
  const auto add = [&](const char* name, const char* title,
                       std::optional<double> PredictionErrors::*operation) {
    rows.push_back(
        {std::string("prediction_error_percent.") + name, title, "%", "", less, shown,
         where([](const FinishedRun& run) { return !run.result.predictions.empty(); },
               [operation](const FinishedRun& run) { return prediction_error(run.result, operation); })});
  };
  add("prefill_attention", "Error of predicted attention of prompts", &PredictionErrors::prefill_attention);
  add("batched", "Error of predicted batched operators", &PredictionErrors::batched);
  add("offloaded", "Error of predicted offloaded attention", &PredictionErrors::offloaded);
  add("decode_attention", "Error of predicted attention of decodes", &PredictionErrors::decode_attention);
}

void add_drafts(std::vector<MetricRow>& rows) {
  const auto drafts = [](const FinishedRun& run) {
    return std::ranges::any_of(
        run.plan.replicas, [](const ReplicaPlan& replica) { return replica.spec.speculative != nullptr; });
  };
  const auto count = [&](const char* name, const char* title, std::int64_t DraftCounts::*member) {
    rows.push_back({std::string("speculative.") + name, title, "", "", neither, shown,
                    where(drafts, [member](const FinishedRun& run) { return run.result.drafts.*member; })});
  };
  rows.push_back({"speculative.acceptance_length", "Acceptance length", "tokens", "", more, shown,
                  where(drafts, [](const FinishedRun& run) { return or_null(run.result.drafts.length()); })});
  count("decodes", "Decodes with drafts", &DraftCounts::decodes);
  count("draft_tokens", "Drafts", &DraftCounts::drafted);
  count("accepted_tokens", "Accepted drafts", &DraftCounts::accepted);
}

void add_experts_and_neurons(std::vector<MetricRow>& rows) {
  rows.push_back(
      {"experts.imbalance", "Tokens of the fullest rank's experts over the mean", "", "", less, shown,
       where(
           [](const FinishedRun& run) { return run.result.experts.steps > 0; },
           [](const FinishedRun& run) { return run.result.experts.imbalance / run.result.experts.steps; })});
  const auto add = [&](const char* name, const char* title, const char* unit, Better better, auto get) {
    rows.push_back({std::string("neurons.") + name, title, unit, "", better, shown,
                    where([](const FinishedRun& run) { return run.result.neurons.has_value(); },
                          [get](const FinishedRun& run) { return get(*run.result.neurons); })});
  };
  add("accuracy", "Neurons predicted right", "share", more,
      [](const NeuronTotals& n) { return or_null(n.predictions.accuracy()); });
  add("recall", "Active neurons that were predicted", "share", more,
      [](const NeuronTotals& n) { return or_null(n.predictions.recall()); });
  add("precision", "Predicted neurons that were active", "share", more,
      [](const NeuronTotals& n) { return or_null(n.predictions.precision()); });
  add("swapped_gb", "Neurons swapped into the device", "GB", less,
      [](const NeuronTotals& n) { return n.swapped.value() / 1e9; });
  add("remapped_gb", "Neurons moved between DIMMs", "GB", less,
      [](const NeuronTotals& n) { return n.remapped.value() / 1e9; });
  add("placement_gap", "Gap of the neurons' placement", "share", less,
      [](const NeuronTotals& n) { return n.gap; });
}

void add_rest(std::vector<MetricRow>& rows) {
  const std::vector<MetricRow> table = {
      {"beyond_context.requests", "Requests beyond the model's context", "", "", less, shown,
       [](const FinishedRun& run) -> Value { return Json(beyond_context(run.plan.scenario).requests); }},
      {"beyond_context.longest", "The longest of them", "tokens", "", neither, shown,
       [](const FinishedRun& run) -> Value {
         const BeyondContext beyond = beyond_context(run.plan.scenario);
         return beyond.requests > 0 ? Json(beyond.longest) : Json(nullptr);
       }},
      {"beyond_context.positions", "The model's context", "tokens", "", neither, shown,
       [](const FinishedRun& run) -> Value { return Json(run.plan.scenario.model.positions); }},
      {"lost_to_training_s", "Time lost to training", "s", "", less, shown,
       where([](const FinishedRun& run) { return run.training != nullptr; },
             [](const FinishedRun& run) { return run.result.lost_to_others.value(); })},
      {"iterations", "Steps", "", "", neither, shown,
       counted([](const RunResult& r) { return r.iterations; })},
      {"simulated_s", "Simulated time", "s", "", neither, shown,
       counted([](const RunResult& r) { return r.end.value(); })},
  };
  rows.insert(rows.end(), table.begin(), table.end());
}

}  // namespace

void add_engine_metrics(std::vector<MetricRow>& rows) {
  add_predictions(rows);
  add_drafts(rows);
  add_experts_and_neurons(rows);
  add_rest(rows);
}

}  // namespace weir
