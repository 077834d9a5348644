// weir run, check and report of training scenarios, as a user sees them.
#include <catch2/catch.hpp>

#include "sim/app/results/csv.h"
#include "sim/core/params.h"
#include "test/app/run_weir.h"

using namespace weir;
using namespace weir::test;
namespace fs = std::filesystem;

namespace {

const std::string vgg19_in_memory = shipped("hetero_pim/hetero_pim.json");

}  // namespace

TEST_CASE("weir run: a training scenario leaves its summary, steps, timeline and figures") {
  const ScratchDirectory scratch;
  for (int time = 0; time < 2; ++time) {  // the second replaces the first
    const Ended ended = run_weir({"run", vgg19_in_memory, "--out", "out", "--timeline", "--figures"},
                                 {.folder = scratch.path()});
    INFO(ended.err);
    REQUIRE(ended.code == 0);
    CHECK_THAT(ended.out, Catch::Contains("vgg19, batch 32, 20 steps") && Catch::Contains("samples/s") &&
                              Catch::Contains("synchronisation"));
  }
  const fs::path out = scratch / "out";
  for (const char* figure : {"time_split.svg", "utilisation.svg", "step_time.svg"})
    CHECK(contents(out / figure).ends_with("</svg>\n\n"));
  CHECK(parse_json(contents(out / "performance.json"), "").contains("cpu_s"));

  const Json summary = read_json_file(out / "summary.json"), job = summary["training"].at(0);
  CHECK(summary["scenario"]["kind"] == "training");
  const Table steps = Table::read(out / "training_steps.csv");
  REQUIRE(steps.rows() == 20);
  double sum = 0, later = 0;
  for (std::size_t i = 0; i < 20; ++i) {
    sum += steps.number(i, "step_ms");
    if (i >= 10) later += steps.number(i, "step_ms");  // of 19 that are not profiled, from the tenth on
    CHECK(steps.number(i, "end_s") - steps.number(i, "start_s") ==
          Approx(1e-3 * steps.number(i, "step_ms")).margin(2e-9));
  }
  CHECK(job["mean_step_ms"].get<double>() == Approx(sum / 20));
  CHECK(job["steady_step_ms"].get<double>() == Approx(later / 10));
  CHECK(job["samples_per_s"].get<double>() == Approx(32 * 20 / job["duration"].get<double>()));
  CHECK(job["edp_js"].get<double>() == Approx(job["energy_j"].get<double>() * job["duration"].get<double>()));
  CHECK(job["energy_j"] > job["dynamic_energy_j"]);
  for (const auto& [name, unit] : job["units"].items()) CHECK(unit["utilisation"] <= 1);

  double last = 0;
  const Json timeline = read_json_file(out / "timeline.json");
  for (const Json& event : timeline["traceEvents"])
    if (event["ph"] == "X") last = std::max(last, event["ts"].get<double>() + event["dur"].get<double>());
  CHECK(last > 0);
}

TEST_CASE("weir run: who serves and trains leaves the files of both, and what each lost") {
  for (const char* name : {"chat", "reasoning"}) {
    const ScratchDirectory scratch;
    const Ended ended = run_weir({"run", shipped(std::string("training/") + name + "_beside_training.json"),
                                  "--out", "out", "--timeline", "--figures"},
                                 {.folder = scratch.path()});
    INFO(name << ": " << ended.err);
    REQUIRE(ended.code == 0);
    CHECK_THAT(ended.out, Catch::Contains("to replicas, of"));
    const fs::path out = scratch / "out";
    for (const char* figure : {"latency", "utilisation", "training_time_split", "training_utilisation"})
      CHECK(contents(out / (std::string(figure) + ".svg")).ends_with("</svg>\n\n"));
    CHECK_FALSE(read_json_file(out / "training_timeline.json")["traceEvents"].empty());
    CHECK_FALSE(read_json_file(out / "timeline.json")["traceEvents"].empty());
    const Json summary = read_json_file(out / "summary.json"), job = summary["training"].at(0);
    CHECK(job["lost_s"].get<double>() > 0.1);
    CHECK(job["duration"].get<double>() ==
          Approx(job["alone_duration"].get<double>() + job["lost_s"].get<double>()));
    Json without = read_json_file(shipped(std::string("training/") + name + "_beside_training.json"));
    without.erase("training");
    write_file(scratch / "without.json", without.dump());
    REQUIRE(run_weir({"run", "without.json", "--out", "without"}, {.folder = scratch.path()}).code == 0);
    const Json alone = read_json_file(scratch / "without/summary.json");
    CHECK(summary["without_training"]["p99_tpot_ms"] < summary["p99_tpot_ms"]);
    for (const auto& [metric, value] : summary["without_training"].items()) {
      INFO(metric);
      CHECK(value == alone[metric]);
    }
  }
}

