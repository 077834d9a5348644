// Results of a recorder after a short run, by hand: shares of what is measured, samples, tracks.
#include <catch2/catch.hpp>

#include "sim/serving/record/recorder.h"

using namespace weir;

namespace {

Workload requests(std::size_t count, std::int64_t warmup = 0) {
  Workload workload;
  for (std::size_t i = 0; i < count; ++i)
    workload.requests.push_back(
        {.arrival = Seconds(static_cast<double>(i)), .input_tokens = 5, .output_tokens = 3});
  workload.warmup_requests = warmup;
  return workload;
}

StepCost step() {
  StepCost cost;
  cost.time = Seconds(8);
  cost.compute_bound = Seconds(1);
  cost.memory_bound = Seconds(2);
  cost.link_bound = Seconds(3);
  cost.host_bound = Seconds(1.5);
  cost.flops = Flops(40);
  cost.moved[own_memory] = Bytes(80);
  cost.moved[interconnect] = Bytes(120);
  cost.moved[2] = Bytes(1000);
  cost.prefetch.fetched = Bytes(16);
  cost.energy = Joules(24);
  cost.busy = {Seconds(4), Seconds(5), Seconds(6)};
  return cost;
}

DeviceUsage device(int devices) {
  DeviceUsage usage;
  usage.devices = devices;
  usage.link_bandwidth = BytesPerSecond(60);
  usage.units = {{"last", 2, false}, {"first", 0, false}};
  return usage;
}

}  // namespace

TEST_CASE("recorder: a device's step counts by the share of it that is measured") {
  Recorder recorder(requests(3, 1), Seconds(4), false);
  const std::size_t one = recorder.add_device(device(5)), other = recorder.add_device(device(2));
  recorder.sent(0, Seconds(0));  // the warm-up
  recorder.busy(one, Seconds(0), Seconds(8), step());
  recorder.sent(1, Seconds(14));
  CHECK_FALSE(recorder.kept(0));
  CHECK(recorder.kept(1));
  recorder.busy(one, Seconds(8), Seconds(16), step());  // a quarter of it is behind 14 s
  recorder.busy(one, Seconds(6), Seconds(14), step());  // ends as it begins to count
  recorder.busy(other, Seconds(14), Seconds(22), step());
  const RunResult result = recorder.finish(Seconds(30));
  CHECK(result.start == Seconds(14));
  CHECK(result.end == Seconds(30));
  const DeviceUsage &quarter = result.devices[one], &whole = result.devices[other];
  for (const auto& [usage, share] : {std::pair{&quarter, 0.25}, {&whole, 1.}}) {
    CHECK(usage->busy.value() == Approx(share * 8));
    CHECK(usage->compute_bound.value() == Approx(share * 1));
    CHECK(usage->memory_bound.value() == Approx(share * 2));
    CHECK(usage->link_bound.value() == Approx(share * 3));
    CHECK(usage->host_bound.value() == Approx(share * 1.5));
    CHECK(usage->flops.value() == Approx(share * 40));
    CHECK(usage->memory.value() == Approx(share * 80));
    CHECK(usage->link.value() == Approx(share * 120));
    CHECK(usage->prefetch.fetched.value() == Approx(share * 16));
    CHECK(usage->units[0].busy.value() == Approx(share * 6));
    CHECK(usage->units[1].busy.value() == Approx(share * 4));
  }
  CHECK(quarter.energy.value() == Approx(0.25 * 5 * 24));
  CHECK(whole.energy.value() == Approx(2 * 24));
}

