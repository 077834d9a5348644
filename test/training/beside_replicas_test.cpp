// Laws of training jobs beside replicas: with nothing in common each is what it is alone; with links or a
// memory in common bytes are conserved, neither is faster than alone, and nothing carries more than it can.
#include <catch2/catch.hpp>

#include "test/training/mixed_run.h"

using namespace weir;
using namespace weir::test;

namespace {

// Two nodes of four H100, a CPU and DIMMs that hold KV caches.
Json chat(const Json& replicas, double requests_per_s) {
  Json scenario = parse_json(R"({
    "model": "llama3-8b",
    "cluster": {
      "nodes": [{"count": 2, "interconnect": "nvlink4_switch",
                 "devices": [{"kind": "h100_sxm", "count": 4}, {"kind": "host_dimm"}]}],
      "network": {"topology": "star", "link_bandwidth_gb_per_s": 5, "links_per_node": 1}},
    "workload": {"requests": {"kind": "lognormal", "count": 60, "input": {"mean": 900, "std": 500, "max": 3000},
                              "output": {"mean": 60, "std": 30, "max": 200}},
                 "arrivals": {"kind": "poisson", "rate_per_s": 1}}
  })",
                             "chat");
  scenario["serving"]["replicas"] = replicas;
  scenario["workload"]["arrivals"]["rate_per_s"] = requests_per_s;
  return scenario;
}

// Prompts on the first node, decodes on the second, whose three other devices are free.
Json over_the_network() {
  return chat(parse_json(R"([{"role": "prefill", "count": 1, "parallelism": {"tensor": 4}},
                             {"role": "decode", "count": 1}])",
                         "replicas"),
              6);
}

// KV caches lie in the host's memory, over PCIe.
Json in_host_memory() {
  return chat(parse_json(R"([{"partitioning": {"kind": "gpu_pim"}, "batching": {"kind": "prefill_first"}}])",
                         "replicas"),
              2);
}

Json with_job(Json scenario, const char* job) {
  scenario["training"] = Json::array({parse_json(job, "a job")});
  return scenario;
}

}  // namespace

TEST_CASE("beside replicas: with nothing in common both are what they are alone, within 2 ns", "[engine]") {
  // Replicas inside the first node, with hand-overs over its NVLink; the job in the second.
  Json inside = over_the_network();
  inside["serving"]["replicas"] = parse_json(
      R"([{"role": "prefill", "parallelism": {"tensor": 2}}, {"role": "decode", "parallelism": {"tensor": 2}}])",
      "replicas");
  for (const char* job :
       {R"({"model": "alexnet", "steps": 300, "data_parallel": 4, "runtime": {"kind": "gpu_only"}})",
        R"({"model": "dcgan", "steps": 2000, "runtime": {"kind": "gpu_only"}})"}) {
    CAPTURE(job);
    const Json scenario = with_job(inside, job);
    const MixedRun both = mixed_run(scenario), served = mixed_run(without_jobs(scenario));
    CHECK(furthest(both.requests, served.requests) <= two_ns);
    const std::vector<double> trained = steps_alone(scenario).at(0), steps = both.steps.at(0);
    REQUIRE(steps.size() == trained.size());
    for (std::size_t i = 0; i < trained.size(); ++i) {
      const double before = i > 0 ? trained[i - 1] : 0, began = i > 0 ? steps[i - 1] : 0;
      CHECK(std::abs((steps[i] - began) - (trained[i] - before)) <= two_ns);
    }
    CHECK(both.lost_by_steps == 0);
  }
}

TEST_CASE("beside replicas: a network in common slows both, and carries the bytes of both", "[engine]") {
  const Json scenario = with_job(
      over_the_network(),
      R"({"model": "alexnet", "steps": 150, "data_parallel": 2, "batch": 64, "runtime": {"kind": "gpu_only"}})");
  Json spread = scenario;  // a copy in each node
  spread["serving"]["replicas"][0]["parallelism"]["tensor"] = 2;
  spread["serving"]["replicas"][1]["parallelism"]["tensor"] = 2;
  spread["cluster"]["nodes"][0]["devices"][0]["count"] = 3;
  const MixedRun both = mixed_run(spread), served = mixed_run(without_jobs(spread));
  const std::vector<double> trained = steps_alone(spread).at(0), steps = both.steps.at(0);
  REQUIRE(steps.size() == trained.size());
  for (std::size_t i = 0; i < trained.size(); ++i) CHECK(steps[i] >= trained[i] - two_ns);
  CHECK(sum(both.requests) > sum(served.requests));
  CHECK(steps.back() > trained.back() + 1e-3);
  CHECK(steps.back() < both.requests.back());
  // Over a link between the nodes: what hand-overs send alone, and the steps' gradients.
  const TrainingJob job = read_plan(spread, "test.json").training.at(0);
  const double gradients = steps_counted(both, 0) * job.all_steps().plan().reduced[0].value();
  int compared = 0;
  for (const auto& [name, link] : both.links) {
    CAPTURE(name);
    CHECK(link.first <= link.second * (1 + 1e-9));
    if (name.find("network") == std::string::npos) continue;
    const auto found = served.links.find(name);
    const double handed_over = found == served.links.end() ? 0 : found->second.first;
    CHECK(link.first == Approx(handed_over + gradients).epsilon(1e-6));
    ++compared;
  }
  CHECK(compared >= 2);
}

// Decodes of a chat draw all that two channels give, and a CPU that trains an LSTM or looks up words most of
// it as well.
TEST_CASE("beside replicas: a host's memory in common slows both", "[engine]") {
  double lost_by_jobs = 0;
  for (const char* job : {R"({"model": "lstm", "steps": 100, "devices": ["xeon_e5_2630v3"]})",
                          R"({"model": "word2vec", "steps": 60000, "devices": ["xeon_e5_2630v3"]})"}) {
    CAPTURE(job);
    Json scenario = with_job(in_host_memory(), job);
    scenario["workload"]["requests"]["input"]["mean"] = 2000;
    scenario["cluster"]["nodes"][0]["count"] = 1;
    scenario["cluster"]["nodes"][0]["devices"] =
        parse_json(R"([{"kind": "h100_sxm"}, {"kind": "host_dimm", "memory_channels": 2},
                       {"kind": "xeon_e5_2630v3"}])",
                   "devices");
    const MixedRun both = mixed_run(scenario), served = mixed_run(without_jobs(scenario));
    const std::vector<double> trained = steps_alone(scenario).at(0), steps = both.steps.at(0);
    REQUIRE(steps.size() == trained.size());
    for (std::size_t i = 0; i < trained.size(); ++i)
      CHECK(steps[i] >= trained[i] - two_ns * static_cast<double>(i + 1));
    CHECK(sum(both.requests) > sum(served.requests));
    CHECK(both.lost_by_steps > 0.1);
    CHECK(served.lost_by_steps == 0);
    lost_by_jobs += steps.back() - trained.back();
    const auto& [carried, capacity] = both.links.at("node0.memory");
    CHECK(carried <= capacity);
  }
  CHECK(lost_by_jobs > 0.1);
}