TEST_CASE("weir run: a job of one profiled step has neither a steady step nor a split of its time") {
  const ScratchDirectory scratch;
  const Ended ended = run_weir({"run", vgg19_in_memory, "--out", (scratch / "out").string(), "--figures",
                                "--set", "/training/0/steps=1"});
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  const Json job = read_json_file(scratch / "out" / "summary.json")["training"].at(0);
  CHECK(job["steady_step_ms"].is_null());
  CHECK(job["time_split"].is_null());
  CHECK_FALSE(fs::exists(scratch / "out" / "step_time.svg"));
}

TEST_CASE("weir run: what a training scenario cannot have is bad input, and nothing is written") {
  const ScratchDirectory scratch;
  const auto refused = [&](const std::vector<std::string>& more, const std::string& pointer) {
    std::vector<std::string> words = {"run", vgg19_in_memory, "--out", "out"};
    words.insert(words.end(), more.begin(), more.end());
    const Ended ended = run_weir(words, {.folder = scratch.path()});
    INFO(ended.err);
    CHECK(ended.code == 2);
    CHECK(ended.out.empty());
    CHECK_THAT(ended.err, Catch::Contains(pointer + ": "));
    CHECK(scratch.names().empty());
  };
  refused({"--save-detailed"}, "--save-detailed");
  refused({"--set", "/training/0/batch=0"}, "/training/0/batch");
  refused({"--set", "/training/0/batch=4096"}, "/training/0/batch");
  refused({"--set", "/training/0/runtime/kind=\"gpu_only\""}, "/training/0/runtime");
  refused({"--set", "/workload={}"}, "/workload");
  refused({"--set", "/kind=\"serving\""}, "/workload");
  refused({"--set", "/kind=\"trains\""}, "/kind");
}

TEST_CASE("weir check: a training scenario is told with its machine, net, operators and candidates") {
  const Ended ended = run_weir({"check", vgg19_in_memory});
  INFO(ended.err);
  CHECK(ended.code == 0);
  CHECK_THAT(ended.out, Catch::Contains("1 training job") && Catch::Contains("20 steps of vgg19, batch 32") &&
                            Catch::Contains("xeon_e5_2630v3 + hetero_pim") &&
                            Catch::Contains("199 operators") && Catch::Contains("candidates: ") &&
                            Catch::Contains("Conv2DBackpropFilter") && Catch::Contains("estimated time"));
}

TEST_CASE("weir report, plot and compare: runs that train") {
  const ScratchDirectory scratch;
  const std::string a = (scratch / "a").string(), b = (scratch / "b").string();
  REQUIRE(run_weir({"run", vgg19_in_memory, "--quiet", "--out", a}).code == 0);
  REQUIRE(run_weir({"run", vgg19_in_memory, "--quiet", "--out", b, "--set",
                    "/training/0/runtime/kind=\"cpu_only\""})
              .code == 0);
  CHECK(run_weir({"report", a}).code == 0);
  CHECK_THAT(contents(scratch / "a" / "report.html"), Catch::Contains("training_0_steady_step_ms"));
  CHECK(run_weir({"plot", a}).out.empty());
  const Ended compared = run_weir({"compare", a, b});
  INFO(compared.err);
  CHECK(compared.code == 0);
  CHECK_THAT(compared.out, Catch::Contains("training_0_mean_step_ms") &&
                               Catch::Contains("/training/0/runtime/kind") && Catch::Contains("cpu_only"));
}
