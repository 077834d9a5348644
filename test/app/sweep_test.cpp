// Sweep files: what they expand to, and what is said of those that are wrong.
#include <catch2/catch.hpp>

#include <fstream>
#include <functional>
#include <random>
#include <set>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "sim/app/sweep/sweep.h"
#include "sim/engine/scenario.h"
#include "test/app/run_weir.h"
#include "test/app/scratch_directory.h"
#include "test/engine/run_in_child.h"

using namespace weir;
using test::run_weir;

namespace {

const std::string tensor = "/serving/replicas/0/parallelism/tensor";
const std::string pipeline = "/serving/replicas/0/parallelism/pipeline";
const std::string replicas = "/serving/replicas/0/count";
const std::string rate = "/workload/arrivals/rate_per_s";

Sweep swept(const Json& document) {
  const ScratchDirectory scratch;
  std::ofstream(scratch / "sweep.json") << document.dump();
  return read_sweep(scratch / "sweep.json");
}

Json with(const std::string& keys, Json scenario = test::small_scenario()) {
  Json sweep = parse_json(keys, "keys");
  sweep["scenario"] = std::move(scenario);
  return sweep;
}

std::vector<Problem> problems_of(const Json& document) {
  try {
    swept(document);
    return {};
  } catch (const ConfigError& e) {
    return e.problems();
  }
}

std::set<std::string> places(const std::vector<Problem>& problems) {
  std::set<std::string> all;
  for (const Problem& p : problems) all.insert(p.pointer);
  return all;
}

bool any_says(const std::vector<Problem>& problems, const std::string& what) {
  return std::any_of(problems.begin(), problems.end(),
                     [&](const Problem& p) { return p.what.find(what) != std::string::npos; });
}

Json values_of(const Sweep& sweep, const std::string& pointer) {
  Json values = Json::array();
  for (const Point& point : sweep.points)
    for (const auto& [name, value] : point.varied)
      if (name == pointer) values.push_back(value);
  return values;
}

std::vector<int> layout_of(const Point& point) {
  const Json& group = point.scenario["serving"]["replicas"][0];
  return {group["parallelism"]["tensor"].get<int>(), group["parallelism"]["pipeline"].get<int>(),
          group["count"].get<int>()};
}

Json llama70b(const std::string& kind, int devices) {
  Json scenario = test::small_scenario();
  scenario["model"] = "llama3.1-70b";
  scenario["cluster"]["nodes"][0]["devices"][0] = {{"kind", kind}, {"count", devices}};
  return scenario;
}

}  // namespace

TEST_CASE("sweep: the grid is every value with every other in the file's order, the last axis fastest") {
  const Sweep sweep = swept(with(R"({"vary": {
    "/workload/arrivals/rate_per_s": [1, 2, 3], "/serving/replicas/0/count": [1, 2]}})"));
  CHECK(sweep.varied == std::vector<std::string>{rate, replicas});
  CHECK(values_of(sweep, rate) == Json({1, 1, 2, 2, 3, 3}));
  CHECK(values_of(sweep, replicas) == Json({1, 2, 1, 2, 1, 2}));
  for (std::size_t i = 0; i < sweep.points.size(); ++i) {
    CHECK(sweep.points[i].index == static_cast<std::int64_t>(i));
    for (const auto& [pointer, value] : sweep.points[i].varied)
      CHECK(sweep.points[i].scenario[Json::json_pointer(pointer)] == value);
  }
}

TEST_CASE("sweep: zipped lists go together, one axis an object") {
  const Sweep sweep = swept(with(R"({"vary": {"/workload/arrivals/rate_per_s": [1, 2]}, "zip": [{
    "/serving/replicas/0/parallelism/tensor": [1, 2, 4], "/serving/replicas/0/count": [8, 4, 2]}]})"));
  CHECK(values_of(sweep, rate) == Json({1, 1, 1, 2, 2, 2}));
  CHECK(values_of(sweep, tensor) == Json({1, 2, 4, 1, 2, 4}));
  CHECK(values_of(sweep, replicas) == Json({8, 4, 2, 8, 4, 2}));
}