TEST_CASE("recorder: samples are means over their periods, of each device and link its own") {
  Recorder recorder(requests(2), Seconds(4), false);
  const std::size_t idle = recorder.add_device(device(1)), busy = recorder.add_device(device(3));
  const std::size_t link = recorder.add_link({"a", BytesPerSecond(10), {}}),
                    wide = recorder.add_link({"b", BytesPerSecond(40), {}});
  recorder.sent(0, Seconds(0));
  recorder.queue(Seconds(0), Seconds(3), 2, 5, 7, true);
  recorder.queue(Seconds(3), Seconds(4), 6, 1, 11, false);
  recorder.queue(Seconds(4), Seconds(4), 100, 100, 100, true);  // no time
  recorder.queue(Seconds(4), Seconds(6), 4, 0, 3, true);
  recorder.tokens(Seconds(1), Seconds(5), 12);  // 9 of them in the first period
  recorder.busy(busy, Seconds(2), Seconds(6), step());
  recorder.carried(link, Seconds(2), Seconds(6), Bytes(24));
  recorder.carried(wide, Seconds(0), Seconds(4), Bytes(32));
  const RunResult result = recorder.finish(Seconds(6));
  REQUIRE(result.samples.size() == 2);
  const Sample &first = result.samples[0], &last = result.samples[1];
  CHECK(first.time == Seconds(4));
  CHECK(last.time == Seconds(6));  // of 2 s alone
  CHECK(first.running == Approx(3));
  CHECK(first.waiting == Approx(4));
  CHECK(first.kv_blocks == Approx(8));
  CHECK(first.tokens_per_s == Approx(9. / 4));
  CHECK(last.running == Approx(4));
  CHECK(last.waiting == Approx(0).margin(1e-12));
  CHECK(last.kv_blocks == Approx(3));
  CHECK(last.tokens_per_s == Approx(3. / 2));
  // Half of the 8 s are in each period, as half of the 120 bytes are.
  CHECK(first.device_utilisation[busy] == Approx(4. / 4));
  CHECK(last.device_utilisation[busy] == Approx(4. / 2));
  CHECK(first.link_utilisation[busy] == Approx(60. / 4 / 60));
  CHECK(last.link_utilisation[busy] == Approx(60. / 2 / 60));
  CHECK((first.device_utilisation[idle] == 0 && first.link_utilisation[idle] == 0));
  CHECK(first.flow_utilisation[link] == Approx(12. / 4 / 10));
  CHECK(last.flow_utilisation[link] == Approx(12. / 2 / 10));
  CHECK(first.flow_utilisation[wide] == Approx(32. / 4 / 40));
  CHECK(result.kv_limited.value() == Approx(3 + 2));
  CHECK(result.links[link].carried == Bytes(24));
  CHECK(result.links[wide].carried == Bytes(32));
}

TEST_CASE("recorder: before the first request that is kept, waiting and bytes do not count") {
  Recorder recorder(requests(3, 1), Seconds(4), false);
  const std::size_t link = recorder.add_link({"a", BytesPerSecond(10), {}});
  recorder.queue(Seconds(0), Seconds(3), 1, 1, 1, true);
  recorder.sent(0, Seconds(3));
  recorder.sent(1, Seconds(7));
  recorder.queue(Seconds(3), Seconds(9), 1, 1, 1, true);       // 2 s of 6
  recorder.carried(link, Seconds(5), Seconds(10), Bytes(50));  // 3 s of 5
  recorder.sent(2, Seconds(9));                                // it has begun
  recorder.tokens(Seconds(0), Seconds(9), 18);
  CHECK(recorder.generated() == Approx(18));
  const RunResult result = recorder.finish(Seconds(11));
  CHECK(result.kv_limited.value() == Approx(2));
  CHECK(result.links[link].carried.value() == Approx(30));
  CHECK(result.start == Seconds(7));
}

TEST_CASE("recorder: a warm-up that a run does not get through is left out, and it ends where it starts") {
  Workload workload = requests(5, 3);
  workload.requests[4].measured = false;
  Recorder recorder(workload, {}, false);
  recorder.sent(0, Seconds(2));
  const RunResult result = recorder.finish(Seconds(1));
  std::vector<bool> measured;
  for (const RequestRecord& record : result.requests) measured.push_back(record.request.measured);
  CHECK(measured == std::vector<bool>{false, false, false, true, false});
  CHECK(result.start == Seconds(1));
  CHECK(result.end == Seconds(1));
  CHECK(result.warmup_requests == 3);
  Recorder rejects(requests(2), {}, false);
  rejects.sent(0, Seconds(5));
  CHECK(rejects.finish(Seconds(2)).end == Seconds(5));
}

