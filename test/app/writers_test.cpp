#include <catch2/catch.hpp>

#include <fstream>
#include <sstream>

#include "sim/app/output/writers.h"
#include "test/app/scratch_directory.h"

using namespace weir;
namespace fs = std::filesystem;

namespace {

std::string contents(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

RequestRecord record(double arrival, std::int64_t input, std::int64_t output, RequestStatus status) {
  RequestRecord r;
  r.request = {Seconds(arrival), input, output};
  r.status = status;
  return r;
}

RunResult small_result() {
  RunResult result;
  RequestRecord done = record(0.5, 100, 5, RequestStatus::completed);
  done.replica = 1;
  done.preemptions = 2;
  done.scheduled = Seconds(0.75);
  done.first_token = Seconds(1.5);
  done.finished = Seconds(3.5);
  RequestRecord single = record(1, 10, 1, RequestStatus::completed);
  single.replica = 0;
  single.scheduled = Seconds(1);
  single.first_token = single.finished = Seconds(1.0000000014);
  RequestRecord running = record(2, 20, 30, RequestStatus::unfinished);
  running.replica = 0;
  running.scheduled = Seconds(2.5);
  result.requests = {done, single, running, record(3, 1000000, 7, RequestStatus::rejected)};
  DeviceUsage usage;
  usage.name = "replica 0 stage 0";
  usage.kind = "h100_sxm";
  usage.devices = 2;
  usage.busy = Seconds(1.5);
  usage.memory = Bytes(6e12);
  usage.memory_bandwidth = BytesPerSecond(4e12);
  usage.energy = Joules(3);
  result.devices = {usage};
  result.samples = {{Seconds(1), 1.5, 0.25, 100, 2000, {0.5}, {0.125}}};
  result.tracks = {"replica 0 \"gpu\""};
  result.spans = {{0, Seconds(0.001), Seconds(0.0005), "decode", 3, 3, 2}};
  result.kv_blocks_total = 200;
  result.kv_blocks_peak = 100;
  result.start = Seconds(0.5);
  result.end = Seconds(3.5);
  return result;
}

}  // namespace

TEST_CASE("requests.csv: one row a request, empty where a time is not defined") {
  const ScratchDirectory scratch;
  write_requests_csv(scratch / "requests.csv", small_result());
  CHECK(contents(scratch / "requests.csv") ==
        "request_id,arrival_s,input_tokens,output_tokens,replica,scheduled_s,first_token_s,finished_s,ttft_"
        "ms,tpot_ms,"
        "e2el_ms,preemptions,status\n"
        "0,0.500000000,100,5,1,0.750000000,1.500000000,3.500000000,1000.000000,500.000000,3000.000000,2,"
        "completed\n"
        "1,1.000000000,10,1,0,1.000000000,1.000000001,1.000000001,0.000001,,0.000001,0,completed\n"
        "2,2.000000000,20,30,0,2.500000000,,,,,,0,unfinished\n"
        "3,3.000000000,1000000,7,,,,,,,,0,rejected\n");
}

TEST_CASE("timeseries.csv: a column a quantity, a unit and its links") {
  const ScratchDirectory scratch;
  write_timeseries_csv(scratch / "timeseries.csv", small_result());
  CHECK(contents(scratch / "timeseries.csv") ==
        "time_s,running,waiting,kv_blocks_used,output_tokens_per_s,replica_0_stage_0_utilisation,"
        "replica_0_stage_0_link_utilisation\n"
        "1.000000,1.500,0.250,100.000,2000.000,0.5000,0.1250\n");
}

TEST_CASE("timeline.json: is JSON, names its tracks and keeps times in microseconds") {
  const ScratchDirectory scratch;
  write_timeline_json(scratch / "timeline.json", small_result());
  const Json timeline = read_json_file(scratch / "timeline.json");
  const Json& events = timeline.at("traceEvents");
  const auto find = [&](const std::string& phase, const std::string& name) {
    for (const Json& e : events)
      if (e.at("ph") == phase && e.at("name") == name) return e;
    return Json();
  };
  CHECK(find("M", "thread_name").at("args").at("name") == "replica 0 \"gpu\"");
  const Json box = find("X", "decode");
  CHECK(box.at("ts") == 1000);
  CHECK(box.at("dur") == 500);
  CHECK(box.at("args").at("steps") == 2);
  CHECK(find("C", "requests").at("args").at("running") == 1.5);
}

TEST_CASE("timeline.json: a run without tracks, spans or samples is still JSON") {
  const ScratchDirectory scratch;
  write_timeline_json(scratch / "timeline.json", {});
  CHECK(read_json_file(scratch / "timeline.json").at("traceEvents").is_array());
}

TEST_CASE("summary.json: has every field of the contract, null where nothing defines it") {
  Plan plan;
  Scenario& scenario = plan.scenario;
  scenario.resolved = {{"seed", 1}};
  const RunResult result = small_result();
  const Json s = summary_json({plan, result, measure(result, {})});
  for (const char* field :
       {"duration", "completed", "failed", "total_input_tokens", "total_output_tokens", "request_throughput",
        "request_goodput", "output_throughput", "total_token_throughput", "devices",
        "output_tokens_per_joule", "cost", "kv_cache", "iterations", "simulated_s", "scenario"})
    CHECK(s.contains(field));
  for (const std::string statistic : {"mean", "median", "std", "p50", "p90", "p95", "p99"})
    for (const std::string metric : {"ttft_ms", "tpot_ms", "itl_ms", "e2el_ms"})
      CHECK(s.contains(statistic + "_" + metric));
  CHECK(s["completed"] == 2);
  CHECK(s["failed"] == 2);
  CHECK(s["request_goodput"].is_null());  // no SLO was given
  CHECK(s["mean_tpot_ms"] == 500);
  CHECK(Json::parse(s.dump())["mean_itl_ms"].is_null());  // no gaps
  CHECK(s["devices"][0]["utilisation"] == 0.5);
  CHECK(s["devices"][0]["memory_bandwidth_utilisation"] == 0.5);
  CHECK(s["output_tokens_per_joule"] == 2);
  CHECK(s["kv_cache"]["peak"] == 0.5);
  CHECK(s["scenario"] == scenario.resolved);
}

TEST_CASE("summaries: say what became of prefetches, where there were any") {
  const Plan plan;
  RunResult result = small_result();
  const auto json = [&] { return summary_json({plan, result, measure(result, {})})["devices"][0]; };
  const auto table = [&] { return summary_table({plan, result, measure(result, {})}, false); };
  CHECK_FALSE(json().contains("prefetch"));
  CHECK_THAT(table(), !Catch::Contains("Prefetch"));
  result.devices[0].prefetch = {Bytes(8e9), Bytes(4e9), Bytes(1e9), Bytes(3e9)};
  CHECK(json()["prefetch"] ==
        Json{{"fetched_bytes", 8e9}, {"used_bytes", 4e9}, {"evicted_bytes", 1e9}, {"left_bytes", 3e9}});
  CHECK_THAT(table(), Catch::Contains("16 GB into L2: 50.0 % used, 12.5 % evicted, 37.5 % never asked for"));
}

TEST_CASE("summary table: shows what a reader looks for, plain unless it is for a terminal") {
  Plan plan;
  Scenario& scenario = plan.scenario;
  scenario.name = "two requests";
  scenario.slo.ttft = Seconds(1);
  const RunResult result = small_result();
  const Metrics metrics = measure(result, scenario.slo);
  const std::string plain = summary_table({plan, result, metrics}, false);
  for (const char* word :
       {"two requests", "2 completed", "1 rejected", "1 unfinished", "TTFT", "TPOT", "ITL", "E2E", "p99",
        "within TTFT 1000 ms", "h100_sxm", "kJ", "$", "KV cache", "Bound by"})
    CHECK_THAT(plain, Catch::Contains(word));
  CHECK(plain.find('\033') == std::string::npos);
  CHECK(summary_table({plan, result, metrics}, true).find('\033') != std::string::npos);
}
