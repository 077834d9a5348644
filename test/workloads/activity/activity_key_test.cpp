// `workload.activity`: read with the rest of a workload, every problem at its key.
#include <catch2/catch.hpp>

#include "test/workloads/activity/sample_activity.h"
#include "test/workloads/samples.h"

using namespace weir;
using namespace weir::test;

namespace {

std::string complaints(const Json& key) {
  try {
    activity_of(key);
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "";
}

Json workload_with(const Json& key) {
  Json workload = {{"requests", {{"kind", "fixed"}, {"count", 2}, {"input_tokens", 4}, {"output_tokens", 4}}},
                   {"arrivals", {{"kind", "all_at_once"}}}};
  if (!key.is_null()) workload["activity"] = key;
  return workload;
}

}  // namespace

TEST_CASE("activity key: a workload has it where it is given, and resolves nothing of it where it is not") {
  CHECK_FALSE(workload_of(workload_with(nullptr)).activity);
  const Workload with = workload_of(workload_with({{"kind", "generated"}, {"density", 0.1}}));
  REQUIRE(with.activity);
  CHECK(with.activity->bind({2, 4, 8})->frequency(1, NeuronBlock::mlp).size() == 8);
  CHECK(with.requests.size() == 2);

  for (const bool given : {false, true}) {
    const Json workload = workload_with(given ? Json{{"kind", "generated"}, {"density", 0.1}} : Json());
    Reading reading("s.json");
    read_workload(Params(reading, workload), 1);
    reading.finish();
    CHECK(reading.resolved.contains("activity") == given);
    if (given)
      CHECK(reading.resolved["activity"] == Json{{"kind", "generated"},
                                                 {"density", 0.1},
                                                 {"hot_share", 0.8},
                                                 {"far_similarity", 0.7},
                                                 {"drift", 0.3}});
  }
}

TEST_CASE("activity key: every problem has its pointer, and all are told together") {
  CHECK(complaints({{"kind", "generated"}}) == "scenario.json: /activity/density: required, but missing");
  CHECK(complaints(nullptr) == "scenario.json: /activity: expected an object, got null");
  CHECK(complaints({{"kind", "drawn"}}).find("/activity/kind: ") != std::string::npos);
  const std::string several = complaints({{"kind", "generated"},
                                          {"density", 0},
                                          {"hot_share", 0.1},
                                          {"far_similarity", 1.5},
                                          {"drift", -0.1},
                                          {"dirft", 0.1}});
  for (const char* key : {"density", "hot_share", "far_similarity", "drift"})
    CHECK_THAT(several, Catch::Contains(fmt::format("/activity/{}: expected a number", key)));
  CHECK_THAT(several, Catch::Contains("/activity/dirft: unknown key; did you mean \"drift\"?"));
}

TEST_CASE("activity key: the hottest neurons cannot be active more than always") {
  CHECK(complaints({{"kind", "generated"}, {"density", 0.25}}) == "");
  CHECK_THAT(complaints({{"kind", "generated"}, {"density", 0.2501}}),
             Catch::Contains("/activity/density: expected at most 0.25, "));
  CHECK(complaints({{"kind", "generated"}, {"density", 0.5}, {"hot_share", 0.4}}) == "");
  CHECK_THAT(complaints({{"kind", "generated"}, {"density", 0.2}, {"far_similarity", 0.19}}),
             Catch::Contains("/activity/far_similarity: expected at least the density, 0.2, got 0.19"));
  CHECK(complaints({{"kind", "generated"}, {"density", 1}, {"hot_share", 0.2}, {"far_similarity", 1}}) == "");
}

TEST_CASE("activity key: statistics that exclude one another are told, with what they came to") {
  std::vector<std::string> notes;
  for (const double density : {0.1, 0.2}) {
    activity_of({{"kind", "generated"}, {"density", density}}, &notes);
    CHECK(notes.empty());
  }
  activity_of({{"kind", "generated"}, {"density", 0.25}}, &notes);
  REQUIRE(notes.size() == 1);
  CHECK_THAT(notes[0], Catch::StartsWith("/activity: no frequencies have density 0.25, hot_share 0.8 and "
                                         "far_similarity 0.7 together: drawn with 0.7"));
}

TEST_CASE("activity key: a file is read with the scenario, and is of one model") {
  CHECK(complaints({{"kind", "file"}}) == "scenario.json: /activity/file: required, but missing");
  CHECK(complaints({{"kind", "file"}, {"file", "/no/such.csv"}}) ==
        "scenario.json: /activity/file: /no/such.csv: cannot be opened: No such file or directory");
  const TemporaryFile bad(
      "layers,attention,mlp\n1,2,2\ntoken,layer,block,neurons\n0,0,attention,2\n0,0,mlp,3\n");
  const std::string both = complaints({{"kind", "file"}, {"file", bad.name()}});
  CHECK_THAT(both, Catch::Contains("/activity/file: " + bad.name() + ": line 4: neurons: expected"));
  CHECK_THAT(both, Catch::Contains("/activity/file: " + bad.name() + ": line 5: neurons: expected"));

  const TemporaryFile good(
      "layers,attention,mlp\n1,2,2\ntoken,layer,block,neurons\n0,0,attention,\n0,0,mlp,1\n");
  const auto activity = activity_of({{"kind", "file"}, {"file", good.name()}});
  CHECK(activity->bind({1, 2, 2})->frequency(0, NeuronBlock::mlp)[1] == 1);
  try {
    activity->bind({1, 2, 3});
    FAIL("bound to another model");
  } catch (const ConfigError& e) {
    CHECK(e.problems().front().pointer == "/file");
    CHECK_THAT(
        e.what(),
        Catch::Contains("expected a recording of what is followed, which has 1 layers of 2 attention and 3 "
                        "mlp neurons, got one of 1 layers of 2 attention and 2 mlp neurons"));
  }
}
