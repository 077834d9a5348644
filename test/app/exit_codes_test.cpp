// 0 all done, 1 the machine, 2 bad input, 3 it ran and is not whole, 130 interrupted: here 1 and 3; 2 is in
// bad_input_test.cpp, 130 in interruption_test.cpp, those of sweeps in sweep/.
#include <catch2/catch.hpp>

#include <cstdlib>

#include "sim/core/params.h"
#include "test/app/run_weir.h"

using namespace weir;
using namespace weir::test;
namespace fs = std::filesystem;

namespace {

const std::string endless_requests =
    R"(/workload/requests={"kind": "fixed", "count": 5, "input_tokens": 10000000, "output_tokens": 2})";

// A shell's script that has a small file system, `disk`, where it runs.
Ended on_a_small_disk(const ScratchDirectory& scratch, const std::string& script) {
  const std::string mounted = "mkdir -p disk && mount -t tmpfs -o size=600k none disk && " + script;
  return run_weir({}, {.folder = scratch.path(), .under = {"unshare", "-rm", "sh", "-c", mounted}});
}

}  // namespace

TEST_CASE("weir --help: says what the exit codes mean") {
  const std::string help = run_weir({"--help"}).out;
  for (const char* meaning : {"0 all done", "1 an error of the machine", "2 bad input", "130 interrupted"})
    CHECK_THAT(help, Catch::Contains(meaning));
}

TEST_CASE("weir run: a device that is switched off ends the run with 3, and the lost requests are named") {
  const ScratchDirectory scratch;
  const Ended ended = run_weir({"run", shipped("quickstart.json"), "--quiet", "--out", "out", "--set",
                                "/cluster/nodes/0/devices/0/state_profile=[[1, 0]]"},
                               {.folder = scratch.path()});
  CHECK(ended.code == 3);
  CHECK_THAT(ended.err, Catch::Contains("node0.h100_sxm-0 was switched off 1 s after the start"));
  CHECK_THAT(ended.err, Catch::Contains("lost with it: "));
  CHECK_THAT(contents(scratch / "out/requests.csv"), Catch::Contains(",lost"));
  const Json summary = Json::parse(contents(scratch / "out/summary.json"));
  CHECK(summary["lost"] > 0);
  CHECK(summary["failed"] ==
        summary["rejected"].get<int>() + summary["lost"].get<int>() + summary["unfinished"].get<int>());
}

TEST_CASE("weir run: where not one request completes its results are written, it says so and ends with 3") {
  const ScratchDirectory scratch;
  struct Case {
    std::string setting, said;
  };
  for (const Case& c : {Case{endless_requests, "5 rejected (longer than what can be served), 0 unfinished"},
                        {"/simulated_time_limit_s=1e-3", "0 rejected"}})
    for (const bool quiet : {false, true}) {
      const Ended ended = run_small(scratch, "a",
                                    quiet ? std::vector<std::string>{"--set", c.setting, "--quiet"}
                                          : std::vector<std::string>{"--set", c.setting});
      CHECK(ended.code == 3);
      CHECK_THAT(ended.err, Catch::Contains("weir: not one request completed: ") && Catch::Contains(c.said));
      CHECK(ended.out.empty() == quiet);
      CHECK(read_json_file(scratch / "out/a/summary.json")["completed"] == 0);
      CHECK(fs::exists(scratch / "out/a/requests.csv"));
      fs::remove_all(scratch / "out");
    }
  CHECK(run_small(scratch, "a", {"--set", "/workload/requests/count=1"}).code == 0);
}

