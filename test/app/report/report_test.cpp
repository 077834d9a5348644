// weir report as a command; what the page does is page_test.cpp's.
#include <catch2/catch.hpp>

#include <fstream>

#include "test/app/report/sample_sweep.h"
#include "test/app/run_weir.h"
#include "test/app/scratch_directory.h"

namespace fs = std::filesystem;
using namespace weir::test;

TEST_CASE("report: the page of a run lies beside its results, or where --out says") {
  const ScratchDirectory scratch;
  run_quickstart(scratch / "run");
  CHECK(run_weir({"report", (scratch / "run").string()}).code == 0);
  CHECK(fs::file_size(scratch / "run" / "report.html") < 1'000'000);
  const Ended ended =
      run_weir({"report", (scratch / "run").string(), "--out", (scratch / "my page.html").string()});
  CHECK(ended.code == 0);
  CHECK(ended.out.empty());  // no table: talk is on stderr
  CHECK(ended.err.find("my page.html") != std::string::npos);
  CHECK(fs::file_size(scratch / "my page.html") == fs::file_size(scratch / "run" / "report.html"));
}

TEST_CASE("report: a directory without results, or a page that cannot be written, is bad input") {
  const ScratchDirectory scratch;
  const auto fails = [&](const std::vector<std::string>& arguments, const std::string& because) {
    const Ended ended = run_weir(arguments);
    INFO(ended.err);
    CHECK(ended.code == 2);
    CHECK(ended.err.find(because) != std::string::npos);
  };
  fails({"report", (scratch / "nowhere").string()}, "no such directory");
  fs::create_directory(scratch / "empty");
  fails({"report", (scratch / "empty").string()}, "holds no results");
  fails({"report"}, "DIR");
  run_quickstart(scratch / "run");
  fails({"report", (scratch / "run").string(), "--out", (scratch / "empty").string()}, "is a directory");
  fails({"report", (scratch / "run").string(), "--out", (scratch / "no" / "page.html").string()},
        "No such file or directory");
  CHECK(scratch.names() == std::set<std::string>{"empty", "run"});
}
