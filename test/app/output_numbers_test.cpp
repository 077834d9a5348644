// Numbers of what a run leaves, by hand: no two quantities alike, and limits met exactly.
#include <catch2/catch.hpp>

#include "sim/app/output/bottleneck.h"
#include "sim/app/output/prompts/prompt_sources.h"
#include "sim/app/output/writers.h"
#include "sim/app/sweep/time_estimate.h"

using namespace weir;

namespace {

RequestRecord answered(double arrival, double wait, double service, std::int64_t input, std::int64_t output) {
  RequestRecord r;
  r.request = {Seconds(arrival), input, output};
  r.scheduled = Seconds(arrival + wait);
  r.first_token = r.finished = Seconds(arrival + wait + service);
  r.status = RequestStatus::completed;
  return r;
}

DeviceUsage steps_of(int devices, double compute, double memory, double links, double host) {
  DeviceUsage usage;
  usage.devices = devices;
  usage.compute_bound = Seconds(compute);
  usage.memory_bound = Seconds(memory);
  usage.link_bound = Seconds(links);
  usage.host_bound = Seconds(host);
  return usage;
}

// Ten requests, one a second, on one replica whose step time is the memory's.
RunResult ten_requests(double wait, double service) {
  RunResult result;
  for (int i = 0; i < 10; ++i) result.requests.push_back(answered(i, wait, service, 10, 1));
  result.end = result.requests.back().finished;
  result.devices = {steps_of(1, 0, 1, 0, 0)};
  return result;
}

Bottleneck bound_of(const RunResult& result, const Scenario& scenario = {}) {
  return find_bottleneck(scenario, result, measure(result, {}));
}

}  // namespace

// A request waits a tenth of its time; the last one comes at 9 s.
TEST_CASE(
    "bottleneck: a tenth of the time in a queue, or half of the run after the last arrival, is a backlog") {
  CHECK(bound_of(ten_requests(0.25, 2.25)).by == "memory");
  CHECK(bound_of(ten_requests(0.24, 2.25)).by == "arrivals");
  CHECK(bound_of(ten_requests(0, 9)).by == "memory");
  CHECK(bound_of(ten_requests(0, 8.9)).by == "arrivals");
}

TEST_CASE(
    "bottleneck: requests that a client holds back, or whose sessions wait for others, are no arrivals") {
  const RunResult easy = ten_requests(0, 1);
  Scenario scenario;
  scenario.workload.max_in_flight = 3;
  CHECK(bound_of(easy, scenario).by == "arrivals");  // which held none back
  RunResult held = easy;
  held.held_at_client = true;
  CHECK(bound_of(held).by == "arrivals");
  CHECK(bound_of(held, scenario).by == "memory");
}

// 3 x (2 + 1) and 1 x (4 + 6) device-seconds: 6 of arithmetic, 3 of memory, 4 of links and 6 of the host.
TEST_CASE("bottleneck: step time counts as often as a unit has devices, and the first of equals is named") {
  RunResult result = ten_requests(9, 1);  // 19 s
  result.devices = {steps_of(3, 2, 1, 0, 0), steps_of(1, 0, 0, 4, 6)};
  const Bottleneck bound = bound_of(result);
  CHECK(bound.by == "compute");
  CHECK(
      bound.reason ==
      "32 % of step time (compute 32, memory 16, links 21, host 32 %); devices are in steps 25 % of the run");
}

TEST_CASE(
    "bottleneck: more must be rejected than completed, and requests wait for blocks more than half of it") {
  RunResult result = ten_requests(9, 1);
  for (int i = 0; i < 10; ++i) {
    result.requests.emplace_back().request = {Seconds(0), 1000, 1};
    result.requests.back().status = RequestStatus::rejected;
  }
  CHECK(bound_of(result).by == "memory");
  result.requests.push_back(result.requests.back());
  CHECK(bound_of(result).by == "KV capacity");
  CHECK(bound_of(result).reason == "11 requests can never fit, 10 completed");
  RunResult limited = ten_requests(9, 1);
  limited.kv_limited = Seconds(9.5);
  Scenario one;
  one.replicas.emplace_back();
  CHECK(bound_of(limited, one).by == "memory");
  limited.kv_limited = Seconds(9.6);
  CHECK(bound_of(limited, one).by == "KV capacity");
}

