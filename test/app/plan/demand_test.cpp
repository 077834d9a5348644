// A workload's demand, by hand, and the most that a replica can do, against trying every batch.
#include "sim/app/plan/demand.h"

#include <catch2/catch.hpp>

#include "sim/step/step_model.h"
#include "test/models/llm/decode_shape.h"
#include "test/serving/run_in_child.h"

using namespace weir;
using test::equal_decodes;

namespace {

Workload of(std::vector<Request> requests) {
  Workload workload;
  workload.requests = std::move(requests);
  return workload;
}

ReplicaPlan replica_cut(const Json& parallelism, const std::string& model = "llama3.1-8b",
                        std::int64_t drafts = 0) {
  Json s = test::small_scenario();
  s["model"] = model;
  s["cluster"]["nodes"] = {
      {{"devices", {{{"kind", "h100_sxm"}, {"count", 4}}}}, {"interconnect", "nvlink4_switch"}}};
  s["serving"]["replicas"] = {
      {{"parallelism", parallelism},
       {"batching", {{"kind", "chunked_prefill"}, {"max_batch_tokens", 512}, {"max_batch_requests", 60}}}}};
  if (drafts > 0)
    s["serving"]["replicas"][0]["speculative"] = {
        {"kind", "eagle"}, {"tokens", drafts}, {"acceptance_length", 1.5}};
  return read_plan(s, "test.json").replicas[0];
}

Demand demand(double context, std::int64_t long_prompt) {
  return {.requests = 100,
          .input_tokens = 100. * static_cast<double>(long_prompt),
          .output_tokens = 1e4,
          .context = context,
          .long_prompt = long_prompt,
          .span_s = {}};
}

// Seconds of each stage, with so many requests on every attention-data rank.
std::vector<double> stage_times(const ReplicaPlan& replica, const BatchShape& each) {
  const std::vector<BatchShape> ranks(static_cast<std::size_t>(replica.spec.parallelism.attention_data),
                                      each);
  std::vector<double> times;
  for (const StageGraph& stage : replica.stages) {
    const StepModel model(replica.rank, stage, false);
    times.push_back(model.step({ranks.size() > 1 ? in_lockstep(ranks) : each}).time.value());
  }
  return times;
}

double sum(const std::vector<double>& times) {
  return std::accumulate(times.begin(), times.end(), 0.0);
}

}  // namespace

TEST_CASE("demand: of four requests, by hand") {
  std::vector<Request> requests = {{Seconds(2), 100, 10}, {Seconds(5), 400, 20}, {Seconds(9), 300, 30}};
  Request warm_up{Seconds(0), 9000, 9000};
  warm_up.measured = false;
  requests.push_back(warm_up);
  const Demand d = demand_of(of(requests), 50);
  CHECK(d.requests == 3);
  CHECK(d.longest == 420);
  CHECK(d.input_tokens == 800);
  CHECK(d.output_tokens == 60);
  CHECK(d.mean_output() == 20);
  CHECK(d.span_s == 7);
  // (10 x (100 + 5) + 20 x (400 + 10) + 30 x (300 + 15)) / 60
  CHECK(d.context == Approx(18700. / 60));
  CHECK_FALSE(d.shares_prefixes);
}

TEST_CASE("demand: as many requests as may be late have the long prompt, or a longer one") {
  for (const auto& [requests, percentile, late] : {std::tuple(3, 50, 1),
                                                   {100, 99, 1},
                                                   {99, 99, 0},
                                                   {200, 99, 2},
                                                   {10, 90, 1},
                                                   {9, 90, 0},
                                                   {20, 95, 1},
                                                   {7, 50, 3}}) {
    std::vector<Request> all;
    for (int i = 0; i < requests; ++i) all.push_back({Seconds(i), (i * 37) % requests + 1, 5});
    INFO(requests << " requests, " << percentile << " %");
    CHECK(SloTarget{{}, {}, percentile}.may_be_late(requests) == late);
    CHECK(demand_of(of(all), percentile).long_prompt == requests - late);
  }
}

TEST_CASE("demand: arrivals that wait for others have no span, and one request's is none at all") {
  Workload workload = of({{Seconds(2), 100, 10}, {Seconds(5), 100, 10}});
  CHECK(demand_of(workload, 99).span_s == 3);
  workload.closed_loop.emplace();
  CHECK_FALSE(demand_of(workload, 99).span_s);
  CHECK(demand_of(of({}), 99).requests == 0);
}

