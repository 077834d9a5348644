// `fast_forward` promises times to 1e-9: every shipped scenario that has runs of steps to sum, with and
// without. Scenarios that train have theirs by step.
#include <catch2/catch.hpp>
#include <set>

#include "sim/app/results/csv.h"
#include "test/app/run_weir.h"

using namespace weir;
using namespace weir::test;

namespace {

// Stepping these takes longest: the cases below, side by side.
const std::set<std::string> slow = {"l3/hbm_pim", "l3/neo", "l3/quick", "l3/spare_memory"};

// No run of theirs is ever summed: collectives are flows, or the replica has stages. And hermes/sharegpt with
// answers that take ten times as long.
const std::set<std::string> never = {"cluster/collective_flows", "hermes/openr1", "neupims/gpt3-175b_tp8_pp4",
                                     "neupims/gpt3-30b_tp4_pp2"};

struct Times {
  const char* file;
  std::vector<const char*> columns;
};
const Times of_requests = {"requests.csv", {"scheduled_s", "first_token_s", "finished_s"}};
const Times of_steps = {"training_steps.csv", {"start_s", "end_s"}};

void check_alike(const std::string& scenario, const std::vector<std::string>& settings = {}) {
  INFO(scenario);
  const ScratchDirectory scratch;
  const bool trains = read_json_file(shipped(scenario + ".json")).value("kind", "") == "training";
  const auto& [file, columns] = trains ? of_steps : of_requests;
  Table played[2];
  for (const bool fast : {false, true}) {
    const std::filesystem::path out = scratch / (fast ? "fast" : "stepped");
    std::vector<std::string> command = {"run",
                                        shipped(scenario + ".json"),
                                        "--quiet",
                                        "--out",
                                        out.string(),
                                        "--set",
                                        std::string("/fast_forward=") + (fast ? "true" : "false")};
    command.insert(command.end(), settings.begin(), settings.end());
    const Ended ended = run_weir(command);
    INFO(ended.err);
    REQUIRE(ended.code == 0);
    played[fast] = Table::read(out / file);
  }
  const auto& [stepped, fast] = played;
  REQUIRE(fast.rows() == stepped.rows());
  constexpr double nanoseconds = 2e-9;  // what the columns are rounded to, twice
  for (std::size_t i = 0; i < stepped.rows(); ++i)
    for (const char* time : columns) {
      INFO("row " << i << " " << time);
      REQUIRE(fast.text(i, time).empty() == stepped.text(i, time).empty());
      if (!stepped.text(i, time).empty())
        CHECK(fast.number(i, time) == Approx(stepped.number(i, time)).epsilon(1e-9).margin(nanoseconds));
    }
}

void check_short(const std::string& scenario) {
  check_alike(scenario, made_short(scenario));
}

}  // namespace

TEST_CASE("fast-forward: requests and steps of every shipped scenario end when they do one by one, to 1e-9") {
  int checked = 0;
  for (const std::filesystem::path& file : shipped_scenarios()) {
    const std::string name = name_of_shipped(file);
    if (slow.contains(name) || never.contains(name) || name.starts_with("bench/") ||
        name.ends_with("reference"))
      continue;
    check_short(name);
    ++checked;
  }
  CHECK(checked > 30);
}

// A preempted request that finds fewer of its blocks needs fewer for the next chunk of its prompt.
TEST_CASE("fast-forward: a preempted request joins when some of what it would find again is gone") {
  for (const char* host : {"200", "300", "500"})
    check_alike("batching/priority",
                {"--set", "/serving/replicas/0/engine/step_overhead_us=" + std::string(host), "--set",
                 "/serving/replicas/0/engine/cuda_graphs=\"every_size\""});
}

TEST_CASE("fast-forward: NEO's requests end when they do step by step, to 1e-9") {
  check_short("l3/neo");
}

TEST_CASE("fast-forward: requests of L3, spare memory or not, end when they do step by step, to 1e-9") {
  check_short("l3/quick");
  check_short("l3/spare_memory");
}

TEST_CASE("fast-forward: requests of GPUs with HBM-PIM end when they do step by step, to 1e-9") {
  check_short("l3/hbm_pim");
}

TEST_CASE("fast-forward: long scenarios as they are shipped end when they do step by step", "[.soak]") {
  int checked = 0;
  for (const std::filesystem::path& file : shipped_scenarios()) {
    const std::string name = name_of_shipped(file);
    if (made_short(name).empty() || never.contains(name)) continue;
    check_alike(name);
    ++checked;
  }
  CHECK(checked > 8);
}
