#include <catch2/catch.hpp>

#include "sim/core/params.h"
#include "test/app/run_weir.h"

// Bad input, tried as a user would: the exit code, a message that names the place, nothing left.
using namespace weir;
using namespace weir::test;
namespace fs = std::filesystem;

namespace {

using Settings = std::vector<std::string>;

Ended run_with(const ScratchDirectory& scratch, const std::string& name, const Settings& settings) {
  Settings more;
  for (const std::string& setting : settings) more.insert(more.end(), {"--set", setting});
  return test::run_small(scratch, name, more);
}

}  // namespace

TEST_CASE("weir run: every problem of a scenario is one line, with its file and pointer") {
  const ScratchDirectory scratch;
  const Ended ended = run_with(scratch, "a", {"/model=\"llama9\"", "/sed=3", "/slo/ttft_ms=-1"});
  CHECK(ended.code == 2);
  CHECK(lines(ended.err) == 3);
  const std::string file = shipped("quickstart.json");
  CHECK_THAT(ended.err, Catch::Contains(file + ": /model: ") &&
                            Catch::Contains(file + ": /sed: unknown key; did you mean \"seed\"?") &&
                            Catch::Contains(file + ": /slo/ttft_ms: expected a number > 0, got -1"));
  CHECK_FALSE(fs::exists(scratch / "out"));
}

TEST_CASE("weir run: what cannot be is said at its place, and nothing is made") {
  struct Case {
    Settings settings;
    std::string pointer, complaint;
  };
  const std::string replica = "/serving/replicas/0", device = "/cluster/nodes/0/devices/0",
                    arrivals = "/workload/arrivals";
  const std::vector<Case> cases = {
      {{arrivals + R"(={"kind": "poisson", "rate_per_s": -3})"}, arrivals + "/rate_per_s", "got -3"},
      {{arrivals + R"(={"kind": "closed_loop", "concurrency": 0})"}, arrivals + "/concurrency", "got 0"},
      {{arrivals + R"(={"kind": "trace"})"}, arrivals + "/kind", "needs an arrival"},
      {{device + R"(/kind="h100")"}, device + "/kind", "did you mean \"h100_nvl\"?"},
      {{R"(/model="llama3-8")"}, "/model", "did you mean \"llama3-8b\"?"},
      {{replica + R"(/batching/kind="chunked")"},
       replica + "/batching/kind",
       "did you mean \"chunked_prefill\"?"},
      {{device + "/memory_bandwidth_gb_per_s=0"}, device + "/memory_bandwidth_gb_per_s", "> 0, got 0"},
      {{device + "/memory_bandwidth_gb_per_s=1e-300"}, device + "/memory_bandwidth_gb_per_s", "1e-300"},
      {{device + "/memory_bandwidth_gb_per_s=1e300"}, device + "/memory_bandwidth_gb_per_s", "1e+300"},
      {{replica + "/parallelism/tensor=3"}, replica + "/parallelism", "attention heads (32)"},
      {{replica + "/parallelism/pipeline=64"}, replica + "/parallelism", "more stages than the 32 layers"},
      {{replica + "/parallelism/tensor=2"}, replica, "it needs 2 devices of one kind"},
      {{replica + R"(/device="h100")"}, replica + "/device", "did you mean \"h100_sxm\"?"},
      {{replica + R"(/kv_cache={"blocks": 10, "free_memory_fraction": 0.5})"},
       replica + "/kv_cache/blocks",
       "cannot stand beside"},
      {{R"(/model="llama3.1-405b")"}, replica, "does not fit on h100_sxm"},
      {{replica + "/kv_cache/blocks=400000000"}, replica + "/kv_cache/blocks", "leaves room for"},
      {{replica + "/max_model_len=100000000"}, replica + "/max_model_len", "the longest that"},
      {{"/workload/requests/count=1000000000000"}, "/workload/requests/count", "got 1000000000000"},
      {{"/cluster/nodes/0/count=1000000000000"}, "/cluster/nodes/0/count", "got 1000000000000"},
      {{"/cluster/nodes/0/count=4096", device + "/count=8"}, "/cluster/nodes", "at most 4096 nodes"},
      {{"/cluster/nodes/0/count=2000", R"(/cluster/network/topology="full_mesh")"},
       "/cluster/network/topology",
       "at most 1024"},
      {{"/timeseries_period_s=1e-9"}, "/timeseries_period_s", "too short"},
      {{device + R"(/profile="nowhere")"}, device + "/profile", "no such folder"},
  };
  const ScratchDirectory scratch;
  for (const Case& c : cases) {
    const Ended ended = run_with(scratch, "a", c.settings);
    INFO(c.settings.front() << ": " << ended.err);
    CHECK(ended.code == 2);
    CHECK(ended.out == "");
    CHECK_THAT(ended.err, Catch::Contains(shipped("quickstart.json") + ": " + c.pointer + ": ") &&
                              Catch::Contains(c.complaint));
  }
  if (fs::exists(scratch / "out")) CHECK(fs::is_empty(scratch / "out"));
}

