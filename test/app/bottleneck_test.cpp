#include <catch2/catch.hpp>

#include "sim/app/output/bottleneck.h"
#include "test/app/run_weir.h"

using namespace weir;

namespace {

// Ten requests, one a second from 0 on, each waiting and then served for the given times; one device a
// replica.
struct Case {
  double wait = 0, service = 1;
  double compute = 0, memory = 0, links = 0, host = 0;  // seconds of step time
  double kv_limited = 0;                                // seconds, of all replicas together
  std::vector<int> replicas = {1};                      // counts of the scenario's entries

  Bottleneck bottleneck(bool closed_loop = false) const {
    Scenario scenario;
    for (const int count : replicas) scenario.replicas.emplace_back().count = count;
    if (closed_loop) scenario.workload.closed_loop = ClosedLoop{4};
    RunResult result;
    for (int i = 0; i < 10; ++i) {
      RequestRecord r;
      r.request = {Seconds(i), 10, 10};
      r.scheduled = Seconds(i + wait);
      r.first_token = r.finished = Seconds(i + wait + service);
      r.status = RequestStatus::completed;
      result.requests.push_back(r);
    }
    result.end = result.requests.back().finished;
    DeviceUsage usage;
    usage.compute_bound = Seconds(compute);
    usage.memory_bound = Seconds(memory);
    usage.link_bound = Seconds(links);
    usage.host_bound = Seconds(host);
    result.devices = {usage};
    result.kv_limited = Seconds(kv_limited);
    result.kv_blocks_total = 100;
    result.kv_blocks_peak = 100;
    return find_bottleneck(scenario, result, measure(result, {}));
  }
};

}  // namespace

TEST_CASE(
    "bottleneck: a system that keeps up with its requests is bound by arrivals, however busy its steps") {
  CHECK(Case{.wait = 0.01, .memory = 9}.bottleneck().by == "arrivals");
  CHECK(Case{.wait = 0.01, .memory = 9}.bottleneck(true).by == "memory");  // a closed loop always has work
}

TEST_CASE("bottleneck: under a backlog the largest part of the step time names it") {
  CHECK(Case{.wait = 9, .compute = 5, .memory = 3, .links = 2}.bottleneck().by == "compute");
  CHECK(Case{.wait = 9, .compute = 3, .memory = 5, .links = 2}.bottleneck().by == "memory");
  CHECK(Case{.wait = 9, .compute = 3, .memory = 2, .links = 5}.bottleneck().by == "links");
  CHECK(Case{.wait = 9, .memory = 2, .host = 5}.bottleneck().by == "host");
  CHECK_THAT((Case{.wait = 9, .compute = 6, .memory = 2, .links = 1, .host = 1}.bottleneck().reason),
             Catch::StartsWith("60 % of step time") &&
                 Catch::Contains("compute 60, memory 20, links 10, host 10 %"));
}

TEST_CASE("bottleneck: requests that wait for KV blocks most of the time are bound by KV capacity") {
  const double duration = 9 + 9 + 1;
  CHECK(Case{.wait = 9, .memory = 10, .kv_limited = 0.49 * duration}.bottleneck().by == "memory");
  CHECK(Case{.wait = 9, .memory = 10, .kv_limited = 0.51 * duration}.bottleneck().by == "KV capacity");
  const std::vector<int> five = {2, 3};
  CHECK(Case{.wait = 9, .memory = 10, .kv_limited = 2.45 * duration, .replicas = five}.bottleneck().by ==
        "memory");
  CHECK_THAT(
      (Case{.wait = 9, .memory = 10, .kv_limited = 3 * duration, .replicas = five}.bottleneck().reason),
      Catch::StartsWith("requests waited for blocks 60 % of the run"));
}

TEST_CASE("bottleneck: only waiting for KV blocks counts as that, not for a static batch to end") {
  const ScratchDirectory scratch;
  const auto limited = [&](const std::string& kind, const std::string& blocks) {
    REQUIRE(test::run_small(
                scratch, "a",
                {"--set", "/workload/arrivals={\"kind\": \"all_at_once\"}", "--set",
                 "/serving/replicas/0/batching={\"kind\": \"" + kind + "\", \"max_batch_requests\": 16}",
                 "--set", "/serving/replicas/0/kv_cache/blocks=" + blocks})
                .code == 0);
    const Json summary = read_json_file(scratch / "out/a/summary.json");
    const double share = summary["kv_cache"]["limited_s"].get<double>() / summary["duration"].get<double>();
    CHECK((summary["bound"]["by"] == "KV capacity") == (share > 0.5));
    return share;
  };
  for (const char* kind : {"static", "orca", "chunked_prefill", "prefill_first"}) {
    INFO(kind);
    CHECK(limited(kind, "2000") == 0);  // never all taken
    CHECK(limited(kind, "400") > 0.5);
  }
}

TEST_CASE("bottleneck: a run in which nothing completed says so") {
  CHECK(find_bottleneck({}, {}, {}).reason == "no request completed");
}
