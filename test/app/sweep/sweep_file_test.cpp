// Sweep files that are wrong, and what is said of each.
#include <catch2/catch.hpp>

#include <fstream>
#include <sstream>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "sim/app/sweep/sweep_spec.h"
#include "sim/plan/plan.h"
#include "test/app/run_weir.h"
#include "test/app/sweep/sweep_files.h"

using namespace weir;
using namespace weir::test;

TEST_CASE("sweep: a routing that goes by sessions finds those of a workload that was read before") {
  Json scenario = read_json_file(shipped("workloads/generated_sessions.json"));
  ScenarioValidator validator("test.json");
  for (const char* kind : {"round_robin", "session_affinity", "prefix_affinity", "kv_aware"}) {
    scenario["serving"]["routing"] = {{"kind", kind}};
    REQUIRE(validator.problems(scenario).empty());
  }
  CHECK(validator.notes().empty());
  scenario["workload"]["requests"] = {
      {"kind", "fixed"}, {"count", 9}, {"input_tokens", 1}, {"output_tokens", 1}};
  REQUIRE(validator.problems(scenario).empty());
  CHECK(validator.notes().size() == 1);
}

TEST_CASE("sweep: scenarios read on all cores have the problems, notes and files of those read one by one") {
  const std::vector<Json> numbers{1, 2, -1, 3, "x"};
  const auto at = [&](std::size_t i) {
    Json scenario = small_scenario();
    scenario["serving"]["replicas"][0]["parallelism"]["tensor"] = numbers[i % numbers.size()];
    scenario["serving"]["replicas"][0]["batching"]["max_batch_requests"] = 1 + i;
    if (i % 3 == 0) scenario["serving"]["routing"] = {{"kind", "session_affinity"}};
    if (i % 7 == 0) scenario["workload"]["requests"]["count"] = 2 + i % 2;
    return scenario;
  };
  constexpr std::size_t count = 500;
  ScenarioValidator together("test.json"), one_by_one("test.json");
  const std::vector<std::vector<Problem>> found = together.problems(count, at);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::vector<Problem> expected = one_by_one.problems(at(i));
    REQUIRE(found[i].size() == expected.size());
    for (std::size_t k = 0; k < expected.size(); ++k) {
      CHECK(found[i][k].pointer == expected[k].pointer);
      CHECK(found[i][k].what == expected[k].what);
      CHECK(found[i][k].misfit == expected[k].misfit);
    }
    wrong += !expected.empty();
  }
  CHECK(wrong > count / 3);
  CHECK(!one_by_one.notes().empty());
  CHECK(together.notes() == one_by_one.notes());
  CHECK(together.files() == one_by_one.files());
}

TEST_CASE("sweep: every problem of a file is listed at its pointer") {
  const std::vector<Problem> problems = problems_of(with(R"({
    "vary": {"/workload/arrivals/rate_per_s": {"from": 1, "to": 2, "steps": 1.5, "scale": "lg"}, "serving": [1], "/seed": []},
    "zip": [{"/a": [1, 2], "/b": [1]}, 3], "layouts": "some", "seeds": 0, "where": [3], "invalid": "maybe",
    "limits": {"time_s": 0, "memory_gb": 3},
    "capacity": {"ttft_ms": -1, "percentile": 98, "from": 2, "to": 1},
    "pareto": {"metrics": ["ttft"], "per": ["/x"]}, "cheapest": {}, "vari": {}})"));
  CHECK(places(problems) ==
        std::set<std::string>{
            "/vary/~1workload~1arrivals~1rate_per_s/steps", "/vary/~1workload~1arrivals~1rate_per_s/scale",
            "/vary/serving", "/vary/~1seed", "/zip/0/~1b", "/zip/1", "/layouts", "/seeds", "/where/0",
            "/invalid", "/limits/time_s", "/limits/memory_gb", "/capacity/ttft_ms", "/capacity/percentile",
            "/capacity/to", "/pareto/metrics/0", "/pareto/per/0", "/cheapest", "/vari"});
}