TEST_CASE("sweep: linear and log ranges hold both ends, and whole numbers stay whole") {
  const Sweep linear =
      swept(with(R"({"vary": {"/workload/arrivals/rate_per_s": {"from": 1, "to": 3, "steps": 5}}})"));
  CHECK(values_of(linear, rate) == Json({1, 1.5, 2, 2.5, 3}));
  const Sweep log = swept(with(R"({"vary": {"/serving/replicas/0/batching/max_batch_tokens":
    {"from": 256, "to": 8192, "steps": 6, "scale": "log"}}})"));
  CHECK(values_of(log, "/serving/replicas/0/batching/max_batch_tokens") ==
        Json({256, 512, 1024, 2048, 4096, 8192}));
}

TEST_CASE("sweep: a number of seeds counts on from the scenario's own, a list is taken as it is") {
  Json scenario = test::small_scenario();
  scenario["seed"] = 7;
  const Sweep three =
      swept(with(R"({"vary": {"/workload/arrivals/rate_per_s": [1, 2]}, "seeds": 3})", scenario));
  CHECK(values_of(three, "/seed") == Json({7, 8, 9, 7, 8, 9}));
  CHECK(three.varied.back() == "/seed");
  CHECK(values_of(swept(with(R"({"seeds": [0, 11]})", scenario)), "/seed") == Json({0, 11}));
}

TEST_CASE("sweep: constraints keep the points for which they hold, and say how many they do not") {
  const Sweep sweep = swept(with(R"({
    "vary": {"/serving/replicas/0/parallelism/tensor": [1, 2, 4, 8], "/serving/replicas/0/parallelism/pipeline": [1, 2],
             "/serving/replicas/0/count": [1, 2, 4, 8]},
    "where": ["tensor * pipeline * replicas == devices", "tensor <= 4 && count % 2 == 0"]})"));
  REQUIRE_FALSE(sweep.points.empty());
  std::set<std::vector<int>> found, expected;
  for (const Point& p : sweep.points) found.insert(layout_of(p));
  for (const int t : {1, 2, 4, 8})
    for (const int p : {1, 2})
      for (const int r : {1, 2, 4, 8})
        if (t * p * r == 8 && t <= 4 && r % 2 == 0) expected.insert({t, p, r});
  CHECK(found == expected);
  REQUIRE(sweep.left_out.size() == 2);
  CHECK(sweep.left_out[0].why == "where tensor * pipeline * replicas == devices");
  CHECK(std::stoul(sweep.left_out[0].what) + std::stoul(sweep.left_out[1].what) + sweep.points.size() == 32);
}

TEST_CASE("sweep: layouts are every way to use all devices, and each one left out has its reason") {
  const Sweep sweep = swept(with(R"({"layouts": "all", "vary": {"/workload/arrivals/rate_per_s": [1, 2]}})",
                                 llama70b("h100_sxm", 8)));
  std::set<std::vector<int>> found, expected;
  for (const Point& p : sweep.points) found.insert(layout_of(p));
  for (int t = 1; t <= 8; t *= 2)
    for (int p = 1; t * p <= 8; p *= 2) expected.insert({t, p, 8 / t / p});
  expected.erase({1, 1, 8});  // 131 GiB of weights
  CHECK(found == expected);
  CHECK(sweep.points.size() == 2 * expected.size());
  CHECK(sweep.varied == std::vector<std::string>{rate, tensor, pipeline, replicas});  // no experts, no column
  REQUIRE(sweep.left_out.size() == 1);
  CHECK(sweep.left_out[0].what == "tensor 1 x pipeline 1 x 8 replicas");
  CHECK(sweep.left_out[0].why.find("does not fit on h100_sxm") != std::string::npos);
}

