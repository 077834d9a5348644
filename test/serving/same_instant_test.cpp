// Events of one instant have an order that no address in memory and no way of taking steps changes.
#include <array>
#include <catch2/catch.hpp>
#include <simgrid/s4u.hpp>

#include "devices/actor/alarm.h"
#include "sim/app/child_process.h"
#include "sim/serving/platform/courier.h"
#include "sim/serving/platform/engine.h"
#include "test/serving/run_in_child.h"

using namespace weir;
namespace sg4 = simgrid::s4u;
using test::Outcome;

namespace {

std::string in_child_of_its_own(std::string (*work)()) {
  std::string output;
  in_children(
      1, 1, [&](std::size_t) { return work(); },
      [&](std::size_t, ChildResult child) {
        REQUIRE(child.error == "");
        output = child.output;
        return true;
      });
  return output;
}

// Calls before it free their memory, in which timers of SimGrid would come first.
std::string calls_at_one_instant() {
  const auto engine = make_engine();
  const Plan plan = read_plan(test::small_scenario(), "test.json");
  const Cluster cluster(plan.scenario);
  std::string order;
  for (int i = 0; i < 8; ++i)
    call_at(Seconds(1 + i),
            [&order, i] { call_at(Seconds(20), [&order, i] { order += static_cast<char>('a' + i); }); });
  call_at(Seconds(10), [&order] {
    for (int i = 8; i < 16; ++i) call_at(Seconds(20), [&order, i] { order += static_cast<char>('a' + i); });
  });
  for (int i = 0; i < 4; ++i) call_at(Seconds(20), [&order, i] { order += static_cast<char>('0' + i); });
  sg4::Actor::create("waits", cluster.node(0), [] { sg4::this_actor::sleep_for(30); });
  engine->run();
  return order;
}

// The first is set last, and the third twice.
std::string alarms_at_one_instant() {
  const auto engine = make_engine();
  const Plan plan = read_plan(test::small_scenario(), "test.json");
  const Cluster cluster(plan.scenario);
  std::string order;
  std::array<Alarm, 4> alarms;
  for (std::size_t i = 0; i < alarms.size(); ++i)
    sg4::Actor::create("waits", cluster.node(0), [&, i] {
      sg4::this_actor::sleep_for(4 - static_cast<double>(i));
      alarms[i].set(Seconds(i == 2 ? 9 : 8));
      alarms[i].wait();
      order += static_cast<char>('0' + i);
    });
  call_at(Seconds(7), [&] {
    if (!alarms[2].ring_at(Seconds(8))) order += "not set ";
  });
  call_at(Seconds(8), [&] { order += "call "; });
  engine->run();
  return alarms[2].ring_at(Seconds(10)) ? "still set" : order;
}

Json on_ranks(const char* batching, const Json& engine) {
  Json s = test::small_scenario();
  s["model"] = "qwen3-30b-a3b";
  s["cluster"]["nodes"][0]["devices"][0]["count"] = 4;
  s["cluster"]["nodes"][0]["interconnect"] = "nvlink4_switch";
  Json& replica = s["serving"]["replicas"][0];
  replica["parallelism"] = {{"attention_data", 4}};
  replica["batching"] = {{"kind", batching}, {"max_batch_requests", 4}};
  replica["engine"] = engine;
  return s;
}

void check_both_ways(Json scenario) {
  INFO(scenario.dump());
  const Outcome fast = test::run(scenario);
  REQUIRE(fast.error == "");
  scenario["fast_forward"] = false;
  const Outcome slow = test::run(scenario);
  REQUIRE(slow.error == "");
  REQUIRE(fast.requests.size() == slow.requests.size());
  for (std::size_t i = 0; i < fast.requests.size(); ++i) {
    CHECK(fast.requests[i].finished.value() == Approx(slow.requests[i].finished.value()).epsilon(1e-9));
    CHECK(fast.requests[i].scheduled.value() == Approx(slow.requests[i].scheduled.value()).epsilon(1e-9));
  }
}

}  // namespace

TEST_CASE("same instant: calls come in the order in which they were set", "[engine]") {
  CHECK(in_child_of_its_own(calls_at_one_instant) == "0123abcdefghijklmnop");
}

TEST_CASE("same instant: alarms ring after calls, in the order in which they were made", "[engine]") {
  CHECK(in_child_of_its_own(alarms_at_one_instant) == "call 0123");
}

