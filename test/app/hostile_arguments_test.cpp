// Paths and numbers that are none, in a scenario and on the command line, and what is said of them first.
#include <catch2/catch.hpp>

#include <signal.h>

#include <sstream>

#include "sim/app/command_line.h"
#include "sim/core/params.h"
#include "test/app/run_weir.h"

using namespace weir;
using namespace weir::test;
namespace fs = std::filesystem;

namespace {

Json quickstart() {
  return read_json_file(shipped("quickstart.json"));
}

Ended checked(const ScratchDirectory& scratch, const Json& scenario) {
  write(scratch / "s.json", scenario.dump());
  return run_weir({"check", "s.json"}, {.folder = scratch.path()});
}

}  // namespace

TEST_CASE("scenario: a path that is empty or has a NUL is a problem at its pointer, wherever there is one") {
  const ScratchDirectory scratch;
  write(scratch / "t.csv", "arrival_s,input_tokens,output_tokens\n0,10,10\n");
  const Json trace = {{"kind", "trace"}};
  struct Given {
    std::string pointer;
    Json parent;  // without the path
  };
  const std::vector<Given> places = {
      {"/workload/requests/file", {{"kind", "csv"}}},
      {"/workload/requests/file", {{"kind", "azure"}}},
      {"/workload/requests/file", {{"kind", "mooncake"}}},
      {"/workload/requests/file", {{"kind", "sessions"}}},
      {"/workload/requests/hash_ids", {{"kind", "csv"}, {"file", "t.csv"}}},
      {"/workload/requests/tokens/file", {{"kind", "tokenizer"}}},
      {"/workload/activity/file", {{"kind", "file"}}},
      {"/cluster/nodes/0/devices/0/profile", {{"kind", "h100_sxm"}}},
  };
  for (const Given& given : places)
    for (const std::string& path : {std::string(), std::string("t.csv\0x", 7), std::string("\0", 1)}) {
      Json scenario = quickstart();
      scenario["workload"]["arrivals"] = trace;
      const Json::json_pointer pointer(given.pointer);
      if (given.pointer.find("tokens") != std::string::npos)
        scenario["workload"]["requests"] = {{"kind", "jsonl"}, {"file", "t.csv"}};
      Json parent = given.parent;
      parent[pointer.back()] = path;
      scenario[pointer.parent_pointer()] = parent;
      const Ended ended = checked(scratch, scenario);
      INFO(given.pointer << " " << parent.dump() << "\n" << ended.err);
      CHECK(ended.code == 2);
      CHECK_THAT(ended.err, Catch::Contains(given.pointer) && Catch::Contains("expected a path, got"));
    }
  for (const char* pointer : {"/model", "/cluster/nodes/0/devices/0/kind"}) {
    Json scenario = quickstart();
    scenario[Json::json_pointer(pointer)] = std::string("./a\0b.json", 10);
    const Ended ended = checked(scratch, scenario);
    INFO(pointer << ended.err);
    CHECK(ended.code == 2);
    CHECK_THAT(ended.err, Catch::Contains("NUL"));
  }
  for (const std::string& path : {std::string(), std::string("s.json\0x", 8)}) {
    write(scratch / "sweep.json", Json({{"scenario", path}, {"vary", {{"/seed", {1, 2}}}}}).dump());
    const Ended ended = run_weir({"check", "sweep.json"}, {.folder = scratch.path()});
    CHECK(ended.code == 2);
    CHECK_THAT(ended.err, Catch::Contains("/scenario") && Catch::Contains("expected a path, got"));
  }
}

TEST_CASE("scenario: a seed beyond 64 bits is refused with the bound") {
  for (const char* seed : {"18446744073709551616", "18446744073709551615", "9223372036854775808", "1e30"}) {
    const Ended ended = run_weir({"run", shipped("quickstart.json"), "--seed", seed, "--out", "/nowhere/o"});
    CHECK(ended.code == 2);
    CHECK_THAT(ended.err, Catch::Contains("/seed: expected an integer >= 0 of 64 bits, below 2^63"));
  }
}

