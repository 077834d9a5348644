// weir sweep over scenarios that train: the same tables, columns and commands as for those that serve.
#include <catch2/catch.hpp>

#include "sim/app/results/csv.h"
#include "test/app/run_weir.h"

using namespace weir;
using namespace weir::test;

namespace {

std::string sweep(const ScratchDirectory& scratch, const std::string& more = "") {
  return write(scratch / "sweep.json",
               R"({"name": "clocks", "scenario": ")" + shipped("hetero_pim/hetero_pim.json") +
                   R"(", "vary": {"/training/0/clock_multiple": [1, 2, 4]})" + more + "}");
}

}  // namespace

TEST_CASE("weir sweep: points that train have a row each, with the numbers of their summaries") {
  const ScratchDirectory scratch;
  const std::string out = (scratch / "out").string();
  const Ended ended = run_weir({"sweep", sweep(scratch), "--out", out});
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  CHECK_THAT(ended.out, Catch::Contains("By samples/s of the first job") &&
                            Catch::Contains("clock_multiple 4, ") && Catch::Contains("step ms"));
  const Table rows = Table::read(scratch / "out" / "results.csv");
  REQUIRE(rows.rows() == 3);
  for (std::size_t i = 0; i + 1 < 3; ++i)
    CHECK(rows.number(i + 1, "training_0_samples_per_s") > rows.number(i, "training_0_samples_per_s"));
  CHECK(rows.number(0, "training_0_units_pairs_utilisation") <= 1);
  CHECK(rows.number(0, "duration") == Approx(rows.number(0, "training_0_duration")));
  CHECK_THROWS(rows.number(0, "training_0_batch"));  // it was given

  CHECK(run_weir({"report", out}).code == 0);
  CHECK(run_weir({"plot", out}).out.empty());  // figures of requests are none of theirs
  for (const char* kind : {"cdf", "breakdown", "throughput_latency"})
    CHECK(run_weir({"plot", out, "--kind", kind}).code == 2);
  CHECK(run_weir({"plot", out, "--kind", "throughput_latency", "--x", "training_0_samples_per_s", "--y",
                  "training_0_energy_j"})
            .code == 0);
  const Ended compared = run_weir({"compare", out, out});
  CHECK(compared.code == 0);
  CHECK_THAT(compared.out, Catch::Contains("training_0_samples_per_s"));
}

TEST_CASE("weir sweep: points that train may have a Pareto front, and no search for an SLO") {
  const ScratchDirectory scratch;
  const std::string out = (scratch / "out").string();
  const Ended front = run_weir(
      {"sweep",
       sweep(scratch, R"(, "pareto": {"metrics": ["training_0_samples_per_s", "training_0_energy_j"]})"),
       "--out", out});
  INFO(front.err);
  CHECK(front.code == 0);
  CHECK_THAT(front.out, Catch::Contains("on the Pareto front"));
  for (const std::string search : {"capacity", "cheapest"}) {
    const Ended ended =
        run_weir({"sweep", sweep(scratch, ", \"" + search + R"(": {"ttft_ms": 100})"), "--out", out});
    INFO(ended.err);
    CHECK(ended.code == 2);
    CHECK_THAT(ended.err, Catch::Contains("/" + search + ": ") && Catch::Contains("trains"));
  }
  const Ended layouts = run_weir({"check", sweep(scratch, R"(, "layouts": "all")")});
  INFO(layouts.err);
  CHECK(layouts.code == 2);
}
