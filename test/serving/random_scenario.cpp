#include "test/serving/random_scenario.h"

#include <catch2/catch.hpp>
#include <random>

namespace weir::test {
namespace {

using Random = std::mt19937;

template <class T>
T pick(Random& random, std::initializer_list<T> from) {
  return *(from.begin() + std::uniform_int_distribution<std::size_t>(0, from.size() - 1)(random));
}

bool cuts_prompts(const std::string& batching) {
  return batching == "chunked_prefill" || batching == "shortest_first" || batching == "priority";
}

// With so many KV blocks, one of these.
Json random_cache(Random& random, std::initializer_list<int> blocks) {
  return {{"blocks", pick(random, blocks)},
          {"admission", pick<std::string>(random, {"chunk", "prompt", "sequence"})},
          {"preemption", pick<std::string>(random, {"recompute", "swap"})},
          {"prefix_caching", pick(random, {true, false})}};
}

Json random_arrivals(Random& random) {
  return pick<Json>(
      random, {Json{{"kind", "poisson"}, {"rate_per_s", 15}}, Json{{"kind", "poisson"}, {"rate_per_s", 200}},
               Json{{"kind", "all_at_once"}}, Json{{"kind", "closed_loop"}, {"concurrency", 7}},
               Json{{"kind", "gamma"}, {"rate_per_s", 30}, {"cv", 3}}});
}

// Dice of its own keep what else a seed stands for. Times are off the grid of milliseconds that gaps of
// sessions lie on: on it a request comes in the instant in which a step ends, and rounding decides which is
// first.
Json random_graphs(unsigned seed) {
  Random random(seed + 1000);
  return {{"cuda_graphs", pick<std::string>(random, {"every_size", "padded", "off"})},
          {"cuda_graph_max_rows", pick(random, {16, 512})},
          {"cuda_graph_prompts", pick(random, {true, false})},
          {"eager_step_us", pick(random, {0., 2000.0173})},
          {"launch_us", pick(random, {0., 5.0371, 20.0371})},
          {"small_kernels_us", pick(random, {0, 5})},
          {"prompt_overhead_us", pick(random, {0, 1000})},
          {"worker_step_overhead_us", pick(random, {0, 500})}};
}

}  // namespace

Json random_scenario(unsigned seed, bool one_stage) {
  Random random(seed);
  Json s = small_scenario();
  s["seed"] = seed;
  Json replica = Json::object();
  const std::string batching = pick<std::string>(
      random, {"static", "orca", "prefill_first", "chunked_prefill", "shortest_first", "priority"});
  replica["batching"] = {{"kind", batching}, {"max_batch_requests", pick(random, {4, 16, 64})}};
  if (batching == "shortest_first")
    replica["batching"]["by"] = pick<std::string>(random, {"prompt", "remaining"});
  if (cuts_prompts(batching)) replica["batching"]["max_batch_tokens"] = pick(random, {64, 512, 2048});
  if (batching == "prefill_first") replica["batching"]["max_batch_tokens"] = 8192;
  replica["kv_cache"] = random_cache(random, {320, 600, 20000});
  replica["parallelism"] = {{"tensor", pick(random, {1, 2})},
                            {"pipeline", one_stage ? 1 : pick(random, {2, 4})}};
  replica["engine"] = {{"kind", pick<std::string>(random, {"vllm_v1", "vllm_v0", "ideal", "trtllm"})}};
  replica["engine"].update(random_graphs(seed));
  s["serving"]["routing"] = {
      {"kind", pick<std::string>(random, {"round_robin", "least_outstanding", "join_shortest_queue"})}};
  const int shape = pick(random, {0, 0, 1, 2});
  if (shape == 1 && one_stage) replica["count"] = 2;
  Json replicas = Json::array({replica});
  if (shape == 2 && one_stage) {
    replicas.push_back(replica);
    replicas[0]["role"] = "prefill";
    replicas[1]["role"] = "decode";
    replicas[0]["kv_cache"]["handover"] = pick<std::string>(random, {"whole", "layerwise"});
  }
  s["serving"]["replicas"] = replicas;
  s["workload"]["arrivals"] = random_arrivals(random);
  if (batching == "priority")
    s["workload"]["requests"] = {
        {"kind", "csv"}, {"file", WEIR_SOURCE_DIR "/scenarios/batching/priority.csv"}, {"count", 60}};
  return s;
}

namespace {

Json random_npu_replica(Random& random, const std::string& device, bool one_stage) {
  const bool channels = device != "npu_only";
  Json replica = {{"device", device}};
  const std::string batching = pick<std::string>(
      random, {"static", "orca", "prefill_first", "chunked_prefill", "shortest_first", "priority",
               "sub_batch_interleaving", "sub_batch_interleaving", "sub_batch_interleaving"});
  replica["batching"] = {{"kind", batching}, {"max_batch_requests", pick(random, {4, 16, 64})}};
  if (cuts_prompts(batching)) replica["batching"]["max_batch_tokens"] = pick(random, {64, 512});
  if (batching == "sub_batch_interleaving")
    replica["batching"]["interleave"] = pick<std::string>(random, {"on", "off", "best"});
  replica["kv_cache"] =
      channels ? random_cache(random, {32 * 24, 32 * 40, 32 * 64}) : random_cache(random, {100, 300, 2000});
  replica["partitioning"]["kind"] =
      channels ? pick<std::string>(random, {"npu_pim", "npu_pim", "npu_units"}) : "npu_units";
  replica["placement"]["kind"] = pick<std::string>(random, {"round_robin", "greedy_min_load"});
  replica["parallelism"] = {{"tensor", pick(random, {1, 2})},
                            {"pipeline", one_stage ? 1 : pick(random, {2, 4})}};
  replica["engine"] = {{"kind", pick<std::string>(random, {"vllm_v1", "ideal"})}};
  return replica;
}

// GPUs draw between idle and their limit; of other devices the limit is a figure of the datasheet alone.
void check_watts(const Plan& plan, const Outcome& o) {
  Watts idle, limit;
  for (const ReplicaPlan& replica : plan.replicas) {
    const PowerSpec& power = replica.rank.on->spec().power;
    if (!power.clocked) return;
    for (const ReplicaPlace& place : replica.places)
      for (const auto& stage : place) {
        idle += static_cast<double>(stage.size()) * power.idle;
        limit += static_cast<double>(stage.size()) * power.tdp;
      }
  }
  double began = o.end;  // a run is counted from the first arrival
  for (const RequestRecord& record : o.requests) began = std::min(began, record.request.arrival.value());
  CHECK(o.energy <= limit.value() * o.end * (1 + 1e-9));
  if (plan.scenario.workload.warmup_requests == 0)
    CHECK(o.energy >= idle.value() * (o.end - began) * (1 - 1e-9));
}

}  // namespace

Json random_npu_scenario(unsigned seed, bool one_stage) {
  Random random(seed);
  Json s = small_scenario();
  s["seed"] = seed;
  s["model"] = "gpt3-7b";
  s["precision"] = {{"weights", "fp16"}, {"activations", "fp16"}, {"kv_cache", "fp16"}};
  Json node = {{"interconnect", {{"bandwidth_gb_per_s", 50}, {"latency_us", 1}}}};
  for (const char* kind : {"neupims_npu", "npu_pim_blocked", "npu_only"})
    node["devices"].push_back({{"kind", kind}, {"count", 16}});
  s["cluster"]["nodes"] = Json::array({node});
  const auto replica = [&](std::initializer_list<std::string> devices) {
    return random_npu_replica(random, pick(random, devices), one_stage);
  };
  Json& replicas = s["serving"]["replicas"];
  if (pick(random, {true, false})) {
    replicas = Json::array({replica({"neupims_npu", "npu_pim_blocked", "npu_only"})});
  } else {
    replicas =
        Json::array({replica({"npu_only", "neupims_npu"}), replica({"neupims_npu", "npu_pim_blocked"})});
    replicas[0]["role"] = "prefill";
    replicas[1]["role"] = "decode";
    replicas[0]["kv_cache"]["handover"] = pick<std::string>(random, {"whole", "layerwise"});
  }
  s["workload"]["requests"]["count"] = 80;
  s["workload"]["arrivals"] = random_arrivals(random);
  for (Json& one : replicas) one["partitioning"]["fused_all_reduce_chunks"] = pick(random, {1, 1, 3});
  return s;
}

void check_laws(const Json& scenario, const Outcome& o) {
  INFO(scenario.dump());
  REQUIRE(o.error == "");
  CHECK(o.requests.size() == scenario["workload"]["requests"]["count"].get<std::size_t>());
  double tokens = 0, gaps = 0;
  for (const RequestRecord& r : o.requests) {
    REQUIRE(r.status != RequestStatus::unfinished);
    if (r.status == RequestStatus::rejected) {
      CHECK(r.first_token < Seconds(0));
      continue;
    }
    CHECK(r.scheduled >= r.request.arrival);  // no effect before its cause
    CHECK(r.first_token > r.scheduled);
    CHECK((r.request.output_tokens == 1 ? r.finished == r.first_token : r.finished > r.first_token));
    tokens += static_cast<double>(r.request.output_tokens);
    gaps += static_cast<double>(r.request.output_tokens - 1);
  }
  if (o.decodes > 0)
    CHECK(o.gap_count <= gaps * (1 + 1e-9));  // of the tokens of one decode there is one gap
  else
    CHECK(o.gap_count == Approx(gaps));  // every token came out once
  CHECK(o.sampled_tokens == Approx(tokens));
  CHECK(o.peak_blocks <= o.total_blocks);
  CHECK(o.energy >= 0);  // nothing, where every request was rejected
  CHECK((o.energy > 0) == (tokens > 0));
  check_watts(read_plan(scenario, "test.json"), o);
}

void check_same(const Outcome& fast, const Outcome& slow) {
  REQUIRE(fast.error == "");
  REQUIRE(fast.requests.size() == slow.requests.size());
  for (std::size_t i = 0; i < fast.requests.size(); ++i) {
    const RequestRecord &a = fast.requests[i], &b = slow.requests[i];
    INFO("request " << i);
    REQUIRE(a.scheduled.value() == Approx(b.scheduled.value()).epsilon(1e-9));
    REQUIRE(a.first_token.value() == Approx(b.first_token.value()).epsilon(1e-9));
    REQUIRE(a.finished.value() == Approx(b.finished.value()).epsilon(1e-9));
    REQUIRE(a.replica == b.replica);
    REQUIRE(a.preemptions == b.preemptions);
  }
  CHECK(fast.iterations == slow.iterations);
  CHECK(fast.energy == Approx(slow.energy).epsilon(1e-9));
  CHECK(fast.gap_mean == Approx(slow.gap_mean).epsilon(1e-9));
  CHECK(fast.gap_p99 == Approx(slow.gap_p99).epsilon(2e-3));
  CHECK(fast.busy == Approx(slow.busy).epsilon(1e-9));
}

void check_same_bits(const Json& scenario) {
  const Outcome a = run(scenario), b = run(scenario);
  REQUIRE(a.requests.size() == b.requests.size());
  for (std::size_t i = 0; i < a.requests.size(); ++i) {
    REQUIRE(a.requests[i].first_token.value() == b.requests[i].first_token.value());
    REQUIRE(a.requests[i].finished.value() == b.requests[i].finished.value());
  }
  CHECK(a.energy == b.energy);
}

}  // namespace weir::test
