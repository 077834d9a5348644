// Laws of training jobs beside replicas, over clusters, services and jobs drawn at random.
#include <catch2/catch.hpp>
#include <random>

#include "test/training/mixed_run.h"

using namespace weir;
using namespace weir::test;

namespace {

class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}
  template <class T>
  T of(std::initializer_list<T> values) {
    return values.begin()[random_() % values.size()];
  }
  double between(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }

 private:
  std::mt19937 random_;
};

Json served_requests(Draw& draw) {
  return {{"requests",
           {{"kind", "lognormal"},
            {"count", 40},
            {"input", {{"mean", draw.between(300, 2500)}, {"std", 400}, {"max", 4000}}},
            {"output", {{"mean", draw.between(20, 80)}, {"std", 30}, {"max", 200}}}}},
          {"arrivals", {{"kind", "poisson"}, {"rate_per_s", draw.between(2, 12)}}}};
}

Json gpus(Draw& draw, int count) {
  return {{"kind", draw.of({"h100_sxm", "a100_sxm_80gb"})}, {"count", count}};
}

Json gpu_job(Draw& draw, int copies) {
  return {{"model", draw.of({"alexnet", "dcgan", "resnet50"})},
          {"batch", draw.of({16, 32, 64})},
          {"steps", draw.of({5, 60, 200})},
          {"data_parallel", copies},
          {"runtime", {{"kind", "gpu_only"}}}};
}

Json cpu_job(Draw& draw) {
  const bool words = draw.of({true, false});
  return {{"model", words ? "word2vec" : "lstm"},
          {"steps", words ? draw.of({500, 20000}) : draw.of({3, 40})},
          {"devices", {"xeon_e5_2630v3"}}};
}

// Rows that fill up a CUDA graph cross links as well, and how many there are hangs on the batches.
Json two_roles(int tensor) {
  const Json engine = {{"cuda_graphs", "every_size"}};
  const Json parallelism = {{"tensor", tensor}};
  return {{{"role", "prefill"}, {"parallelism", parallelism}, {"engine", engine}},
          {{"role", "decode"}, {"parallelism", parallelism}, {"engine", engine}}};
}

// KV caches lie in the host's memory, where its processor attends to them.
Json with_caches_in_host() {
  return parse_json(R"([{"partitioning": {"kind": "gpu_pim"}, "batching": {"kind": "prefill_first"}}])",
                    "replicas");
}

Json a_cluster(Draw& draw, const Json& nodes) {
  return {{"nodes", nodes},
          {"network",
           {{"topology", "star"}, {"link_bandwidth_gb_per_s", draw.between(2, 25)}, {"links_per_node", 1}}}};
}

// Prompts on one node and tokens on the other, a copy of the net on what is left of each.
Json over_one_network(Draw& draw) {
  const int tensor = draw.of({2, 4}), copies = draw.of({1, 2});
  const Json node = {
      {"count", 2}, {"devices", {gpus(draw, tensor + copies)}}, {"interconnect", "nvlink4_switch"}};
  return {{"model", "llama3-8b"},
          {"cluster", a_cluster(draw, Json::array({node}))},
          {"serving", {{"replicas", two_roles(tensor)}}},
          {"workload", served_requests(draw)},
          {"training", {gpu_job(draw, 2 * copies)}}};
}

Json host_node(Draw& draw) {
  return {{"devices",
           {gpus(draw, 1),
            {{"kind", "host_dimm"}, {"memory_channels", draw.of({1, 2, 8})}},
            {{"kind", "xeon_e5_2630v3"}}}},
          {"interconnect", "nvlink4_switch"}};
}

Json over_one_memory(Draw& draw) {
  return {{"model", "llama3-8b"},
          {"cluster", a_cluster(draw, Json::array({host_node(draw)}))},
          {"serving", {{"replicas", with_caches_in_host()}}},
          {"workload", served_requests(draw)},
          {"training", {cpu_job(draw)}}};
}