// The first prompt has 100 tokens: 20 were found, 30 came from the first tier and 10 from the second.
TEST_CASE("metrics: prompts' tokens are computed, found, or of a tier, of completed requests alone") {
  RunResult result;
  result.requests = {answered(0, 0, 1, 100, 2), answered(1, 0, 1, 50, 3), answered(2, 0, 1, 1000, 7)};
  result.requests[0].found_tokens = 20;
  result.requests[1].found_tokens = 5;
  result.requests[2].found_tokens = 400;
  result.requests[2].status = RequestStatus::lost;
  result.requests.push_back(answered(3, 0, 1, 8, 1));
  result.requests[3].status = RequestStatus::unfinished;
  result.kv_tiers = 2;
  result.tier_tokens = {{0, {30, 10}}, {1, {0, 4}}, {2, {100, 200}}};
  result.end = Seconds(4);
  const Metrics m = measure(result, {});
  CHECK((m.requests == 4 && m.completed == 2 && m.lost == 1 && m.unfinished == 1 && m.rejected == 0));
  CHECK(m.input_tokens == 150);
  CHECK(m.found_tokens == 25);
  CHECK(m.tier_tokens == std::vector<std::int64_t>{30, 14});
  CHECK(m.computed_tokens() == 81);
  CHECK(sources_of(result, 0) == std::vector<std::int64_t>{40, 20, 30, 10});
  CHECK(sources_of(result, 1) == std::vector<std::int64_t>{41, 5, 0, 4});
  CHECK(sources_of(result, 3) == std::vector<std::int64_t>{8, 0, 0, 0});
}

TEST_CASE("prompt sources: prompts lie in periods of a sixtieth, and in tenths by the share that was found") {
  PromptSums sums(120, 3);               // of two seconds
  sums.add(1.9, 100, {25, 60, 15});      // 75 % found
  sums.add(0, 300, {50, 100, 50});       // likewise, in the first period too
  sums.add(2, 40, {10, 0, 0});           // none, in the second
  sums.add(120, 7, {0, 0, 8});           // all, and at the end
  sums.add(6, std::nan(""), {4, 4, 0});  // never answered
  sums.add(-1, 5, {1000, 0, 0});         // never scheduled
  const PromptSources of = std::move(sums).result().value();
  CHECK(of.sources == std::vector<std::string>{"computed", "KV cache", "tier 0"});
  REQUIRE(of.time_s.size() == 60);
  CHECK(of.time_s.front() == 2);
  CHECK(of.time_s.back() == 120);
  CHECK(of.tokens_per_s[0][0] == 75. / 2);
  CHECK(of.tokens_per_s[1][0] == 160. / 2);
  CHECK(of.tokens_per_s[2][0] == 65. / 2);
  CHECK(of.tokens_per_s[0][1] == 5);
  CHECK(of.tokens_per_s[2][59] == 4);
  CHECK(of.hit_percent[0] == 75);
  CHECK(of.hit_percent[1] == 0);
  CHECK(of.hit_percent[2] == 0);  // as before it
  CHECK(of.hit_percent[3] == 50);
  CHECK(of.hit_percent[58] == 50);
  CHECK(of.hit_percent[59] == 100);
  REQUIRE(of.tenths.size() == 3);
  CHECK((of.tenths[0].from_percent == 0 && of.tenths[0].requests == 1 && of.tenths[0].p50_ttft_ms == 40));
  CHECK((of.tenths[1].from_percent == 70 && of.tenths[1].requests == 2));
  CHECK(of.tenths[1].p50_ttft_ms == 200);
  CHECK(of.tenths[1].p90_ttft_ms == Approx(280));
  CHECK((of.tenths[2].from_percent == 90 && of.tenths[2].requests == 1));
  CHECK_FALSE(PromptSums(1, 2).result());
}

