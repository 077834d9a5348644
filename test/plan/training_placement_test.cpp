// Training scenarios that cannot be are told whole, each mistake at its pointer; what is given in vain is
// noted.
#include <catch2/catch.hpp>

#include "sim/plan/plan.h"

using namespace weir;

namespace {

// A CPU, a stack that computes and a GPU, a job on the first two and a job on the last; nothing in vain.
Json two_jobs() {
  return parse_json(R"({
    "kind": "training", "assumptions": "paper",
    "cluster": {"nodes": [{"devices": [{"kind": "xeon_e5_2630v3"}, {"kind": "hetero_pim"}, {"kind": "a40"}]}]},
    "training": [
      {"model": "alexnet", "devices": ["xeon_e5_2630v3", "hetero_pim"], "runtime": {"kind": "hetero_pim"}},
      {"model": "word2vec", "devices": ["a40"], "runtime": {"kind": "gpu_only"}}]
  })",
                    "two jobs");
}

Json with(Json document, const std::vector<std::pair<std::string, std::string>>& values) {
  for (const auto& [pointer, value] : values)
    document[Json::json_pointer(pointer)] = parse_json(value, "a value");
  return document;
}

using Told = std::vector<std::pair<std::string, std::string>>;  // pointer, and a part of what is said there

Told problems_of(const Json& document) {
  Told told;
  try {
    read_plan(document, "t.json");
  } catch (const ConfigError& e) {
    for (const Problem& problem : e.problems()) told.emplace_back(problem.pointer, problem.what);
  }
  return told;
}

void check_problems(const Json& document, const Told& expected) {
  const Told told = problems_of(document);
  std::string all;
  for (const auto& [pointer, what] : told) all += pointer + ": " + what + "\n";
  INFO(all);
  CHECK(told.size() == expected.size());
  for (const auto& [pointer, what] : expected) {
    INFO(pointer << ": " << what);
    CHECK(std::ranges::any_of(told, [&, at = pointer, part = what](const auto& one) {
      return one.first == at && one.second.find(part) != std::string::npos;
    }));
  }
}

std::vector<std::string> notes_of(const Json& document) {
  std::vector<std::string> notes = read_plan(document, "t.json").scenario.notes;
  std::erase_if(notes, [](const std::string& note) { return note.ends_with("an ESTIMATE"); });
  return notes;
}

void check_note(const Json& document, const std::string& what) {
  INFO(what);
  const std::vector<std::string> notes = notes_of(document);
  REQUIRE(notes.size() == 1);
  INFO(notes[0]);
  CHECK(notes[0].starts_with(what));
}

using Slots = std::vector<std::pair<int, int>>;  // node, slot

Slots slots_of_copy(const TrainingJob& job, std::size_t copy) {
  Slots slots;
  for (const DevicePlace& at : job.places.at(copy)) slots.emplace_back(at.node, at.slot);
  return slots;
}

const std::string devices = "/cluster/nodes/0/devices/", node = "/cluster/nodes/0";

}  // namespace

TEST_CASE("training scenario: jobs stand on the devices that they name, or on all there are") {
  const Plan plan = read_plan(two_jobs(), "t.json");
  REQUIRE(plan.training.size() == 2);
  CHECK(plan.replicas.empty());
  CHECK(slots_of_copy(plan.training[0], 0) == Slots{{0, 0}, {0, 1}});
  CHECK(slots_of_copy(plan.training[1], 0) == Slots{{0, 2}});
  CHECK(plan.training[0].machine.gpu == nullptr);
  CHECK(plan.training[1].machine.cpu == nullptr);
  CHECK(plan.training[0].spec.name == "alexnet");
  CHECK(plan.training[0].graph.batch == plan.training[0].spec.net.batch);
  Json alone = with(two_jobs(), {{"/training/0/devices", "null"}});
  alone["training"].erase(1);
  CHECK(slots_of_copy(read_plan(alone, "t.json").training[0], 0) == Slots{{0, 2}, {0, 0}, {0, 1}});
}

TEST_CASE("training scenario: a plan of the resolved scenario is the same plan") {
  const Json resolved = read_plan(two_jobs(), "t.json").scenario.resolved;
  CHECK(read_plan(resolved, "t.json").scenario.resolved == resolved);
  CHECK(resolved["kind"] == "training");
  CHECK_FALSE(resolved.contains("serving"));
}

