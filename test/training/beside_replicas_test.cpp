// Laws of training jobs beside replicas: with nothing in common each is what it is alone; with links or a
// memory in common bytes are conserved, neither is faster than alone, and nothing carries more than it can.
#include <catch2/catch.hpp>
#include <map>

#include "sim/app/child_process.h"
#include "sim/app/play.h"

using namespace weir;

namespace {

struct Ended {                          // what a child tells
  std::vector<double> requests, steps;  // seconds: finished, by request; ended, by step of the first job
  double lost_by_steps = 0;             // of replicas
  double measured_from = 0;             // what links carry is counted from then on
  std::map<std::string, std::pair<double, double>> links;  // carried bytes, and what they could have
};

std::string play_in_child(const Json& scenario) {
  const Plan plan = read_plan(scenario, "test.json");
  const Played played = play(plan, {});
  Json told = {{"requests", Json::array()}, {"steps", Json::array()}, {"links", Json::object()}};
  for (const RequestRecord& record : played.served->requests)
    told["requests"].push_back(record.finished.value());
  if (!played.trained.empty())
    for (const Seconds end : played.trained[0].run.ends) told["steps"].push_back(end.value());
  told["start"] = played.served->start.value();
  told["lost"] = played.served->lost_to_others.value();
  for (const LinkUsage& link : played.served->links)
    told["links"][link.name] = {link.carried.value(), (link.bandwidth * played.served->end).value()};
  return told.dump();
}

Ended played(const Json& scenario) {
  Ended ended;
  in_children(
      1, 1, [&](std::size_t) { return play_in_child(scenario); },
      [&](std::size_t, ChildResult child) {
        INFO(scenario.dump());
        REQUIRE(child.error == "");
        const Json told = parse_json(child.output, "a child");
        ended.requests = told["requests"].get<std::vector<double>>();
        ended.steps = told["steps"].get<std::vector<double>>();
        ended.lost_by_steps = told["lost"];
        ended.measured_from = told["start"];
        for (const auto& [name, link] : told["links"].items()) ended.links[name] = {link[0], link[1]};
        return true;
      });
  return ended;
}

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

Json without_job(Json scenario) {
  scenario.erase("training");
  return scenario;
}

double furthest(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

std::vector<double> alone(const Json& scenario) {
  std::vector<double> ends;
  const Plan plan = read_plan(scenario, "test.json");
  const std::vector<TrainingResult> trained = train(plan);
  for (const Seconds end : trained.at(0).run.ends) ends.push_back(end.value());
  return ends;
}

double sum(const std::vector<double>& values) {
  double all = 0;
  for (const double value : values) all += value;
  return all;
}

constexpr double two_ns = 2e-9;

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
    const Ended both = played(scenario), served = played(without_job(scenario));
    CHECK(furthest(both.requests, served.requests) <= two_ns);
    const std::vector<double> trained = alone(scenario);
    REQUIRE(both.steps.size() == trained.size());
    for (std::size_t i = 0; i < trained.size(); ++i) {
      const double before = i > 0 ? trained[i - 1] : 0, began = i > 0 ? both.steps[i - 1] : 0;
      CHECK(std::abs((both.steps[i] - began) - (trained[i] - before)) <= two_ns);
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
  const Ended both = played(spread), served = played(without_job(spread));
  const std::vector<double> trained = alone(spread);
  REQUIRE(both.steps.size() == trained.size());
  for (std::size_t i = 0; i < trained.size(); ++i) CHECK(both.steps[i] >= trained[i] - two_ns);
  CHECK(sum(both.requests) > sum(served.requests));
  CHECK(both.steps.back() > trained.back() + 1e-3);
  CHECK(both.steps.back() < both.requests.back());
  // Over a link between the nodes: what hand-overs send alone, and the steps' gradients.
  const TrainingJob job = read_plan(spread, "test.json").training.at(0);
  REQUIRE(both.measured_from < both.steps[0]);
  const double steps = 150 - both.measured_from / both.steps[0];  // each sends evenly
  const double gradients = steps * job.all_steps().plan().reduced[0].value();
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
    const Ended both = played(scenario), served = played(without_job(scenario));
    const std::vector<double> trained = alone(scenario);
    REQUIRE(both.steps.size() == trained.size());
    for (std::size_t i = 0; i < trained.size(); ++i)
      CHECK(both.steps[i] >= trained[i] - two_ns * static_cast<double>(i + 1));
    CHECK(sum(both.requests) > sum(served.requests));
    CHECK(both.lost_by_steps > 0.1);
    CHECK(served.lost_by_steps == 0);
    lost_by_jobs += both.steps.back() - trained.back();
    const auto& [carried, capacity] = both.links.at("node0.memory");
    CHECK(carried <= capacity);
  }
  CHECK(lost_by_jobs > 0.1);
}