TEST_CASE(
    "bounds: no batch within the SLO decodes faster, and the first token is the prompt's chunks in turn") {
  for (const Json& parallelism :
       {Json{{"tensor", 1}}, Json{{"tensor", 2}, {"pipeline", 2}}, Json{{"pipeline", 4}}}) {
    const ReplicaPlan replica = replica_cut(parallelism);
    for (const double tpot_ms : {9., 12., 1e6}) {
      INFO(parallelism.dump() << ", " << tpot_ms << " ms");
      const Demand d = demand(900, 1300);
      const ReplicaBounds bounds = bounds_of(replica, d, {{}, tpot_ms}).value();
      double best = 0;
      const auto stages = static_cast<std::int64_t>(replica.stages.size());
      for (std::int64_t each = 1; each <= 60 / stages; ++each) {
        const std::vector<double> times = stage_times(replica, equal_decodes(each, 900));
        if (sum(times) <= tpot_ms / 1e3)
          best = std::max(best, static_cast<double>(each) / std::ranges::max(times));
      }
      // The last batches are searched to a thirty-second.
      CHECK(bounds.decode_tokens_per_s <= best * (1 + 1e-12));
      CHECK(bounds.decode_tokens_per_s >= best * 31 / 32);
      CHECK(bounds.token_s == Approx(sum(stage_times(replica, equal_decodes(1, 1)))));
      double first = 0;
      for (const auto& [tokens, before] : {std::pair(512, 0), {512, 512}, {276, 1024}}) {
        const PrefillChunk chunk{tokens, before};
        BatchShape shape;
        shape.prefill = {&chunk, 1};
        shape.prefill_tokens = tokens;
        shape.sequences = before == 1024;
        first += sum(stage_times(replica, shape));
      }
      CHECK(bounds.first_token_s == Approx(first));
    }
  }
}

TEST_CASE("bounds: with drafts a step may give all of them, and a token is its share of the step") {
  constexpr std::int64_t rows = 4;
  for (const Json& parallelism : {Json{{"tensor", 1}}, Json{{"tensor", 2}}}) {
    const ReplicaPlan replica = replica_cut(parallelism, "llama3.1-8b", rows - 1);
    for (const double tpot_ms : {3., 1e6}) {
      INFO(parallelism.dump() << ", " << tpot_ms << " ms");
      const ReplicaBounds bounds = bounds_of(replica, demand(900, 1300), {{}, tpot_ms}).value();
      CHECK(bounds.token_s == Approx(sum(stage_times(replica, equal_decodes(1, rows, rows))) / rows));
      double best = 0;
      for (std::int64_t each = 1; each <= 60; ++each) {
        const double step = sum(stage_times(replica, equal_decodes(each, 900, rows)));
        if (step <= rows * tpot_ms / 1e3) best = std::max(best, static_cast<double>(rows * each) / step);
      }
      REQUIRE(best > 0);
      CHECK(bounds.decode_tokens_per_s <= best * (1 + 1e-12));
      CHECK(bounds.decode_tokens_per_s >= best * 31 / 32);
    }
  }
}

TEST_CASE("bounds: the KV cache bounds a batch, and data-parallel ranks decode beside each other") {
  ReplicaPlan replica = replica_cut({{"tensor", 1}});
  replica.kv_blocks = 8000 / replica.spec.kv_cache.block_tokens;  // eight contexts of a thousand tokens
  const auto rate = [&](const ReplicaPlan& of, double context) {
    return bounds_of(of, demand(context, 100), {}).value().decode_tokens_per_s;
  };
  CHECK(rate(replica, 1000) == Approx(8 / sum(stage_times(replica, equal_decodes(8, 1000)))));
  const ReplicaPlan ranks = replica_cut({{"attention_data", 4}, {"expert", 4}}, "qwen3-30b-a3b");
  CHECK(rate(ranks, 1000) ==
        Approx(4 * 60 / sum(stage_times(ranks, equal_decodes(60, 1000)))).epsilon(1. / 30));
}

// Two micro-batches of a pipeline share seats and blocks: eight contexts of a thousand tokens are four each.
TEST_CASE("bounds: blocks are of all micro-batches of a pipeline, and prompts of every data-parallel rank") {
  ReplicaPlan stages = replica_cut({{"pipeline", 2}});
  stages.kv_blocks = 8000 / stages.spec.kv_cache.block_tokens;
  CHECK(bounds_of(stages, demand(1000, 100), {}).value().decode_tokens_per_s ==
        Approx(4 / std::ranges::max(stage_times(stages, equal_decodes(4, 1000)))));
  const ReplicaPlan ranks =
      replica_cut({{"attention_data", 2}, {"expert", 2}, {"pipeline", 2}}, "qwen3-30b-a3b");
  const PrefillChunk chunk{512, 0};
  BatchShape shape;
  shape.prefill = {&chunk, 1};
  shape.prefill_tokens = 512;
  shape.sequences = 1;
  CHECK(bounds_of(ranks, demand(1000, 100), {}).value().prompt_tokens_per_s ==
        Approx(2 * 512 / std::ranges::max(stage_times(ranks, shape))));
}

TEST_CASE("bounds: prompts that begin alike bound neither the first token nor, by their blocks, a batch") {
  ReplicaPlan replica = replica_cut({{"tensor", 1}});
  replica.kv_blocks = 8000 / replica.spec.kv_cache.block_tokens;
  Demand alike = demand(1000, 100);
  alike.shares_prefixes = true;
  const ReplicaBounds bounds = bounds_of(replica, alike, {}).value();
  CHECK(bounds.first_token_s == 0);
  CHECK(bounds.decode_tokens_per_s ==
        Approx(60 / sum(stage_times(replica, equal_decodes(60, 1000)))).epsilon(1. / 31));
  Demand begun = demand(1000, 100);
  begun.in_generation = true;
  CHECK(bounds_of(replica, begun, {}).value().first_token_s == 0);
}