TEST_CASE("training scenario: every mistake is told at once, those of places with those of values") {
  check_problems(with(two_jobs(), {{"/model", "\"llama3-8b\""},
                                   {"/serving", "{}"},
                                   {"/training/0/model", "\"vgg\""},
                                   {"/training/0/batch", "0"},
                                   {"/training/0/steps", "0"},
                                   {"/training/1/runtime/kind", "\"fixed_pim\""},
                                   {"/training/2", R"({"model": "lstm", "devices": ["a40"], "clock": 2,
                                                      "runtime": {"kind": "gpu_only"}})"}}),
                 {{"/model", "unknown key"},
                  {"/serving", "unknown key"},
                  {"/training/0/model", "no such net"},
                  {"/training/0/batch", ">= 1"},
                  {"/training/0/steps", ">= 1"},
                  {"/training/1/runtime", "needs a CPU"},
                  {"/training/2/clock", "unknown key"},
                  {"/training/2/devices", "a40 is a device of /training/1 already"}});
}

TEST_CASE("training scenario: a job and the net beside it have to fit together") {
  const auto beside = [](const std::string& batch, const std::string& net) {
    return with(two_jobs(), {{"/training/0/model", "\"vgg19\""},
                             {"/training/0/batch", batch},
                             {"/training/0/beside",
                              R"({"model": ")" + net + R"(", "runtime": {"kind": "spare_cores"}})"}});
  };
  const auto alone = [](const std::string& batch) {
    return with(two_jobs(), {{"/training/0/model", "\"vgg19\""}, {"/training/0/batch", batch}});
  };
  check_problems(alone("106"), {});
  check_problems(beside("106", "word2vec"), {});
  check_problems(
      beside("106", "alexnet"),
      {{"/training/0/batch",
        "vgg19 with a batch of 106 beside one of alexnet holds 8.73 GB at once, hetero_pim has 8.59"}});
  check_problems(alone("130"), {{"/training/0/batch", "vgg19 with a batch of 130 holds"}});
}

TEST_CASE("training scenario: what cannot be is told at its place") {
  check_problems(with(two_jobs(), {{"/training", "[]"}}), {{"/training", "at least 1"}});
  check_problems(with(two_jobs(), {{"/training/0/devices", "[\"hetero_pim\"]"}}),
                 {{"/training/0/runtime", "needs a CPU"}});
  check_problems(with(two_jobs(), {{"/training/0/devices", "[\"xeon_e5_2630v3\"]"}}),
                 {{"/training/0/runtime", "needs a memory with fixed-function pairs"}});
  check_problems(with(two_jobs(), {{"/training/1/devices", "[\"a40\", \"h100_sxm\"]"}}),
                 {{"/training/1/devices", "the cluster has no h100_sxm"}});
  check_problems(with(two_jobs(), {{"/training/1/devices", "[]"}}),
                 {{"/training/1/devices", "expected a list of names"}});
  check_problems(with(two_jobs(), {{"/training/1/devices", "[\"a40\", \"l40s\"]"},
                                   {devices + "3", R"({"kind": "l40s"})"}}),
                 {{"/training/1/devices", "l40s is another"}});
  check_problems(with(two_jobs(), {{"/training/1/data_parallel", "2"}}),
                 {{"/training/1/devices", "no room for copy 2 of 2: no node has a40 to spare"}});
  check_problems(with(two_jobs(), {{"/training/1/data_parallel", "2"}, {devices + "2/count", "2"}}),
                 {{"/training/1/data_parallel", "no interconnect"}});
  check_problems(with(two_jobs(), {{devices + "2/speed_profile", "[[1, 0.5]]"},
                                   {devices + "0/state_profile", "[[1, 0]]"}}),
                 {{devices + "2/speed_profile", "none yet"}, {devices + "0/state_profile", "none yet"}});
  check_problems(with(two_jobs(), {{"/training/0/model", R"({"base": "alexnet", "inputs": []})"}}),
                 {{"/training/0/model/inputs", "at least 1"}});
}

TEST_CASE("training scenario: a step that its memory cannot hold is refused, with bytes by layer") {
  const Told told = problems_of(with(two_jobs(), {{"/training/0/batch", "100000"}}));
  REQUIRE(told.size() == 1);
  CHECK(told[0].first == "/training/0/batch");
  CHECK_THAT(told[0].second, Catch::Contains("hetero_pim has 8.59") && Catch::Contains("conv1 "));
}

TEST_CASE("training scenario: copies stay in a node that has room for all, and else span nodes") {
  Json document = with(two_jobs(), {{devices + "2/count", "4"},
                                    {node + "/count", "2"},
                                    {node + "/interconnect", "\"pcie4_x16\""},
                                    {"/training/1/data_parallel", "4"}});
  CHECK(slots_of_copy(read_plan(document, "t.json").training[1], 3) == Slots{{0, 5}});
  CHECK_FALSE(read_plan(document, "t.json").training[1].levels);
  document["training"][1]["data_parallel"] = 8;
  const TrainingJob spread = read_plan(document, "t.json").training[1];
  CHECK(slots_of_copy(spread, 7) == Slots{{1, 5}});
  REQUIRE(spread.levels);
  CHECK((spread.levels->nodes == 2 && spread.levels->per_node == 4));
  CHECK(spread.machine.copies == 8);
  // With one of the first node's taken, four fit in the second.
  document["training"][1]["data_parallel"] = 4;
  document["training"].insert(document["training"].begin() + 1, document["training"][1]);
  document["training"][1]["data_parallel"] = 1;
  CHECK(slots_of_copy(read_plan(document, "t.json").training[2], 0) == Slots{{1, 2}});
}

TEST_CASE("training scenario: a net beside the job's own, and what it needs") {
  Json document =
      with(two_jobs(),
           {{"/training/0/beside", R"({"model": "lstm", "steps": 7, "runtime": {"kind": "spare_cores"}})"}});
  const TrainingJob job = read_plan(document, "t.json").training[0];
  REQUIRE(job.beside);
  CHECK(job.beside->net == "lstm");
  CHECK(job.all_steps().play().beside_ends.size() == 7);
  check_problems(with(document, {{"/training/0/beside/model", "\"gru\""},
                                 {"/training/0/beside/steps", "0"},
                                 {"/training/0/beside/batches", "1"},
                                 {"/training/0/beside/runtime/kind", "\"hetero_pim\""}}),
                 {{"/training/0/beside/model", "no such net"},
                  {"/training/0/beside/steps", ">= 1"},
                  {"/training/0/beside/batches", "unknown key"},
                  {"/training/0/beside/runtime", "profiles a step"}});
  check_problems(with(document, {{"/training/0/beside/runtime/kind", "\"gpu_only\""}}),
                 {{"/training/0/beside/runtime", "needs a GPU"}});
  check_problems(with(document, {{"/training/0/steps", "1"}}), {{"/training/0/steps", "2 or more"}});
}

TEST_CASE("training scenario: jobs beside replicas have devices that these leave") {
  const auto beside = [](int gpus) {
    Json document = parse_json(R"({
      "model": "llama3-8b",
      "cluster": {"nodes": [{"devices": [{"kind": "h100_sxm", "count": 2}], "interconnect": "nvlink4_switch"}]},
      "serving": {"replicas": [{"device": "h100_sxm"}]},
      "workload": {"requests": {"kind": "fixed", "count": 2, "input_tokens": 10, "output_tokens": 2},
                   "arrivals": {"kind": "poisson", "rate_per_s": 5}},
      "training": [{"model": "alexnet", "steps": 3, "runtime": {"kind": "gpu_only"}}]
    })",
                               "beside");
    document["cluster"]["nodes"][0]["devices"][0]["count"] = gpus;
    return document;
  };
  const Plan plan = read_plan(beside(2), "t.json");
  CHECK(plan.replicas.size() == 1);
  CHECK(slots_of_copy(plan.training.at(0), 0) == Slots{{0, 1}});
  CHECK(read_plan(plan.scenario.resolved, "t.json").scenario.resolved == plan.scenario.resolved);
  check_problems(beside(1), {{"/training/0/devices", "h100_sxm is a device of a replica already"}});
  const std::vector<std::string> notes = read_plan(beside(3), "t.json").scenario.notes;
  CHECK(std::ranges::any_of(notes, [](const std::string& note) {
    return note.find("1 of 3 h100_sxm are not used") != std::string::npos;
  }));
  check_problems(with(beside(2), {{"/training/0/batch", "0"}, {"/workload/requests/count", "0"}}),
                 {{"/training/0/batch", ">= 1"}, {"/workload/requests/count", ">= 1"}});
}

