#include "sim/app/plan/demand.h"

#include <algorithm>
#include <cmath>

#include "sim/step/step_model.h"

namespace weir {
namespace {

std::int64_t late_ones(std::int64_t requests, std::int64_t percentile) {
  return requests * (100 - percentile) / 100;
}

// Times of steps of one replica, whose attention-data ranks share a batch evenly.
class ReplicaSteps {
 public:
  explicit ReplicaSteps(const ReplicaPlan& replica)
      : ranks_(static_cast<std::size_t>(replica.spec.parallelism.attention_data)),
        rows_(1 + replica.spec.drafts()) {
    for (const StageGraph& stage : replica.stages) models_.emplace_back(replica.rank, stage, false);
  }

  // A step takes its stages one after the other; the slowest sets the rate of the pipeline.
  struct Times {
    double all_s = 0, slowest_s = 0;
  };

  // `each` requests on every attention-data rank decode.
  Times decode(std::int64_t each, double context) const {
    BatchShape shape;
    shape.decodes = shape.sequences = each;
    shape.decode_rows = rows_;
    shape.decode_context_max = std::max<std::int64_t>(rows_, std::llround(context));
    shape.decode_context_sum = each * shape.decode_context_max;
    return of(shape);
  }

  // So many tokens of a prompt on every rank, behind those that are computed already.
  Times prompt(std::int64_t tokens, std::int64_t computed, bool ends) const {
    const PrefillChunk chunk{tokens, computed};
    BatchShape shape;
    shape.prefill = {&chunk, 1};
    shape.prefill_tokens = tokens;
    shape.sequences = ends;
    return of(shape);
  }

  double ranks() const { return static_cast<double>(ranks_); }
  double stages() const { return static_cast<double>(models_.size()); }
  double tokens_a_decode() const { return static_cast<double>(rows_); }

 private:
  Times of(const BatchShape& one) const {
    const std::vector<BatchShape> shapes(ranks_, one);
    const BatchShape batch = ranks_ > 1 ? in_lockstep(shapes) : one;
    Times times;
    for (const StepModel& model : models_) {
      const double s = model.step({batch}).time.value();
      times.all_s += s;
      times.slowest_s = std::max(times.slowest_s, s);
    }
    return times;
  }

  std::size_t ranks_;
  std::int64_t rows_;
  std::vector<StepModel> models_;
};

// The prompt alone, chunk after chunk.
double first_token_of(const ReplicaSteps& steps, std::int64_t prompt, std::int64_t chunk) {
  double s = 0;
  for (std::int64_t done = 0; done < prompt;) {
    const std::int64_t tokens = std::min(chunk, prompt - done);
    s += steps.prompt(tokens, done, done + tokens == prompt).all_s;
    done += tokens;
  }
  return s;
}

// The largest batch within the SLO and the KV cache is the best: weights are read once for all of it.
double decode_rate(const ReplicaSteps& steps, double context, std::int64_t most, double longest_step_s) {
  double best = 0;
  const auto met = [&](std::int64_t each) {
    const ReplicaSteps::Times t = steps.decode(each, context);
    if (t.all_s > longest_step_s) return false;
    best = std::max(best, static_cast<double>(each) / t.slowest_s);
    return true;
  };
  std::int64_t good = 0, bad = most + 1;
  for (std::int64_t each = 1; each < bad; each = std::min(2 * each, std::max(each + 1, most)))
    met(each) ? good = each : bad = each;
  while (bad - good > std::max<std::int64_t>(1, good / 32)) {
    const std::int64_t middle = (good + bad) / 2;
    (met(middle) ? good : bad) = middle;
  }
  return best * steps.ranks() * steps.tokens_a_decode();
}

}  // namespace

Demand demand_of(const Workload& workload, std::int64_t percentile) {
  Demand d;
  std::vector<std::int64_t> prompts;
  double contexts = 0, first_s = 0, last_s = 0;
  for (const Request& request : workload.requests) {
    if (!request.measured) continue;
    const auto in = static_cast<double>(request.input_tokens),
               out = static_cast<double>(request.output_tokens);
    first_s = d.requests == 0 ? request.arrival.value() : std::min(first_s, request.arrival.value());
    last_s = std::max(last_s, request.arrival.value());
    ++d.requests;
    d.input_tokens += in;
    d.output_tokens += out;
    contexts += out * (in + out / 2);
    d.longest = std::max(d.longest, request.input_tokens + request.output_tokens);
    prompts.push_back(request.input_tokens);
  }
  if (d.requests == 0) return d;
  d.context = contexts / d.output_tokens;
  const std::int64_t late = late_ones(d.requests, percentile);
  std::ranges::nth_element(prompts, prompts.begin() + late, std::ranges::greater());
  d.long_prompt = prompts[static_cast<std::size_t>(late)];
  if (!workload.closed_loop && !workload.sessions) d.span_s = last_s - first_s;
  d.shares_prefixes = workload.contents.shared();
  d.in_generation = workload.in_generation;
  d.sessions = workload.sessions != nullptr;
  return d;
}

std::optional<ReplicaBounds> bounds_of(const ReplicaPlan& replica, const Demand& demand,
                                       const SloTarget& slo) {
  const ReplicaSpec& spec = replica.spec;
  if (replica.neurons || replica.kv_pools.several_channels()) return {};
  const ReplicaSteps steps(replica);
  ReplicaBounds bounds;
  const std::int64_t chunk = std::max<std::int64_t>(1, spec.batching->max_batch_tokens());
  if (!demand.shares_prefixes && !demand.in_generation)
    bounds.first_token_s = first_token_of(steps, demand.long_prompt, chunk);
  bounds.prompt_tokens_per_s =
      static_cast<double>(chunk) * steps.ranks() / steps.prompt(chunk, 0, true).slowest_s;
  bounds.token_s = steps.decode(1, 1).all_s / steps.tokens_a_decode();
  // Seats and KV blocks are of all micro-batches of a pipeline together.
  const double seats = static_cast<double>(spec.batching->max_batch_requests());
  const double tokens = static_cast<double>(replica.kv_blocks * spec.kv_cache.block_tokens);
  const double fit = demand.shares_prefixes ? seats : std::min(seats, tokens / demand.context);
  const auto most = static_cast<std::int64_t>(std::max(1.0, fit / steps.stages()));
  const double longest_s = slo.tpot_ms ? *slo.tpot_ms / 1e3 * steps.tokens_a_decode() : 1e9;
  bounds.decode_tokens_per_s = decode_rate(steps, demand.context, most, longest_s);
  return bounds;
}

}  // namespace weir