TEST_CASE("weir check: notes where no request can ever be served, and only there") {
  const ScratchDirectory scratch;
  const auto checked = [&](const char* max_model_len, const char* lengths, const char* roles = "both") {
    std::string text = R"({"model": "llama3.1-8b",
      "cluster": {"nodes": [{"devices": [{"kind": "h100_sxm", "count": 2}], "interconnect": "nvlink4_switch"}]},
      "serving": {"replicas": REPLICAS},
      "workload": {"requests": {"kind": "csv", "file": "trace.csv"}, "arrivals": {"kind": "all_at_once"}}})";
    const auto replica = [&](const char* role) {
      return fmt::format(R"({{"role": "{}", "max_model_len": {}}})", role, max_model_len);
    };
    const std::string replicas =
        roles == std::string("both") ? replica("both") : replica("prefill") + ", " + replica("decode");
    text.replace(text.find("REPLICAS"), 8, "[" + replicas + "]");
    write(scratch / "trace.csv", std::string("input_tokens,output_tokens\n") + lengths);
    const Ended ended = run_weir({"check", write(scratch / "s.json", text)});
    INFO(ended.err);
    CHECK(ended.code == 0);
    return ended.err;
  };
  const auto note = Catch::Contains(
      "note: no request can ever be served: the shortest of the 2 has 101 tokens, "
      "and a replica takes one of 100 at the most");
  for (const char* roles : {"both", "prefill and decode"}) {
    CHECK_THAT(checked("100", "100,1\n200,3\n", roles), note);
    CHECK_THAT(checked("101", "100,1\n200,3\n", roles), !Catch::Contains("no request"));
    CHECK_THAT(checked("null", "100,1\n200,3\n", roles), !Catch::Contains("no request"));
    CHECK_THAT(checked("null", "10000000,1\n20000000,3\n", roles), Catch::Contains("has 10000001 tokens"));
  }
}

TEST_CASE(
    "weir run: on a full disk it ends with 1 and one line, the old results whole and nothing beside them") {
  if (std::system("unshare -rm true 2> /dev/null") != 0) {
    WARN("skipped: may not mount a small file system here");
    return;
  }
  const ScratchDirectory scratch;
  const std::string weir = WEIR_BINARY " run " + shipped("quickstart.json") + " --out disk/a";
  const Ended ended = on_a_small_disk(
      scratch, weir + " --quiet && cp disk/a/requests.csv before && " + weir +
                   " --set /workload/requests/count=12000; echo code $?; cmp before disk/a/requests.csv && "
                   "echo whole; ls -A disk");
  CHECK(ended.out == "code 1\nwhole\na\n");
  CHECK(lines(ended.err) == 1);
  CHECK_THAT(ended.err, Catch::StartsWith("weir: cannot write ") &&
                            Catch::EndsWith("requests.csv: No space left on device\n"));
  const Ended anew = on_a_small_disk(
      scratch, "true; " + weir + " --set /workload/requests/count=12000 2> /dev/null; ls -A disk");
  CHECK(anew.out == "");
}

TEST_CASE("weir: a page or a figure that the disk has no room for is 1, and leaves the one before") {
  if (std::system("unshare -rm true 2> /dev/null") != 0) {
    WARN("skipped: may not mount a small file system here");
    return;
  }
  const ScratchDirectory scratch;
  REQUIRE(run_small(scratch, "a").code == 0);
  const std::string weir = WEIR_BINARY " ", full = "; head -c 1M /dev/zero > disk/zero 2> /dev/null; ";
  const Ended report =
      on_a_small_disk(scratch, weir + "report out/a --out disk/page.html; cp disk/page.html a" + full + weir +
                                   "report out/a --out disk/page.html; echo code $?; "
                                   "cmp a disk/page.html && ls -A disk");
  CHECK(report.out == "code 1\npage.html\nzero\n");
  CHECK_THAT(report.err, Catch::EndsWith("cannot be written: No space left on device\n"));
  const Ended plot = on_a_small_disk(
      scratch, "true" + full + weir + "plot out/a --out disk/p; echo code $?; ls -A disk disk/p");
  CHECK_THAT(plot.out,
             Catch::StartsWith("code 1\n") && !Catch::Contains("svg") && !Catch::Contains("partial"));
}

TEST_CASE("weir run: a file that may not grow is an error as a full disk is") {
  const ScratchDirectory scratch;
  const Ended ended =
      run_weir({"run", shipped("quickstart.json"), "--set", "/workload/requests/count=12000"},
               {.folder = scratch.path(), .under = {"sh", "-c", "ulimit -f 600; exec \"$@\"", "sh"}});
  CHECK(ended.code == 1);
  CHECK(lines(ended.err) == 1);
  CHECK_THAT(ended.err, Catch::EndsWith("requests.csv: File too large\n"));
  CHECK(fs::is_empty(scratch / "out"));
}

TEST_CASE("weir: where stderr takes nothing it ends with its exit code, and is not aborted") {
  const auto code = [](const std::string& command) {
    return WEXITSTATUS(std::system((WEIR_BINARY " " + command + " 2> /dev/full > /dev/null").c_str()));
  };
  CHECK(code("check no_such_file.json") == 2);
  CHECK(code("plot no_such_directory") == 2);
  CHECK(code("no_such_command") == 2);
}
