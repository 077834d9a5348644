// Studies that are files: formulas against numbers worked by hand, what is wrong with a file, and one that is
// run.
#include "sim/studies/study_file/study_file.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <sstream>

#include "test/app/run_weir.h"

namespace weir::test {
namespace {

// A study of a probe, which needs no run; with changes.
Json small() {
  return Json::parse(R"json({
    "title": "dies",
    "axes": {"mb": [8, 16, 32]},
    "cases": {"die": {"probe": "device", "axes": ["mb"], "set": {"/kind": "l2_npu", "/l2_mb": "{mb}"}}},
    "let": {"larger": "die.die_mm2 / die{mb=8}.die_mm2"},
    "parts": [{
      "name": "dies",
      "tables": [{"name": "dies", "rows": ["mb"], "columns": [
        {"name": "L2, MB", "value": "mb"}, {"name": "mm2", "value": "die.die_mm2", "format": ".2f"}]}],
      "rows": [
        {"id": "die_{mb}", "metric": "over that of 8 MB, {mb} MB", "each": ["mb"], "value": "larger"},
        {"id": "all", "metric": "it grows", "value": "rises[mb](larger)", "paper": 1, "accept_min": 1,
         "at": "argmax[mb](larger)", "note": "most at {mb} MB: {larger:.3f}"}]
}],
    "figures": [{"name": "dies", "table": "dies", "chart": {"x_column": "L2, MB", "x": {"label": "x"},
      "y": {"label": "y"}, "series": [{"column": "mm2", "title": "t"}]}}]
})json");
}

std::string file_of(const ScratchDirectory& scratch, const Json& study) {
  return write(scratch / "study.json", study.dump());
}

// Gives what `weir check` says of the study, with the value at the pointer set.
std::string complaints(const std::string& pointer, const Json& value) {
  const ScratchDirectory scratch;
  Json study = small();
  study[Json::json_pointer(pointer)] = value;
  const Ended ended = run_weir({"check", file_of(scratch, study)});
  CHECK(ended.code == 2);
  return ended.err;
}

}  // namespace

TEST_CASE("study file: anybody's is reproduced as our own are") {
  const ScratchDirectory scratch;
  const std::string file = file_of(scratch, small());
  const auto out = scratch / "out";
  const Ended ended = run_weir({"reproduce", file, "--figures", "--out", out.string()});
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  const Json rows = parse_json(contents(out / "reproduce.json"), "reproduce.json");
  REQUIRE(rows.size() == 4);
  CHECK(rows[0]["id"] == "die_8");
  CHECK(rows[0]["simulated"] == 1);
  CHECK(rows[0]["within"].is_null());
  CHECK(rows[3]["within"] == true);
  CHECK(rows[3]["physical"].is_null());
  CHECK(rows[3]["note"] == fmt::format("most at 32 MB: {:.3f}", rows[2]["simulated"].get<double>()));
  std::istringstream table(contents(out / "dies.csv"));
  std::string heading;
  std::getline(table, heading);
  CHECK(heading == "\"L2, MB\",mm2");
  CHECK_THAT(contents(out / "dies.svg"), Catch::Contains("</svg>"));
  CHECK_THAT(ended.out, Catch::Contains("die_32") && Catch::Contains("within"));
  CHECK(run_weir({"check", file}).out == file + ": ok (for weir reproduce: 4 rows)\n");

  const auto one = scratch / "one";
  REQUIRE(run_weir({"reproduce", file, "--only", "die_3", "--out", one.string()}).code == 0);
  CHECK(parse_json(contents(one / "reproduce.json"), "")[0]["id"] == "die_32");
  const Ended none = run_weir({"reproduce", file, "--only", "dye", "--out", (scratch / "no").string()});
  CHECK(none.code == 2);
  CHECK_THAT(none.err, Catch::Contains("known: die_8, die_16, die_32, all"));
}

TEST_CASE("study file: its points are the runs of their scenarios", "[engine]") {
  const ScratchDirectory scratch;
  const std::string file = WEIR_SOURCE_DIR "/docs/studies/chunked_prefill.json";
  const auto out = scratch / "out";
  const Ended ended = run_weir({"reproduce", file, "--out", out.string()});
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  const Json rows = parse_json(contents(out / "reproduce.json"), "");
  const auto p99 = [&](const std::string& batching) {
    const auto run = scratch / batching.substr(9, 6);
    REQUIRE(run_weir({"run", shipped("quickstart.json"), "--set", "/workload/arrivals/rate_per_s=24", "--set",
                      "/workload/requests/count=480", "--set", "/serving/replicas/0/batching=" + batching,
                      "--out", run.string()})
                .code == 0);
    return parse_json(contents(run / "summary.json"), "")["p99_itl_ms"].get<double>();
  };
  const double gain = p99(R"({"kind":"prefill_first","max_batch_requests":256,"max_batch_tokens":8192})") /
                      p99(R"({"kind":"chunked_prefill","max_batch_tokens":2048})");
  CHECK(rows[2]["id"] == "tab2_24");
  CHECK(rows[2]["simulated"] == gain);
  CHECK(rows[3]["note"] == fmt::format("most at 24 requests/s: {:.2f}", gain));
}

