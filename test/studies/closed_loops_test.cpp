// Closed loops that Weir plays itself, so that what they had is known, read as measured ones are.
#include "sim/studies/validation/closed_loops.h"

#include <catch2/catch.hpp>

#include "sim/studies/case_runner.h"
#include "test/app/scratch_directory.h"

namespace weir::test {
namespace {

struct Loop {
  int tensor, clients, seats, output;
  int front_end_tokens_per_s = 0;
};

Json scenario_of(const Loop& l) {
  Json engine = {{"kind", "trtllm"}};
  if (l.front_end_tokens_per_s > 0) engine["front_end_tokens_per_s"] = l.front_end_tokens_per_s;
  const Json replica = {
      {"parallelism", {{"tensor", l.tensor}}},
      {"batching", {{"kind", "orca"}, {"max_batch_requests", l.seats}, {"max_batch_tokens", 1152}}},
      {"engine", engine}};
  const Json node = {{"count", 1},
                     {"devices", Json::array({{{"kind", "h100_sxm"}, {"count", 8}}})},
                     {"interconnect", "nvlink4_switch"}};
  return {
      {"model", "llama3.1-8b"},
      {"cluster", {{"nodes", Json::array({node})}}},
      {"serving", {{"replicas", Json::array({replica})}}},
      {"workload",
       {{"requests",
         {{"kind", "fixed"}, {"count", 22 * l.clients}, {"input_tokens", 1024}, {"output_tokens", l.output}}},
        {"arrivals",
         {{"kind", "closed_loop"},
          {"concurrency", l.clients},
          {"warmup_requests", 2 * l.clients},
          {"restart_after_warmup", true}}}}}};
}

std::vector<MeasuredServer> played(const std::vector<Loop>& loops) {
  const ScratchDirectory scratch;
  ReproduceOptions options;
  options.files = scratch.path();
  options.jobs = 2;
  std::vector<Case> cases;
  for (const Loop& l : loops) cases.push_back({"loop", scenario_of(l)});
  const std::vector<CaseResult> results = run_cases(cases, options);
  std::vector<MeasuredServer> servers;
  for (std::size_t i = 0; i < loops.size(); ++i) {
    REQUIRE(results[i].error == "");
    servers.push_back({.device = "h100_sxm",
                       .engine = "trtllm",
                       .model = "llama3.1-8b",
                       .weights = "bf16",
                       .tensor = loops[i].tensor,
                       .input_tokens = 1024,
                       .output_tokens = loops[i].output,
                       .concurrency = loops[i].clients,
                       .load = {},
                       .ttft_ms = results[i].ttft_mean_ms,
                       .tpot_ms = results[i].tpot_mean_ms,
                       .source = "played"});
  }
  return servers;
}

}  // namespace

TEST_CASE("closed loops: TTFT tells how many seats a server had less than clients, and no record of them") {
  for (const int missing : {0, 1, 3}) {
    INFO(missing << " missing");
    std::vector<Loop> loops;
    for (const int clients : {8, 16, 32})
      for (const int output : {128, 256, 512}) loops.push_back({1, clients, clients - missing, output});
    std::vector<MeasuredServer> servers = played(loops);
    const auto seats = missing_seats(servers);
    REQUIRE(seats.size() == 1);
    CHECK(seats.begin()->first == "h100_sxm_trtllm_llama3.1-8b_bf16_tp1");
    CHECK(seats.begin()->second.pairs == 6);
    CHECK(seats.begin()->second.whole() == missing);
    CHECK_THAT(seats.begin()->second.missing, Catch::WithinAbs(missing, 0.3));

    servers[0].load.max_batch_requests = 5;  // is on record
    seat_clients(servers);
    CHECK(servers[0].load.max_batch_requests == 5);
    for (std::size_t i = 1; i < servers.size(); ++i)
      CHECK(servers[i].load.max_batch_requests == servers[i].concurrency - missing);
  }
}

TEST_CASE("closed loops: rows that fewer GPUs would answer sooner are held up by something else") {
  constexpr int as_it_makes = 0, let_through = 2500;  // tokens/s; four GPUs make more
  std::vector<MeasuredServer> servers = played({{1, 32, 32, 256, as_it_makes},
                                                {2, 32, 32, 256, as_it_makes},
                                                {4, 32, 32, 256, let_through},
                                                {4, 4, 4, 256, let_through},
                                                {1, 4, 4, 256, as_it_makes}});
  mark_held_up(servers);
  std::vector<bool> held_up;
  for (const MeasuredServer& s : servers) held_up.push_back(s.held_up);
  CHECK(held_up == std::vector<bool>{false, false, true, false, false});
}

}  // namespace weir::test
