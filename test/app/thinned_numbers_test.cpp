// Numbers that stand for many, by hand: quantiles and means of a page, sums of a measured server, engines.
#include <catch2/catch.hpp>

#include "sim/app/measured/measured.h"
#include "sim/app/output/writers.h"
#include "sim/app/report/page.h"
#include "sim/app/results/csv.h"
#include "sim/core/errors.h"
#include "test/app/run_weir.h"

using namespace weir;

TEST_CASE("page: 201 quantiles of a distribution, and means of as few groups as make 500 of a course") {
  std::vector<double> values;
  for (int i = 400; i >= 0; --i) values.push_back(i);
  values.push_back(NAN);
  const Json quantiles = thinned_quantiles(values);
  REQUIRE(quantiles.size() == 201);
  CHECK((quantiles[0] == 0 && quantiles[1] == 2 && quantiles[100] == 200 && quantiles[200] == 400));
  CHECK(thinned_quantiles({}).empty());
  std::vector<double> course;
  for (int i = 0; i < 1001; ++i) course.push_back(i);
  const Json means = thinned_means(course);  // of three, and the last of two
  REQUIRE(means.size() == 334);
  CHECK((means[0] == 1 && means[1] == 4 && means[333] == 999.5));
  course.resize(1000);
  CHECK(thinned_means(course).size() == 500);
  CHECK(thinned_means({7, 9}) == Json{7, 9});
}

// Sent at 2, 1 and 4 s, over at 2.5, 7 and 4.25 s: six seconds.
TEST_CASE("measured: requests are summed up from the first one sent to the last one's end") {
  BenchmarkResult benchmark;
  benchmark.requests = {
      {100, 3, 2., 50., 225., 500.}, {20, 5, 1., 150., 100., 6000.}, {30, 1, 4., {}, {}, 250.}};
  const Json summary = measured_summary(benchmark);
  CHECK(summary["duration"] == 6);
  CHECK((summary["completed"] == 3 && summary["total_input_tokens"] == 150));
  CHECK(summary["total_output_tokens"] == 9);
  CHECK(summary["request_throughput"] == 0.5);
  CHECK(summary["output_throughput"] == 1.5);
  CHECK(summary["total_token_throughput"] == 26.5);
  CHECK((summary["mean_ttft_ms"] == 100 && summary["mean_tpot_ms"] == 162.5));
  CHECK((summary["median_e2el_ms"] == 500 && summary["mean_e2el_ms"] == 2250));
  benchmark.requests[2].e2el_ms.reset();
  CHECK_FALSE(measured_summary(benchmark).contains("duration"));
  benchmark.failed = 2;
  benchmark.failed_input_tokens = 77;
  CHECK(measured_notes(benchmark).front() == "2 requests that failed are left out (77 prompt tokens)");
}

TEST_CASE(
    "summary.json: engines are a list where they differ, and groups of replicas have their own memory") {
  Plan plan;
  plan.replicas.resize(3);
  for (const auto& [at, kind, version] : {std::tuple<std::size_t, const char*, const char*>{0, "vllm", "0.9"},
                                          {1, "ideal", ""},
                                          {2, "vllm", "0.9"}}) {
    plan.replicas[at].spec.engine.kind = kind;
    plan.replicas[at].spec.engine.version = version;
  }
  plan.replicas[1].spec.count = 4;
  RankMemory& memory = plan.replicas[1].memory;
  memory.weights = Bytes(11);
  memory.activations = Bytes(12);
  memory.kept_by_requests = Bytes(13);
  memory.kv_per_token = Bytes(2.5);
  memory.kv_tokens = 1000;
  memory.longest = 400;
  RunResult result;
  result.end = Seconds(1);
  const Json s = summary_json({plan, result, measure(result, {})});
  CHECK(s["engine"] ==
        Json::array({{{"kind", "vllm"}, {"version", "0.9"}}, {{"kind", "ideal"}, {"version", nullptr}}}));
  REQUIRE(s["replicas"].size() == 3);
  CHECK(s["replicas"][1] == Json{{"count", 4},
                                 {"memory",
                                  {{"weights_bytes", 11},
                                   {"activation_bytes", 12},
                                   {"request_state_bytes", 13},
                                   {"kv_bytes_per_token", 2.5},
                                   {"kv_cache_bytes", 2500},
                                   {"kv_cache_tokens", 1000},
                                   {"max_model_len", 400},
                                   {"max_concurrency", 2.5}}}});
  CHECK(s["replicas"][0]["memory"]["max_model_len"].is_null());
  plan.replicas.erase(plan.replicas.begin() + 1);
  CHECK(summary_json({plan, result, measure(result, {})})["engine"] ==
        Json{{"kind", "vllm"}, {"version", "0.9"}});
}

TEST_CASE("csv: a comma in quotes ends no cell, empty lines are none, and a mistake is at its own line") {
  const ScratchDirectory scratch;
  const auto file = [&](const std::string& text) { return test::write(scratch.path() / "a.csv", text); };
  CHECK(read_columns(file("a,b,c\n\"x,y\",3,4\n\r\n\n,5,6\r\n"), {"c", "b"}) ==
        std::vector<std::vector<double>>{{4, 6}, {3, 5}});
  CHECK(std::isnan(read_columns(file("a,b\n1,\n"), {"b"})[0].at(0)));
  const auto wrong = [&](const std::string& text) -> std::string {
    try {
      read_columns(file(text), {"b"});
    } catch (const ConfigError& e) {
      return e.what();
    }
    return "";
  };
  CHECK_THAT(wrong("a,b\n1,2\n\n3,z\n"),
             Catch::Contains("line 4") && Catch::Contains("b: expected a number, got \"z\""));
  CHECK_THAT(wrong("a,b\n1,2,3\n"),
             Catch::Contains("line 2") && Catch::Contains("expected 2 columns, got 3"));
  CHECK_THAT(wrong("a,c\n1,2\n"), Catch::Contains("has no column b"));
}