// The service fills the first node, the job is on the second.
Json apart(Draw& draw) {
  const bool in_host = draw.of({true, false}), on_cpu = draw.of({true, false});
  const int copies = draw.of({1, 2, 4});
  const Json served =
      in_host ? host_node(draw) : Json{{"devices", {gpus(draw, 4)}}, {"interconnect", "nvlink4_switch"}};
  Json trained = {{"devices", {{{"kind", "rtx3090"}, {"count", copies}}}},
                  {"interconnect", "nvlink4_switch"}};
  Json job = gpu_job(draw, copies);
  job["devices"] = {"rtx3090"};
  if (on_cpu) {
    trained["devices"] = {{{"kind", "gtx1080ti"}}, {{"kind", "xeon_e5_2630v3"}}};
    job = cpu_job(draw);
  }
  Json cluster = a_cluster(draw, Json::array({served, trained}));
  if (in_host && on_cpu) cluster["nodes"][0]["devices"].erase(2);
  return {{"model", "llama3-8b"},
          {"cluster", cluster},
          {"serving", {{"replicas", in_host ? with_caches_in_host() : two_roles(2)}}},
          {"workload", served_requests(draw)},
          {"training", {job}}};
}

void check_capacities(const MixedRun& run) {
  for (const auto& [name, link] : run.links) {
    INFO(name);
    CHECK(link.first <= link.second * (1 + 1e-9));
  }
}

// What replicas send does not depend on how long the job lasts, and the job sends as much a step.
void check_bytes(const Json& scenario, const MixedRun& both) {
  Json of_one_step = scenario;
  of_one_step["training"][0]["steps"] = 1;
  const MixedRun one = mixed_run(of_one_step);
  const auto served = [](const MixedRun& run, const std::string& link) {
    const auto found = run.sent_a_step[0].find(link);
    const double sent = found == run.sent_a_step[0].end() ? 0 : found->second;
    return run.links.at(link).first - steps_counted(run, 0) * sent;
  };
  REQUIRE(both.links.size() >= one.links.size());
  for (const auto& [name, link] : one.links) {
    INFO(name);
    CHECK(served(both, name) ==
          Approx(served(one, name)).epsilon(1e-6).margin(1e-6 * both.links.at(name).first));
  }
}

// Schedules have anomalies: a hand-over that ends later may meet a smaller batch. So requests may, all
// together, end a little sooner, and in few mixes. Returns whether they did.
bool check_shared(const Json& scenario) {
  INFO(scenario.dump());
  const MixedRun both = mixed_run(scenario), served = mixed_run(without_jobs(scenario));
  const std::vector<std::vector<double>> trained = steps_alone(scenario);
  REQUIRE(both.steps[0].size() == trained[0].size());
  for (std::size_t i = 0; i < trained[0].size(); ++i)
    CHECK(both.steps[0][i] >= trained[0][i] - two_ns * static_cast<double>(i + 1));
  CHECK(sum(both.requests) > sum(served.requests) * (1 - 1e-3));
  CHECK(both.lost_by_steps >= 0);
  check_capacities(both);
  check_bytes(scenario, both);
  return sum(both.requests) < sum(served.requests) * (1 - 1e-9);
}

}  // namespace

TEST_CASE("random mixes: over one network bytes are conserved, and neither is faster than alone",
          "[engine]") {
  int sooner = 0;
  for (unsigned seed = 0; seed < 16; ++seed) {
    Draw draw(seed);
    sooner += check_shared(over_one_network(draw));
  }
  CHECK(sooner <= 4);
}

TEST_CASE("random mixes: over one memory bytes are conserved, and neither is faster than alone", "[engine]") {
  int sooner = 0;
  for (unsigned seed = 0; seed < 16; ++seed) {
    Draw draw(seed);
    sooner += check_shared(over_one_memory(draw));
  }
  CHECK(sooner <= 4);
}

TEST_CASE("random mixes: with nothing in common both are what they are alone, within 2 ns", "[engine]") {
  for (unsigned seed = 0; seed < 16; ++seed) {
    Draw draw(seed);
    const Json scenario = apart(draw);
    INFO(scenario.dump());
    const MixedRun both = mixed_run(scenario), served = mixed_run(without_jobs(scenario));
    CHECK(furthest(both.requests, served.requests) <= two_ns);
    const std::vector<double> trained = steps_alone(scenario).at(0), &steps = both.steps.at(0);
    REQUIRE(steps.size() == trained.size());
    for (std::size_t i = 0; i < trained.size(); ++i) {
      const double alone = trained[i] - (i > 0 ? trained[i - 1] : 0);
      CHECK(std::abs(steps[i] - (i > 0 ? steps[i - 1] : 0) - alone) <= two_ns);
    }
    CHECK(both.lost_by_steps == 0);
  }
}