// Four seconds are measured, from the first second on.
TEST_CASE("summary.json: a unit's rates are of what is measured, each over its own peak") {
  RunResult result;
  result.requests = {answered(1, 0, 2, 30, 1), answered(2, 0, 3, 50, 7)};
  result.start = Seconds(1);
  result.end = Seconds(5);
  DeviceUsage usage = steps_of(3, 1, 2, 0.5, 0.25);
  usage.busy = Seconds(3);
  usage.flops = Flops(8e12);
  usage.peak = FlopsPerSecond(16e12);
  usage.memory = Bytes(6e12);
  usage.memory_bandwidth = BytesPerSecond(2e12);
  usage.link = Bytes(4e9);
  usage.link_bandwidth = BytesPerSecond(10e9);
  usage.units = {{"pim", 0, false, Seconds(0.5)}};
  usage.energy = Joules(40);
  usage.cost_dollars = 0.5;
  usage.dollars_per_hour = 9;
  usage.die_mm2 = 814;
  result.devices = {usage};
  result.links = {{"nic", BytesPerSecond(5e9), Bytes(3e9)}};
  result.kv_blocks_total = 80;
  result.kv_blocks_peak = 20;
  result.kv_limited = Seconds(1.5);
  result.experts = {6, 4};
  result.drafts = {10, 30, 15};
  result.predictions.resize(3);
  result.predictions[0].batched = 4;
  result.predictions[2].batched = 7;
  Plan plan;
  const Json s = summary_json({plan, result, measure(result, {})});
  const Json& device = s["devices"][0];
  CHECK(device["utilisation"] == 0.75);
  CHECK((device["compute_bound_s"] == 1 && device["memory_bound_s"] == 2));
  CHECK((device["link_bound_s"] == 0.5 && device["host_bound_s"] == 0.25));
  CHECK(device["units"]["pim"] == Json{{"busy_s", 0.5}, {"utilisation", 0.125}});
  CHECK(device["flops_utilisation"] == 0.125);
  CHECK(device["memory_gb_per_s"] == 1500);
  CHECK(device["memory_bandwidth_utilisation"] == 0.75);
  CHECK(device["link_gb_per_s"] == 1);
  CHECK(device["link_bandwidth_utilisation"] == 0.1);
  CHECK(device["die_mm2"] == 814);
  CHECK(s["links"][0] ==
        Json{{"name", "nic"}, {"carried_gb", 3.0}, {"gb_per_s", 0.75}, {"utilisation", 0.15}});
  CHECK(s["output_tokens_per_joule"] == 0.2);
  CHECK(s["cost"]["dollars"] == 0.5);
  CHECK(s["cost"]["dollars_per_hour"] == 9);
  CHECK(s["cost"]["device_hours"].get<double>() == Approx(3 * 4 / 3600.));
  CHECK(s["cost"]["dollars_per_million_output_tokens"] == 62500);
  CHECK((s["kv_cache"]["peak"] == 0.25 && s["kv_cache"]["limited_s"] == 1.5));
  CHECK(s["experts"]["imbalance"] == 1.5);
  CHECK(s["prediction_error_percent"]["batched"] == 5.5);  // of those that have one
  CHECK(s["prediction_error_percent"]["offloaded"].is_null());
  CHECK(s["simulated_s"] == 5);
}

TEST_CASE("time estimate: seconds up to a hundred, minutes up to a hundred, hours beyond") {
  TimeEstimate e{.points = 40, .point_s = 12.25, .timed = 3, .failed = "", .all_s = 99, .jobs = 5};
  CHECK(in_words(e) == "estimated time: about 99 s on 5 cores (from 3 points run now, 12 s each)");
  e.all_s = 100;
  CHECK_THAT(in_words(e), Catch::StartsWith("estimated time: about 2 minutes on"));
  e.all_s = 5999;
  e.at_least = true;
  CHECK_THAT(in_words(e), Catch::StartsWith("estimated time: more than 100 minutes on"));
  e.all_s = 9000;
  e.jobs = e.timed = 1;
  CHECK(in_words(e) == "estimated time: more than 2.5 hours on 1 core (from 1 point run now, 12 s each)");
  CHECK(in_words(TimeEstimate{.failed = "", .all_s = 2}) == "estimated time: about 2 s on 1 core (run now)");
  CHECK(in_words(TimeEstimate{.whole = false, .failed = "why", .all_s = 2}) ==
        "estimated time: about 2 s on 1 core (from its beginning, run now)\nnote: it failed: why");
  CHECK(flows_warning({.failed = "", .all_s = 59}).empty());
  CHECK(flows_warning({.failed = "", .all_s = 60}).size() == 1);
  CHECK(flows_warning({.at_least = true, .failed = "", .all_s = 6}).size() == 1);
}