TEST_CASE("sweep: a value that makes a scenario wrong is named at its place in the sweep, with a point") {
  const std::vector<Problem> problems = problems_of(with(R"({"vary": {
    "/serving/replicas/0/parallelism/tensor": [1, -1], "/workload/arrivals/rate_per_s": [1, "x"],
    "/serving/replicas/0/batching/max_batch_token": [512]}, "seeds": 2})"));
  CHECK(places(problems) == std::set<std::string>{"/vary/~1serving~1replicas~10~1parallelism~1tensor",
                                                  "/vary/~1workload~1arrivals~1rate_per_s",
                                                  "/vary/~1serving~1replicas~10~1batching~1max_batch_token"});
  CHECK(problems.size() == 3);  // each said once, not once a point
  CHECK(any_says(problems, "expected an integer >= 1 and <= 4096, got -1 (point tensor -1"));
  CHECK(any_says(problems, "and 7 more)"));

  Json wrong = small_scenario();
  wrong["sed"] = 1;
  CHECK(places(problems_of(with(R"({"seeds": 2})", wrong))) == std::set<std::string>{"/scenario/sed"});
  const Json no_room = with(R"({"vary": {"/serving/replicas/0/count": [1, 9]}})");
  CHECK(places(problems_of(no_room)) == std::set<std::string>{"/scenario/serving/replicas/0"});
}

TEST_CASE("sweep: \"invalid\": \"skip\" leaves wrong points out and says why") {
  const Sweep sweep = swept(with(R"({"invalid": "skip", "vary": {"/serving/replicas/0/count": [1, 9, 2]}})"));
  CHECK(values_of(sweep, replicas) == Json({1, 2}));
  REQUIRE(sweep.left_out.size() == 1);
  CHECK(sweep.left_out[0].what == "replicas/count 9");
  CHECK(sweep.left_out[0].why.find("no room for replica 9 of 9") != std::string::npos);
  CHECK(any_says(problems_of(with(R"({"invalid": "skip", "vary": {"/serving/replicas/0/count": [9]}})")),
                 "no point is left"));
}

TEST_CASE("sweep: constraints that cannot be evaluated are refused") {
  const auto why = [](const std::string& constraint) {
    Json sweep = with(R"({"vary": {"/serving/replicas/0/count": [1, 2], "/cluster/nodes/0/count": [1]}})");
    sweep["where"] = Json::array({constraint});
    const std::vector<Problem> problems = problems_of(sweep);
    REQUIRE(places(problems) == std::set<std::string>{"/where/0"});
    return problems[0].what;
  };
  CHECK(why("tensr > 2").find("did you mean \"tensor\"") != std::string::npos);
  CHECK(why("count > 2").find("may mean 2 varied pointers") != std::string::npos);
  CHECK_FALSE(why("tensor = 1").empty());  // an assignment
  CHECK_FALSE(why("tensor >").empty());
  CHECK_FALSE(why("").empty());
  Json right = with(R"({"vary": {"/serving/replicas/0/count": [1, 2], "/cluster/nodes/0/count": [1]}})");
  right["where"] = {"replicas_0_count > 1"};
  CHECK(swept(right).points.size() == 1);
}

TEST_CASE("sweep: what would overwrite, or lies nowhere, is refused") {
  CHECK(
      places(problems_of(with(
          R"({"layouts": "all", "seeds": 2, "vary": {"/seed": [1], "/serving/replicas/0/count": [1]}})"))) ==
      std::set<std::string>{"/seeds", "/layouts"});
  CHECK(places(problems_of(
            with(R"({"vary": {"/workload/arrivals/rate_per_s": [1], "/workload/arrivals": [{}]}})"))) ==
        std::set<std::string>{"/vary/~1workload~1arrivals"});
  CHECK(places(problems_of(with(R"({"vary": {"/serving/replicas/7/count": [1], "/model/x": [1]}})"))) ==
        std::set<std::string>{"/vary/~1serving~1replicas~17~1count", "/vary/~1model~1x"});
  Json many = with(R"({"vary": {"/seed": {"from": 1, "to": 1000, "steps": 1000},
                                "/workload/arrivals/rate_per_s": {"from": 1, "to": 2, "steps": 1000}}})");
  CHECK(any_says(problems_of(many), "more than 100000 points"));
}