TEST_CASE("notes: what has no effect on training") {
  CHECK(notes_of(two_jobs()).empty());
  CHECK(notes_of(read_plan(two_jobs(), "t.json").scenario.resolved).empty());
  check_note(with(two_jobs(), {{"/seed", "2"}}), "/seed: changes nothing");
  check_note(with(two_jobs(), {{"/cluster/network", R"({"topology": "torus"})"}}),
             "/cluster/network: is not used");
  check_note(with(two_jobs(), {{node + "/interconnect", "\"nvlink4_switch\""}}),
             node + "/interconnect: is not used");
  check_note(with(two_jobs(), {{"/training/1/clock_multiple", "2"}}),
             "/training/1/clock_multiple: 2 changes nothing");
  check_note(with(two_jobs(), {{"/training/1/host_waiting_w", "9"}}),
             "/training/1/host_waiting_w: 9 changes nothing");
  CHECK(notes_of(with(two_jobs(), {{"/training/0/clock_multiple", "2"}})).empty());
  CHECK(notes_of(with(two_jobs(), {{"/training/0/host_waiting_w", "9"}})).empty());
  check_note(with(two_jobs(), {{devices + "3", R"({"kind": "l40s"})"}}), devices + "3: l40s is not used");
  check_note(with(two_jobs(), {{devices + "3", R"({"kind": "host_dimm"})"}}),
             node + "/devices: host_dimm is not used");
  check_note(with(two_jobs(), {{devices + "2/count", "3"}}), devices + "2: 2 of 3 a40 are not used");
  Json idle = with(two_jobs(), {{"/training/0/devices", "null"}});
  idle["training"].erase(1);
  check_note(idle, "/training/0/devices: a40 idles");
}