TEST_CASE("study file: every problem has its pointer, and nothing runs") {
  using Catch::Contains;
  CHECK_THAT(complaints("/titel", "x"), Contains("/titel: unknown key"));
  CHECK_THAT(complaints("/title", 5), Contains("/title: expected a string"));
  CHECK_THAT(complaints("/axes/MB", Json::array({1})), Contains("/axes/MB: expected a name"));
  CHECK_THAT(complaints("/axes/set", Json::array({1})), Contains("/axes/set: expected a name"));
  CHECK_THAT(complaints("/axes/mb", Json::array()), Contains("/axes/mb: expected a list"));
  CHECK_THAT(complaints("/axes/mb", Json::array({8, 8})), Contains("/axes/mb: 8 is given twice"));
  CHECK_THAT(complaints("/axes/mb", Json::array({8, "a"})), Contains("/axes/mb: \"a\" is not of the kind"));
  CHECK_THAT(complaints("/axes/mb", {{"from", 1}, {"to", 2}, {"steps", 5000}}),
             Contains("more than 1000 values"));
  CHECK_THAT(complaints("/axes/more", 7), Contains("/axes/more: expected a list"));
  CHECK_THAT(complaints("/cases/die/axes/0", "mib"), Contains("/cases/die/axes/0: no such axis"));
  CHECK_THAT(complaints("/cases/die/probe", "dice"),
             Contains("/cases/die/probe: no such probe") && Contains("layer_reads"));
  CHECK_THAT(complaints("/cases/die/apply", Json::array({"x"})), Contains("/cases/die/apply: overlays"));
  CHECK_THAT(complaints("/cases/die/set/~1kind", "l3_npu"),
             Contains("/cases/die: die: mb 8") && Contains("l3_npu"));
  CHECK_THAT(complaints("/cases/die/set/~1l2_mb", "=mb +"),
             Contains("/cases/die/set/~1l2_mb: Unexpected end"));
  CHECK_THAT(complaints("/cases/die/set/~1l2_mb", "={mb"), Contains("/cases/die/set/~1l2_mb"));
  CHECK_THAT(complaints("/cases/die/with", {{"mb", 1}}), Contains("/cases/die/with/mb: expected a name"));
  CHECK_THAT(complaints("/cases/die/set/~1l3_mb", 1), Contains("/cases/die: die: mb 8: /l3_mb: unknown key"));
  CHECK_THAT(complaints("/let/larger", "die.mm2"),
             Contains("/let/larger: no such number") && Contains("die_mm2"));
  CHECK_THAT(complaints("/let/die", "1"), Contains("/let/die: expected a name"));
  CHECK_THAT(complaints("/parts/0/rows/1/value", "larger"), Contains("/parts/0/rows/1/value: depends on mb"));
  CHECK_THAT(complaints("/parts/0/rows/1/id", "die_8"),
             Contains("/parts/0/rows/1/id: another row has the id die_8"));
  CHECK_THAT(complaints("/parts/0/rows/1/at", "max[mb](larger)"),
             Contains("/parts/0/rows/1/at: expected argmax"));
  CHECK_THAT(complaints("/parts/0/rows/1/paper", "nothing"), Contains("/parts/0/rows/1/paper: no such name"));
  CHECK_THAT(complaints("/parts/0/tables/0/name", "../dies"),
             Contains("/parts/0/tables/0/name: expected a name"));
  CHECK_THAT(complaints("/parts/0/tables/0/columns/1/format", "1000000f"),
             Contains("/columns/1/format: expected"));
  CHECK_THAT(complaints("/figures/0/table", "dice"), Contains("/figures/0/table: no such table"));
  CHECK_THAT(complaints("/figures/1", small()["figures"][0]), Contains("/figures/1/name: another figure"));
  CHECK_THAT(complaints("/figures/0/name", "a\"b"), Contains("/figures/0/name: expected a name"));
  CHECK_THAT(complaints("/figures/0/chart/x_column", "mb"),
             Contains("/figures/0/chart/x_column: no such column"));
  CHECK_THAT(complaints("/scenario", "nowhere.json"), Contains("/scenario: ") && Contains("nowhere.json"));
  CHECK_THAT(complaints("/parts", Json::array()), Contains("/parts: expected a list of at least 1"));

  Json shared = small();  // in what cases share
  shared["scenario"] = Json::object();
  shared["overlays"]["x"]["/model"] = "{size}b";
  shared["sets"] = {{"simulated", {{"/seed", "=1 +"}}}, {"physical", Json::object()}};
  shared["cases"]["served"]["apply"] = Json::array({"x"});
  {
    const ScratchDirectory scratch;
    const Ended ended = run_weir({"check", file_of(scratch, shared)});
    CHECK_THAT(ended.err, Contains("/overlays/x/~1model: in case served: no such name (got \"size\"") &&
                              Contains("/sets/simulated/~1seed: in case served: Unexpected end"));
  }

  Json study = small();  // all at once
  study["let"]["larger"] = "dye";
  study["parts"][0]["rows"][0]["metric"] = "{dye}";
  study["figures"][0]["table"] = "dye";
  const ScratchDirectory scratch;
  const Ended ended = run_weir({"reproduce", file_of(scratch, study), "--out", (scratch / "out").string()});
  CHECK(ended.code == 2);
  CHECK_THAT(ended.err,
             Contains("/let/larger") && Contains("/rows/0/metric") && Contains("/figures/0/table"));
  CHECK(scratch.names() == std::set<std::string>{"study.json"});
}