TEST_CASE("sweep: layouts say which heads, layers and experts forbid them") {
  Json scenario = llama70b("h100_sxm", 12);  // 64 heads, 80 layers
  Sweep sweep = swept(with(R"({"layouts": "all"})", scenario));
  std::map<std::string, std::string> why;
  for (const LeftOut& left : sweep.left_out) why[left.what] = left.why;
  CHECK(why.at("tensor 3 x pipeline 4 x 1 replicas").find("attention heads (64)") == 0);
  CHECK(why.at("tensor 12 x pipeline 1 x 1 replicas").find("attention heads (64)") == 0);
  CHECK_FALSE(why.contains("tensor 4 x pipeline 3 x 1 replicas"));
  CHECK(values_of(sweep, pipeline).dump().find("12") != std::string::npos);

  scenario["model"] = "mixtral-8x7b";
  scenario["cluster"]["nodes"][0]["devices"][0]["count"] = 4;
  sweep = swept(with(R"({"layouts": "all"})", scenario));
  std::set<int> cuts;  // of four tensor ranks: 1, 2 and 4 groups of experts
  for (const Point& p : sweep.points) {
    const Json& cut = p.scenario["serving"]["replicas"][0]["parallelism"];
    if (cut["tensor"] == 4) cuts.insert(cut["expert"].get<int>());
  }
  CHECK(cuts == std::set<int>{1, 2, 4});
}

TEST_CASE("sweep: layouts of a varied cluster use the devices of each point") {
  const Sweep sweep =
      swept(with(R"({"layouts": "all", "vary": {"/cluster/nodes/0/devices/0/count": [2, 4]}})"));
  REQUIRE_FALSE(sweep.points.empty());
  for (const Point& p : sweep.points) {
    const std::vector<int> layout = layout_of(p);
    const int used = layout[0] * layout[1] * layout[2];
    CHECK(p.scenario["cluster"]["nodes"][0]["devices"][0]["count"] == used);
  }
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

  Json wrong = test::small_scenario();
  wrong["sed"] = 1;
  CHECK(places(problems_of(with(R"({"seeds": 2})", wrong))) == std::set<std::string>{"/scenario/sed"});
  const Json no_room = with(R"({"vary": {"/serving/replicas/0/count": [1, 9]}})");
  CHECK(places(problems_of(no_room)) == std::set<std::string>{"/scenario/serving/replicas/0"});
}

TEST_CASE("sweep: \"invalid\": \"skip\" leaves wrong points out and says why") {
  const Sweep sweep = swept(with(R"({"invalid": "skip", "vary": {"/serving/replicas/0/count": [1, 9, 2]}})"));
  CHECK(values_of(sweep, replicas) == Json({1, 2}));
  REQUIRE(sweep.left_out.size() == 1);
  CHECK(sweep.left_out[0].what == "count 9");
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

TEST_CASE(
    "sweep: weir check counts the points, gives the reasons and estimates the time; a scenario is no sweep") {
  const ScratchDirectory scratch;
  std::ofstream(scratch / "scenario.json") << test::small_scenario().dump();
  std::ofstream(scratch / "sweep.json") << R"({"scenario": "scenario.json", "layouts": "all"})";
  const test::Ended ended = run_weir({"check", "sweep.json"}, {.folder = scratch.path()});
  CHECK(ended.code == 0);
  CHECK(ended.out.find("sweep.json: ok (10 points)") != std::string::npos);
  CHECK(ended.out.find("estimated time: ") != std::string::npos);
  CHECK(run_weir({"check", "scenario.json"}, {.folder = scratch.path()}).out.find("replica") !=
        std::string::npos);
  std::ofstream(scratch / "sweep.json") << R"({"scenario": "nowhere.json", "layouts": "all"})";
  const test::Ended missing = run_weir({"check", "sweep.json"}, {.folder = scratch.path()});
  CHECK(missing.code == 2);
  CHECK(missing.err.find("sweep.json: /scenario: ") != std::string::npos);
}

TEST_CASE(
    "sweep: scenarios/sweep.schema.json is what `weir check --schema sweep` prints, and takes the shipped "
    "sweeps") {
  std::ostringstream committed;
  committed << std::ifstream(test::shipped("sweep.schema.json")).rdbuf();
  CHECK(committed.str() == sweep_schema().dump(2) + "\n");
  const auto document = nlohmann::json::parse(sweep_schema().dump());
  valijson::Schema schema;
  valijson::SchemaParser().populateSchema(valijson::adapters::NlohmannJsonAdapter(document), schema);
  const auto accepts = [&](const Json& sweep) {
    const auto plain = nlohmann::json::parse(sweep.dump());
    return valijson::Validator().validate(schema, valijson::adapters::NlohmannJsonAdapter(plain), nullptr);
  };
  REQUIRE(test::shipped_sweeps().size() >= 6);
  for (const auto& file : test::shipped_sweeps()) {
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