TEST_CASE("sweep: the points of a grid are multiplied before any is made, and no value is there twice") {
  Json vary = Json::object();
  const auto grid = [&](int axes) {
    for (int i = 0; i < axes; ++i)
      vary["/a" + std::to_string(i)] = {{"from", 1}, {"to", 2}, {"steps", 100'000}};
    return problems_of(with(Json({{"vary", vary}, {"seeds", 100}}).dump()));
  };
  CHECK(any_says(grid(2), "more than 100000 points: 1000000000000"));
  CHECK(any_says(grid(60), "more than 100000 points: 1e+300"));  // and no terabyte of values

  const auto twice = [](const std::string& keys) { return problems_of(with(keys)); };
  const std::vector<Problem> vary_twice =
      twice(R"({"vary": {"/workload/arrivals/rate_per_s": [1, 2, 1.0]}})");
  CHECK(places(vary_twice) == std::set<std::string>{"/vary/~1workload~1arrivals~1rate_per_s"});
  CHECK(any_says(vary_twice, "is given twice"));
  CHECK(places(twice(R"({"zip": [{"/seed": [1, 2, 1], "/name": ["a", "b", "a"]}]})")) ==
        std::set<std::string>{"/zip/0/~1seed"});
  CHECK(twice(R"({"zip": [{"/seed": [1, 2, 1], "/name": ["a", "b", "c"]}]})").empty());
  CHECK(places(twice(R"({"seeds": [3, 4, 3]})")) == std::set<std::string>{"/seeds"});
  CHECK(places(twice(R"({"vary": {"/seed": {"from": 1, "to": 1, "steps": 2}}})")) ==
        std::set<std::string>{"/vary/~1seed"});
}

TEST_CASE(
    "sweep: weir check counts the points, gives the reasons and estimates the time, and a scenario is no "
    "sweep") {
  const ScratchDirectory scratch;
  std::ofstream(scratch / "scenario.json") << small_scenario().dump();
  std::ofstream(scratch / "sweep.json") << R"({"scenario": "scenario.json", "layouts": "all"})";
  const Ended ended = run_weir({"check", "sweep.json"}, {.folder = scratch.path()});
  CHECK(ended.code == 0);
  CHECK(ended.out.find("sweep.json: ok (10 points)") != std::string::npos);
  CHECK(ended.out.find("estimated time: ") != std::string::npos);
  CHECK(run_weir({"check", "scenario.json"}, {.folder = scratch.path()}).out.find("replica") !=
        std::string::npos);
  std::ofstream(scratch / "sweep.json") << R"({"scenario": "nowhere.json", "layouts": "all"})";
  const Ended missing = run_weir({"check", "sweep.json"}, {.folder = scratch.path()});
  CHECK(missing.code == 2);
  CHECK(missing.err.find("sweep.json: /scenario: ") != std::string::npos);
}

TEST_CASE(
    "sweep: scenarios/sweep.schema.json is what `weir check --schema sweep` prints, and takes the shipped "
    "sweeps") {
  std::ostringstream committed;
  committed << std::ifstream(shipped("sweep.schema.json")).rdbuf();
  INFO("if not: make schema");
  CHECK((committed.str() == sweep_schema().dump(2) + "\n"));
  const auto document = nlohmann::json::parse(sweep_schema().dump());
  valijson::Schema schema;
  valijson::SchemaParser().populateSchema(valijson::adapters::NlohmannJsonAdapter(document), schema);
  const auto accepts = [&](const Json& sweep) {
    const auto plain = nlohmann::json::parse(sweep.dump());
    return valijson::Validator().validate(schema, valijson::adapters::NlohmannJsonAdapter(plain), nullptr);
  };
  REQUIRE(shipped_sweeps().size() >= 6);
  for (const auto& file : shipped_sweeps()) {
    INFO(file.string());
    const Json sweep = read_json_file(file);
    CHECK(accepts(sweep));
    CHECK(is_sweep(sweep));
    CHECK(sweep.contains("about"));
    CHECK_FALSE(read_sweep(file).points.empty());
  }
  for (const char* wrong :
       {R"({"vary": {"rate": [1]}})", R"({"vary": {"/a": 1}})", R"({"vary": {"/a": []}})", R"({"seeds": -1})",
        R"({"layouts": "some"})", R"({"capacity": {"percentile": "p99"}})", R"({"whre": []})"}) {
    INFO(wrong);
    CHECK_FALSE(accepts(with(wrong)));
    CHECK_FALSE(problems_of(with(wrong)).empty());
  }
}
