// Copies of a training job over nodes, what they cost, and the room that a step takes, by hand.
#include <catch2/catch.hpp>

#include "sim/core/errors.h"
#include "sim/plan/plan.h"
#include "test/serving/run_in_child.h"

using namespace weir;

namespace {

// Two nodes of a CPU and two GPUs each; a copy has one of either, so that a node has room for one.
Json a_copy_a_node() {
  return parse_json(R"({
    "kind": "training",
    "cluster": {"nodes": [{"count": 2, "interconnect": "pcie4_x16", "devices": [
                  {"kind": "xeon_e5_2630v3", "price_per_hour": 0.5},
                  {"kind": "a40", "count": 2, "price_per_hour": 1.25}]}],
                "network": {"link_bandwidth_gb_per_s": 25, "link_latency_us": 3, "links_per_node": 1}},
    "training": [{"model": "alexnet", "steps": 4, "data_parallel": 2, "devices": ["xeon_e5_2630v3", "a40"],
                  "runtime": {"kind": "gpu_only"}}]
  })",
                    "a copy a node");
}

TrainingJob copies_job(const Json& document) {
  return read_plan(document, "t.json").training.at(0);
}

}  // namespace

// One GPU of the node's two sends, and has its one link alone.
TEST_CASE("training copies: a device that sends alone has the link that it shares with others") {
  const TrainingJob job = copies_job(a_copy_a_node());
  REQUIRE(job.levels);
  CHECK(job.levels->nodes == 2);
  CHECK(job.levels->per_node == 1);
  CHECK(job.levels->network.bandwidth.value() == Approx(25e9));
  CHECK(job.levels->network.latency.value() == Approx(2 * (3e-6 + 0.5e-6)));
  REQUIRE(job.places.size() == 2);
  for (int copy = 0; copy < 2; ++copy) {
    const std::vector<DevicePlace>& places = job.places[static_cast<std::size_t>(copy)];
    REQUIRE(places.size() == 2);
    CHECK((places[0].node == copy && places[0].slot == 1));  // the GPU, which sends
    CHECK((places[1].node == copy && places[1].slot == 0));
  }
}

TEST_CASE("training copies: every copy's devices are paid for") {
  CHECK(copies_job(a_copy_a_node()).dollars_per_hour == Approx(2 * (0.5 + 1.25)));
  Json one = a_copy_a_node();
  one["training"][0]["data_parallel"] = 1;
  CHECK(copies_job(one).dollars_per_hour == Approx(1.75));
}

TEST_CASE("training copies: fewer steps have as large a share of those of the net beside, rounded up") {
  const Json document = parse_json(R"({
    "kind": "training", "assumptions": "paper",
    "cluster": {"nodes": [{"devices": [{"kind": "xeon_e5_2630v3"}, {"kind": "hetero_pim"}]}]},
    "training": [{"model": "alexnet", "steps": 4, "runtime": {"kind": "hetero_pim"},
                  "beside": {"model": "lstm", "steps": 7, "runtime": {"kind": "spare_cores"}}}]
  })",
                                   "beside");
  const TrainingJob job = copies_job(document);
  for (const auto& [steps, beside] : {std::pair{2, 4}, {3, 6}, {4, 7}}) {  // 3.5, 5.25 and 7
    CAPTURE(steps);
    CHECK(job.first_steps(steps).play().beside_ends.size() == static_cast<std::size_t>(beside));
  }
}

TEST_CASE("training copies: a step may hold all that its memory has, and not a byte more") {
  Json document = parse_json(R"({
    "kind": "training",
    "cluster": {"nodes": [{"devices": [{"kind": "a40"}]}]},
    "training": [{"model": "alexnet", "runtime": {"kind": "gpu_only"}}]
  })",
                             "one GPU");
  const double held = peak_bytes(copies_job(document).graph).value();
  const auto problems = [&](double bytes) {
    Json& device = document["cluster"]["nodes"][0]["devices"][0];
    device["memory_capacity_gib"] = device["usable_memory_gib"] = bytes / 1073741824;
    return test::problems_of_scenario(document);
  };
  CHECK(problems(held).empty());
  REQUIRE(problems(held - 1).size() == 1);
  CHECK(problems(held - 1)[0].pointer == "/training/0/batch");
}