TEST_CASE("weir run: a broken trace is bad input, every bad cell with its line") {
  const ScratchDirectory scratch;
  const std::string header = "arrival_s,input_tokens,output_tokens\n";
  const std::vector<std::pair<std::string, std::string>> traces = {
      {"", "is empty"},
      {header, "holds no request"},
      {"arrival_s,input_tokens\n1,2\n", "line 1: no column \"output_tokens\""},
      {header + "1,2,3\nnan,2,3\n", "line 3: arrival_s: expected a time >= 0"},
      {header + "-1,2,3\n", "line 2: arrival_s"},
      {header + "1e400,2,3\n", "line 2: arrival_s"},
      {header + "1,-2,3\n", "line 2: input_tokens: expected a whole number"},
      {header + "1,2,99999999999999999999\n", "line 2: output_tokens"},
      {header + "1,2\n", "line 2: expected 3 fields, got 2"},
      {"\x1b[31m\n\x1b[2J,1,2\n", "no column"},
  };
  const auto run_trace = [&](const std::string& path) {
    return run_with(scratch, "a",
                    {R"(/workload={"requests": {"kind": "csv", "file": ")" + path +
                     R"("}, "arrivals": {"kind": "trace"}})"});
  };
  for (const auto& [text, complaint] : traces) {
    const Ended ended = run_trace(write(scratch / "trace.csv", text));
    INFO(text << ": " << ended.err);
    CHECK(ended.code == 2);
    CHECK_THAT(ended.err, Catch::Contains("trace.csv: ") && Catch::Contains(complaint));
    CHECK(ended.err.find('\x1b') == std::string::npos);  // it steers no terminal
  }
  CHECK_THAT(run_trace(write(scratch / "gap.csv", header + "1,2,3\n,2,3\n")).err,
             Catch::Contains("/workload/arrivals/kind: ") && Catch::Contains("line 3: the arrival is empty"));
  CHECK_THAT(run_trace(scratch.path().string()).err, Catch::Contains("is a directory"));
  CHECK_THAT(run_trace((scratch / "absent.csv").string()).err, Catch::Contains("cannot be opened"));
  CHECK_FALSE(fs::exists(scratch / "out"));
}

TEST_CASE("weir run: requests that can never fit are rejected and counted, the others served") {
  const ScratchDirectory scratch;
  const Ended ended = run_with(scratch, "a", {"/serving/replicas/0/kv_cache/blocks=20"});
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  const Json summary = read_json_file(scratch / "out/a/summary.json");
  const std::string requests = contents(scratch / "out/a/requests.csv");
  int rejected = 0;
  for (std::size_t at = 0; (at = requests.find(",rejected\n", at)) != std::string::npos; ++at) ++rejected;
  CHECK(rejected > 0);
  CHECK(rejected < 40);
  CHECK(summary["rejected"] == rejected);
  CHECK(summary["completed"] == 40 - rejected);
}

TEST_CASE("weir run: a file whose name is not UTF-8 runs like any other") {
  const ScratchDirectory scratch;
  write(scratch / "\xfe.json",
        R"({"model": "llama3.1-8b", "cluster": {"nodes": [{"devices": [{"kind": "h100_sxm"}]}]},
    "workload": {"requests": {"kind": "fixed", "count": 1, "input_tokens": 9, "output_tokens": 9}, "arrivals": {"kind": "all_at_once"}}})");
  CHECK(run_weir({"run", "\xfe.json", "--out", "b"}, {.folder = scratch.path()}).code == 0);
  CHECK(read_json_file(scratch / "b/summary.json")["name"] == "\xef\xbf\xbd");
}

TEST_CASE("weir run --seed: takes what a seed can be and nothing else") {
  const ScratchDirectory scratch;
  for (const char* seed : {"-1", "1e3", "99999999999999999999999", "x", ""}) {
    const Ended ended =
        run_weir({"run", shipped("quickstart.json"), "--seed", seed}, {.folder = scratch.path()});
    INFO(seed << ": " << ended.err);
    CHECK(ended.code == 2);
    CHECK_THAT(ended.err, Catch::Contains("seed"));
  }
}

TEST_CASE("weir run: hostile and broken files are bad input, never a crash") {
  const ScratchDirectory scratch;
  const std::string nest(10 << 20, '[');
  const std::vector<std::pair<std::string, std::string>> files = {
      {"", "not valid JSON"},
      {"{", "not valid JSON"},
      {"[]", "expected an object"},
      {"{\"model\": NaN}", "not valid JSON"},
      {"{\"model\": \"\xff\xfe\"}", "not valid JSON"},
      {nest, "nested deeper"},
      {"{\"seed\": 1, \"seed\": 2}", "given twice"},
      {"{\"model\": \"llama3.1-8b\"}", "required, but missing"},
      {"{\"seed\": 1e400}", ""},
  };
  for (const auto& [text, complaint] : files) {
    const Ended ended =
        run_weir({"run", write(scratch / "x.json", text), "--out", (scratch / "out").string()});
    INFO(text.substr(0, 40) << ": " << ended.err);
    CHECK(ended.code == 2);
    CHECK_THAT(ended.err, Catch::Contains("x.json") && Catch::Contains(complaint));
    CHECK_FALSE(fs::exists(scratch / "out"));
  }
  CHECK(run_weir({"run", scratch.path().string()}).code == 2);
  CHECK(run_weir({"run", (scratch / "absent.json").string()}).code == 2);
  for (const char* assignment : {"seed=1", "/seed", "/seed=", "/seed={", "/serving/replicas/99/count=1",
                                 "/serving/replicas/9999999999/count=1", "/name/x=1", "/seed=2.5"}) {
    INFO(assignment);
    CHECK(run_with(scratch, "a", {assignment}).code == 2);
  }
}