TEST_CASE("study file: a case that cannot run ends its part, one that may fail has no value", "[engine]") {
  const ScratchDirectory scratch;
  Json study = Json::parse(R"json({
    "title": "memory",
    "scenario": {},
    "axes": {"fraction": [0.9, 0.15]},
    "cases": {"served": {"axes": ["fraction"], "may_fail": true, "set": {
      "/workload/requests/count": 2, "/serving/replicas/0/kv_cache/memory_fraction": "{fraction}"}}},
    "parts": [
      {"name": "first", "rows": [
        {"id": "a_{fraction}", "metric": "m", "each": ["fraction"], "value": "served.completed"},
        {"id": "a_sum", "metric": "m", "value": "count[fraction](served.completed)"
}]
},
      {"name": "second", "rows": [{"id": "b", "metric": "m", "value": "1", "paper": 1}]}]
})json");
  study["scenario"] = read_json_file(shipped("quickstart.json"));
  const auto rows = [&](const char* out) {
    const Ended ended = run_weir({"reproduce", file_of(scratch, study), "--out", (scratch / out).string()});
    INFO(ended.err);
    REQUIRE(ended.code == 0);
    return parse_json(contents(scratch / out / "reproduce.json"), "");
  };
  const Json may = rows("may");
  REQUIRE(may.size() == 4);
  CHECK(may[0]["simulated"] == 2);
  CHECK(may[1]["simulated"].is_null());
  CHECK(may[1]["note"] == "no point of it has a value");
  CHECK(may[2]["simulated"] == 1);
  study["cases"]["served"]["may_fail"] = false;
  const Json must = rows("must");
  REQUIRE(must.size() == 2);
  CHECK(must[0]["id"] == "first");
  CHECK(must[0]["within"] == false);
  CHECK_THAT(must[0]["note"].get<std::string>(), Catch::Contains("served: simulated, fraction 0.15: "));
  CHECK(must[1]["simulated"] == 1);
}

TEST_CASE("study file: commands that take none say whose it is") {
  const ScratchDirectory scratch;
  const std::string file = file_of(scratch, small());
  for (const char* command : {"run", "sweep", "plan", "explore"}) {
    const Ended ended = run_weir({command, file}, {.folder = scratch.path()});
    INFO(command << ": " << ended.err);
    CHECK(ended.code == 2);
    CHECK_THAT(ended.err, Catch::Contains("this is a study: weir reproduce " + file));
  }
  const Ended ended = run_weir({"reproduce", shipped("quickstart.json")}, {.folder = scratch.path()});
  CHECK(ended.code == 2);
  CHECK_THAT(ended.err, Catch::Contains("this is no study"));
  CHECK(scratch.names() == std::set<std::string>{"study.json"});
}

TEST_CASE("study file: a script of somebody's is not run") {
  const ScratchDirectory scratch;
  Json study = small();
  study["figures"][0].erase("chart");
  study["figures"][0]["gnuplot"] = "dies.gp";
  write(scratch / "dies.gp", "system(\"touch ran\")\n");
  const Ended ended = run_weir({"reproduce", file_of(scratch, study), "--figures", "--out", "out"},
                               {.folder = scratch.path()});
  CHECK(ended.code == 2);  // it has no figure that is drawn
  CHECK_THAT(ended.err, Catch::Contains("/figures/0/gnuplot: dies is not drawn"));
  CHECK(scratch.names() == std::set<std::string>{"dies.gp", "study.json"});
}

TEST_CASE("study file: those within Weir are right, and the schema that is committed is theirs") {
  REQUIRE_FALSE(study::own_studies().empty());
  for (const Study& own : study::own_studies()) {
    const Ended ended = run_weir({"check", shipped("studies/" + own.name + "/study.json")});
    INFO(ended.err);
    CHECK(ended.code == 0);
    CHECK(ended.out.ends_with(fmt::format("ok (for weir reproduce: {} rows)\n", own.ids().size())));
  }
  CHECK(contents(shipped("study.schema.json")) == study::schema().dump(2) + "\n");
}

}  // namespace weir::test