TEST_CASE("recorder: clients that wait for answers tell when they send, and an answer has half the trip") {
  Workload workload = requests(2);
  CHECK(Recorder(workload, {}, false).reply() == Seconds(0));
  CHECK(Recorder(workload, {}, false).record(1).request.arrival == Seconds(1));
  workload.closed_loop = ClosedLoop{.concurrency = 1, .round_trip = Seconds(0.5)};
  Recorder closed(workload, {}, false);
  CHECK(closed.reply() == Seconds(0.25));
  CHECK(closed.record(1).request.arrival == Seconds(-1));
  closed.sent(1, Seconds(6));
  CHECK(closed.record(1).request.arrival == Seconds(6));
  workload.closed_loop.reset();
  workload.max_in_flight = 1;
  CHECK(Recorder(workload, {}, false).record(1).request.arrival == Seconds(-1));
}

TEST_CASE("recorder: tokens found in tiers add up by tier, and a request has its own gaps") {
  Recorder recorder(requests(3), {}, false);
  recorder.keep_token_gaps();
  recorder.found_in_tiers(1, std::vector<TierTokens>{{0, 16}, {2, 32}, {0, 64}});
  CHECK(recorder.found_in_tiers(1));
  CHECK_FALSE(recorder.found_in_tiers(0));
  recorder.token_gap(2, 0.5);
  recorder.token_gap(2, 0.25);
  recorder.lost_to_others(Seconds(1));
  recorder.lost_to_others(Seconds(2));
  const RunResult result = recorder.finish(Seconds(1));
  CHECK(result.tier_tokens.at(1) == std::vector<std::int64_t>{80, 0, 32});
  CHECK(result.token_gaps == std::vector<std::vector<double>>{{}, {}, {0.5, 0.25}});
  CHECK(result.lost_to_others == Seconds(3));
}

TEST_CASE("recorder: phases of a request are boxes one behind the other, with arrows to its steps") {
  Recorder recorder(requests(2), {}, true);
  REQUIRE(recorder.wants_spans());
  recorder.arrow(0, 9, Seconds(0));  // there is no box yet
  recorder.phase(0, Seconds(1), "queued");
  recorder.phase(0, Seconds(3), "prefill");
  recorder.arrow(0, 4, Seconds(3));
  recorder.phase(0, Seconds(4), "prefill");  // the same again
  recorder.arrow(0, 4, Seconds(4));          // every step of a prefill
  recorder.phase(0, Seconds(6), "decode");
  recorder.arrow(0, 4, Seconds(6));  // the first step of a decode
  recorder.arrow(0, 4, Seconds(7));  // and no more
  recorder.phase(1, Seconds(5), "decode");
  recorder.arrow(1, 7, Seconds(5));
  recorder.arrow(1, 7, Seconds(6));
  recorder.phase(1, Seconds(8), nullptr);
  recorder.arrow(1, 7, Seconds(9));
  const RunResult result = recorder.finish(Seconds(10));
  struct Box {
    std::int32_t request;
    std::string phase;
    double start, duration;
    bool operator==(const Box&) const = default;
  };
  std::vector<Box> boxes;
  for (const RequestSpan& span : result.request_spans)
    boxes.push_back({span.request, span.phase, span.start.value(), span.duration.value()});
  CHECK(boxes == std::vector<Box>{
                     {0, "queued", 1, 2}, {0, "prefill", 3, 3}, {1, "decode", 5, 3}, {0, "decode", 6, 4}});
  std::vector<std::tuple<std::int32_t, std::int32_t, double>> arrows;
  for (const StepArrow& arrow : result.arrows)
    arrows.emplace_back(arrow.request, arrow.track, arrow.at.value());
  CHECK(arrows == std::vector<std::tuple<std::int32_t, std::int32_t, double>>{
                      {0, 4, 3}, {0, 4, 4}, {0, 4, 6}, {1, 7, 5}});
  CHECK(result.requests_drawn == 2);
}
