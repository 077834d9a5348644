// Every shipped scenario gives the same bytes twice, with an actor a device and folded. `fast_forward`
// promises times to 1e-9: where there are runs of steps to sum, with and without. Scenarios that train have
// theirs by step. And each gives what was recorded of it.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <set>

#include "sim/app/results/csv.h"
#include "sim/core/params.h"
#include "test/app/recorded/figures.h"
#include "test/app/run_weir.h"
#include "test/app/scratch_directory.h"

using namespace weir;
using namespace weir::test;
namespace fs = std::filesystem;

namespace {

// Stepping these takes longest: cases of their own, side by side.
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

// Runs of one scenario, each in a folder of its name.
class Runs {
 public:
  Runs(std::string scenario, std::vector<std::string> settings)
      : scenario_(std::move(scenario)),
        settings_(std::move(settings)),
        trains_(read_json_file(file()).value("kind", "") == "training") {}

  void play(const std::string& name, const std::vector<std::string>& more) {
    std::vector<std::string> words = {"run", file(), "--timeline", "--quiet", "--out", name};
    words.insert(words.end(), settings_.begin(), settings_.end());
    words.insert(words.end(), more.begin(), more.end());
    const Ended ended = run_weir(words, {.folder = scratch_.path()});
    INFO(scenario_ << ": " << ended.err);
    REQUIRE(ended.code == 0);
  }
  void play_with_actors(const std::string& actors) {
    play(actors, trains_ ? std::vector<std::string>()
                         : std::vector<std::string>{"--set", fmt::format("/actors=\"{}\"", actors)});
  }
  void play_step_by_step() { play("stepped", {"--set", "/fast_forward=false"}); }

  Figures figures(const std::string& name) const {
    return figures_of(read_json_file((scratch_ / name / "summary.json").string()));
  }

  void same_bytes(const std::string& a, const std::string& b) const {
    std::vector<std::string> files = {"summary.json", "requests.csv", "timeseries.csv", "timeline.json"};
    if (trains_) files = {"summary.json", "training_steps.csv", "timeline.json"};
    for (const std::string& name : files) {
      INFO(scenario_ << ": " << name);
      REQUIRE(fs::exists(scratch_ / a / name));
      CHECK(compared(scratch_ / a / name) == compared(scratch_ / b / name));
    }
  }

  void same_times(const std::string& a, const std::string& b) const {
    const auto& [name, columns] = trains_ ? of_steps : of_requests;
    const Table one = Table::read(scratch_ / a / name), other = Table::read(scratch_ / b / name);
    INFO(scenario_);
    REQUIRE(one.rows() == other.rows());
    constexpr double nanoseconds = 2e-9;  // what the columns are rounded to, twice
    for (std::size_t i = 0; i < other.rows(); ++i)
      for (const char* time : columns) {
        INFO("row " << i << " " << time);
        REQUIRE(one.text(i, time).empty() == other.text(i, time).empty());
        if (!other.text(i, time).empty())
          CHECK(one.number(i, time) == Approx(other.number(i, time)).epsilon(1e-9).margin(nanoseconds));
      }
  }

 private:
  std::string file() const { return shipped(scenario_ + ".json"); }

  // Without the one key that two runs of a serving scenario differ in.
  static std::string compared(const fs::path& file) {
    const std::string text = contents(file);
    if (file.filename() != "summary.json") return text;
    Json summary = Json::parse(text);
    summary["scenario"].erase("actors");
    return summary.dump(2);
  }

  std::string scenario_;
  std::vector<std::string> settings_;
  bool trains_;
  ScratchDirectory scratch_;
};

void check_stepped(const std::string& scenario, const std::vector<std::string>& settings) {
  Runs runs(scenario, settings);
  runs.play("summed", {});
  runs.play_step_by_step();
  runs.same_times("summed", "stepped");
}

// Returns whether it was played step by step, too.
bool check_all(const std::string& scenario, const std::vector<std::string>& settings) {
  Runs runs(scenario, settings);
  runs.play_with_actors("devices");
  runs.play_with_actors("groups");
  runs.same_bytes("devices", "groups");
  static FiguresByRun recorded = read_figures("shipped");
  INFO(scenario << ": figures moved; see test/app/recorded/figures.h");
  CHECK(moved(recorded[scenario], runs.figures("devices")) == "");
  if (slow.contains(scenario) || never.contains(scenario) || scenario.ends_with("reference")) return false;
  runs.play_step_by_step();
  runs.same_times("devices", "stepped");
  return true;
}

bool takes_long(const std::string& scenario) {
  return scenario.starts_with("bench/") || scenario == "hermes/openr1";
}

// Every scenario belongs to one of so many groups, by turns; this one is played.
void check_every(int groups, int number) {
  int at = 0, checked = 0, stepped = 0;
  for (const fs::path& file : shipped_scenarios()) {
    const std::string name = name_of_shipped(file);
    if (takes_long(name) || at++ % groups != number) continue;
    stepped += check_all(name, made_short(name));
    ++checked;
  }
  CHECK(checked > 15);
  CHECK(stepped > 15);
}

}  // namespace

TEST_CASE("shipped scenarios: the same bytes folded, the same times step by step, one half") {
  check_every(2, 0);
}
TEST_CASE("shipped scenarios: the same bytes folded, the same times step by step, the other half") {
  check_every(2, 1);
}

TEST_CASE("shipped scenarios: their figures, recorded anew", "[.record]") {
  FiguresByRun recorded;
  for (const fs::path& file : shipped_scenarios()) {
    const std::string name = name_of_shipped(file);
    if (takes_long(name)) continue;
    Runs runs(name, made_short(name));
    runs.play_with_actors("devices");
    recorded[name] = runs.figures("devices");
  }
  write_figures("shipped", recorded);
}

TEST_CASE("shipped scenarios: long ones as they are shipped", "[.soak]") {
  int checked = 0;
  for (const fs::path& file : shipped_scenarios()) {
    const std::string name = name_of_shipped(file);
    if (made_short(name).empty()) continue;
    check_all(name, {});
    if (slow.contains(name)) check_stepped(name, {});
    ++checked;
  }
  CHECK(checked > 10);
}

// A preempted request that finds fewer of its blocks needs fewer for the next chunk of its prompt.
TEST_CASE("fast-forward: a preempted request joins when some of what it would find again is gone") {
  for (const char* host : {"200", "300", "500"})
    check_stepped("batching/priority",
                  {"--set", "/serving/replicas/0/engine/step_overhead_us=" + std::string(host), "--set",
                   "/serving/replicas/0/engine/cuda_graphs=\"every_size\""});
}

TEST_CASE("fast-forward: NEO's requests end when they do step by step, to 1e-9") {
  check_stepped("l3/neo", made_short("l3/neo"));
}

TEST_CASE("fast-forward: requests of L3, spare memory or not, end when they do step by step, to 1e-9") {
  check_stepped("l3/quick", made_short("l3/quick"));
  check_stepped("l3/spare_memory", made_short("l3/spare_memory"));
}

TEST_CASE("fast-forward: requests of GPUs with HBM-PIM end when they do step by step, to 1e-9") {
  check_stepped("l3/hbm_pim", made_short("l3/hbm_pim"));
}