TEST_CASE("command line: no argument is empty, and whole numbers are decimal digits") {
  const std::string file = shipped("quickstart.json");
  const std::vector<std::vector<std::string>> empty = {{"run", ""},
                                                       {"run", file, "--out", ""},
                                                       {"run", file, "--set", ""},
                                                       {"run", file, "--seed", ""},
                                                       {"sweep", ""},
                                                       {"sweep", file, "--out", ""},
                                                       {"plan", file, "--devices", ""},
                                                       {"plan", file, "--objective", ""},
                                                       {"plan", file, "--precision", ""},
                                                       {"check", ""},
                                                       {"compare", ""},
                                                       {"plot", ""},
                                                       {"plot", "x", "--out", ""},
                                                       {"plot", "x", "--kind", ""},
                                                       {"report", ""},
                                                       {"report", "x", "--out", ""},
                                                       {"memory", "", "x"},
                                                       {"memory", "x", ""},
                                                       {"memory", "x", "y", "--out", ""},
                                                       {"reproduce", ""},
                                                       {"reproduce", "l3", "--only", ""},
                                                       {"reproduce", "l3", "--out", ""},
                                                       {"explore", ""},
                                                       {"calibrate", "", "--scenario", "x", "--out", "y"}};
  for (const auto& words : empty) {
    const Ended ended = run_command(words);
    INFO(fmt::format("{}", fmt::join(words, "|")) << ": " << ended.err);
    CHECK(ended.code == 2);
    CHECK_THAT(ended.err, Catch::Contains("got nothing"));
  }
  for (const char* number :
       {"0x10", "010", "+4", " 4", "4 ", "4.0", "1e2", "18446744073709551617", "-1", "4,000"}) {
    const Ended ended = run_command({"plan", file, "--top", number});
    INFO(number << ": " << ended.err);
    CHECK(ended.code == 2);
    CHECK_THAT(ended.err, Catch::Contains("--top: expected an integer >= 1 and <= 1000, got"));
  }
}

TEST_CASE("command line: an option that is none is told before what is missing") {
  for (const Command& command : commands()) {
    const Ended ended = run_command({command.name, "--nope"});
    INFO(command.name << ": " << ended.err);
    CHECK(ended.code == 2);
    CHECK_THAT(ended.err, Catch::Contains("no such option (got \"--nope\"") && !Catch::Contains("required"));
  }
  CHECK_THAT(run_command({"run", "--ot=x"}).err, Catch::Contains("did you mean \"--out\"?"));
  CHECK_THAT(run_command({"run", shipped("quickstart.json"), "-x"}).err, Catch::Contains("no such option"));
  CHECK_THAT(run_command({"run"}).err, Catch::Contains("SCENARIO is required"));
}

TEST_CASE("weir: what cannot be printed is exit 1, whatever was to be printed") {
  if (!fs::exists("/dev/full")) {
    WARN("skipped: no /dev/full here");
    return;
  }
  const ScratchDirectory scratch;
  REQUIRE(run_small(scratch, "a").code == 0);
  write(scratch / "trace.csv", "arrival,op,addr_hex\n0,R,0x0\n");
  std::string all;
  for (const Command& command : commands()) all += command.name + " --help\n";
  all +=
      "--help\n--version\n--man\n__complete run --\nlist models\nlist models --json\ncheck --schema\n"
      "completion bash\ncompare out/a out/a\ncompare out/a out/a --json\nmemory ddr4_3200_l3 trace.csv\n"
      "pim hbm2_neupims --op logit --length 128 --heads 4 --head-dim 128\n";
  all += "check " + shipped("quickstart.json") + "\n";
  all += "run " + shipped("quickstart.json") + " --set /workload/requests/count=5 --out out/b\n";
  all += "plan " + shipped("quickstart.json") + " --out out/p\n";
  std::istringstream commands_of(all);
  for (std::string words; std::getline(commands_of, words);) {
    const std::string line = "cd '" + scratch.path().string() + "' && '" WEIR_BINARY "' " + words +
                             " > /dev/full 2> err < /dev/null; echo $? > code";
    std::ignore = std::system(line.c_str());
    INFO(words << ": " << contents(scratch / "err"));
    CHECK(contents(scratch / "code") == "1\n");
  }
}

TEST_CASE("weir: SIGTERM ends every command with 143, at any moment") {
  const ScratchDirectory scratch;
  for (int i = 0; i < 12; ++i) {
    const Ended ended = run_weir({"run", shipped("bench/million.json"), "--out", "out/a"},
                                 {.folder = scratch.path(), .meanwhile = [&](pid_t weir) {
                                    wait(0.05 + 0.02 * i);  // until it is weir
                                    ::kill(weir, SIGTERM);
                                  }});
    INFO(i << ": " << ended.err);
    CHECK(ended.code == 143);
  }
}