TEST_CASE(
    "same instant: parts of prompts that ranks store at once come to a tier in the order in which they were "
    "sent",
    "[engine]") {
  Json s = on_ranks("chunked_prefill", {{"kind", "ideal"}});
  s["seed"] = 9326;
  s["serving"]["replicas"][0]["batching"]["max_batch_tokens"] = 512;
  s["serving"]["replicas"][0]["kv_cache"] = {{"block_tokens", 1},
                                             {"blocks", 4000},
                                             {"admission", "prompt"},
                                             {"prefix_index", "radix_tree"},
                                             {"tiers",
                                              {{{"kind", "shared"},
                                                {"capacity_gb", 0.67108864},
                                                {"chunk_tokens", 64},
                                                {"stores", "all"},
                                                {"loads", "overlapped"},
                                                {"latency_us", 0},
                                                {"read_gb_per_s", 20},
                                                {"write_gb_per_s", 0.05}}}}};
  s["workload"] = {{"requests",
                    {{"kind", "generated_sessions"},
                     {"count", 45},
                     {"system_tokens", 300},
                     {"turns", {{"kind", "uniform"}, {"min", 2}, {"max", 6}}},
                     {"first_input", {{"kind", "lognormal"}, {"mean", 500}, {"std", 400}, {"max", 1500}}},
                     {"new_input", {{"kind", "lognormal"}, {"mean", 300}, {"std", 300}, {"max", 1200}}},
                     {"output", {{"kind", "gamma"}, {"mean", 200}, {"std", 60}, {"max", 600}}},
                     {"gap_ms", {{"kind", "lognormal"}, {"mean", 50}, {"std", 500}, {"max", 5000}}},
                     {"compaction", {{"above_tokens", 2500}, {"summary_tokens", 200}}},
                     {"sub_agents",
                      {{"probability", 0.2},
                       {"turns", {{"kind", "uniform"}, {"min", 1}, {"max", 3}}},
                       {"first_input", {{"kind", "fixed"}, {"value", 300}}}}}}},
                   {"arrivals", {{"kind", "sessions"}, {"concurrency", 12}}}};
  check_both_ways(s);
}

TEST_CASE(
    "same instant: an idle attention-data rank sees who comes as soon in a run of steps as in single ones",
    "[engine]") {
  for (int seed = 0; seed < 6; ++seed) {
    Json s = on_ranks("chunked_prefill",
                      {{"kind", "ideal"}, {"scheduler_recv_interval", 5}, {"prefill_schedule_interval", 4}});
    s["seed"] = seed;
    s["workload"]["requests"]["count"] = 24;
    s["workload"]["arrivals"] = {{"kind", "poisson"}, {"rate_per_s", 4}};
    check_both_ways(s);
  }
}

TEST_CASE("same instant: who is routed as a run of steps ends finds its tokens gone on every rank",
          "[engine]") {
  for (int seed = 1; seed <= 6; ++seed) {
    Json s = on_ranks("chunked_prefill", {{"kind", "ideal"}});
    s["seed"] = seed;
    s["cluster"]["nodes"][0]["devices"][0]["count"] = 8;
    s["serving"]["replicas"][0]["count"] = 2;
    s["serving"]["routing"] = {{"kind", "join_shortest_queue"}};
    s["workload"]["arrivals"] = {{"kind", "closed_loop"}, {"concurrency", 12}};
    check_both_ways(s);
  }
}

TEST_CASE("same instant: the last blocks of a rank are given back where no other step follows", "[engine]") {
  for (int seed = 1; seed <= 4; ++seed) {
    Json s = on_ranks("chunked_prefill",
                      {{"kind", "vllm_v1"}, {"scheduled_ahead_steps", 1}, {"prefill_schedule_interval", 2}});
    s["seed"] = seed;
    s["serving"]["replicas"][0]["kv_cache"] = {{"prefix_caching", true},
                                               {"tiers",
                                                {{{"kind", "disk"},
                                                  {"capacity_gb", 10},
                                                  {"chunk_tokens", 64},
                                                  {"stores", "all"},
                                                  {"latency_us", 200},
                                                  {"read_gb_per_s", 20},
                                                  {"write_gb_per_s", 20}}}}};
    s["workload"]["requests"]["count"] = 6;
    s["workload"]["arrivals"] = {{"kind", "all_at_once"}};
    check_both_ways(s);
  }
}
