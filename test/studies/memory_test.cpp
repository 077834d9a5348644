#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "models/memory/dram/channel.h"
#include "sim/app/memory/trace_csv.h"
#include "sim/studies/validation/dram_cases.h"
#include "test/app/run_weir.h"
#include "test/app/scratch_directory.h"
#include "test/reference_folder.h"

namespace weir::test {
namespace {

std::string written(const ScratchDirectory& scratch, const std::string& text) {
  const auto file = scratch.path() / "trace.csv";
  std::ofstream(file) << text;
  return file.string();
}

}  // namespace

TEST_CASE("DRAM spans: every shipped case takes DRAMsim3's clocks, random ones within 8 %") {
  REQUIRE(shipped_dram_cases().size() >= 33);
  for (const DramCase& one : shipped_dram_cases()) {
    const DramSetup setup = dram_setup(one.config);
    const DramPattern& pattern = dram_pattern(one.name);
    const Cycles span = play(setup.memory, pattern.requests(setup.memory), {.refresh = setup.refresh}).span();
    INFO(one.name);
    if (pattern.name == "random4096")
      CHECK(static_cast<double>(span) == Approx(static_cast<double>(one.span)).epsilon(0.08));
    else
      CHECK(span == one.span);
  }
}

TEST_CASE("DRAM spans: every request of the reference's cases is served to the clock") {
  const auto cases = reference_folder() / "dram" / "cases";
  if (reference_folder().empty() || !std::filesystem::is_directory(cases)) {
    WARN("skipped: WEIR_REFERENCE names no folder with dram/cases");
    return;
  }
  int compared = 0;
  for (const DramCase& one : reference_dram_cases(reference_folder())) {
    const auto file = cases / (one.name + ".csv");
    if (!std::filesystem::exists(file)) continue;
    const DramSetup setup = dram_setup(one.config);
    const ChannelRun run = play(setup.memory, read_memory_trace(file, setup.memory));
    std::ifstream in(file);
    std::string line;
    std::getline(in, line);
    int different = 0;
    for (const ServedRequest& served : run.requests) {
      std::getline(in, line);
      std::vector<std::string> cells;
      for (std::istringstream row(line); std::getline(row, line, ',');) cells.push_back(line);
      different += std::stoll(cells.at(2)) != served.accept || std::stoll(cells.at(11)) != served.complete ||
                   std::stoll(cells.at(13)) != served.data_end;
    }
    INFO(one.name);
    CHECK(different == 0);
    ++compared;
  }
  CHECK(compared >= 28);
}

TEST_CASE("weir memory: rows with their times on stdout or in a file, the summary on stderr") {
  const ScratchDirectory scratch;
  const std::string trace =
      written(scratch, "\xEF\xBB\xBFid,op,arrival,addr_hex\r\n7,R,0,0x0\r\n8,W,0,C0\r\n");
  const Ended printed = run_weir({"memory", "hbm2_neupims", trace});
  REQUIRE(printed.code == 0);
  CHECK(printed.out ==
        "arrival,op,addr_hex,accept,complete,data_end\n"
        "0,R,0x0,1,32,32\n"
        "0,W,0xc0,2,-1,36\n");  // the bus turns 14 cycles after the read
  CHECK_THAT(printed.err, Catch::Contains("Bandwidth") && Catch::Contains("Energy"));
  const std::string out = (scratch.path() / "out.csv").string();
  const Ended filed = run_weir({"memory", "hbm2_neupims", trace, "--out", out});
  CHECK(filed.code == 0);
  CHECK(filed.out.empty());
  CHECK(contents(out) == printed.out);
}

TEST_CASE("weir memory --no-refresh: a stream has no gaps of tRFC") {
  const ScratchDirectory scratch;
  std::string text = "arrival,op,addr_hex\n";
  for (int i = 0; i < 4000; ++i) text += fmt::format("0,R,{:x}\n", i * 64);
  const std::string trace = written(scratch, text);
  CHECK_THAT(run_weir({"memory", "hbm2_neupims", trace}).err, Catch::Contains(" 2 refreshes"));
  CHECK_THAT(run_weir({"memory", "hbm2_neupims", trace, "--no-refresh"}).err,
             Catch::Contains(" 0 refreshes"));
}

TEST_CASE("weir memory: everything wrong with a trace is told by line, and nothing is written") {
  const ScratchDirectory scratch;
  const std::string out = (scratch.path() / "out.csv").string();
  const auto said = [&](const std::string& text) {
    const Ended ended = run_weir({"memory", "hbm2_neupims", written(scratch, text), "--out", out});
    CHECK(ended.code == 2);
    CHECK_FALSE(std::filesystem::exists(out));
    return ended.err;
  };
  const std::string rows =
      said("arrival,op,addr_hex\n5,R,0\n4,R,0\n6,X,0\n7,R,0x40000000\n8,R\n-1,W,g\n9.5,R,0\n");
  for (const char* part :
       {"line 3: arrival: expected at least 5", "line 4: op: expected R or W, got \"X\"",
        "line 5: addr_hex: expected a hexadecimal address below the channel's 0x40000000 bytes",
        "line 6: expected 3 columns", "line 7: arrival", "line 7: addr_hex", "line 8: arrival"})
    CHECK_THAT(rows, Catch::Contains(part));
  CHECK_THAT(said("arrival,op\n0,R\n"), Catch::Contains("line 1: no column \"addr_hex\""));
  CHECK_THAT(said(""), Catch::Contains("expected a header"));
  CHECK_THAT(said("arrival,op,addr_hex\n"), Catch::Contains("expected at least one request"));
  std::string many = "arrival,op,addr_hex\n";
  for (int i = 0; i < 500; ++i) many += "0,Q,0\n";
  CHECK_THAT(said(many), Catch::Contains("490 problems more"));
  const Ended kind = run_weir({"memory", "hbm9", written(scratch, many)});
  CHECK(kind.code == 2);
  CHECK_THAT(kind.err, Catch::Contains("known: ddr4_3200_hermes"));
  CHECK(run_weir({"memory", "hbm3", (scratch.path() / "none.csv").string()}).code == 2);
}

}  // namespace weir::test
