// Programs and files of others that misbehave: a gnuplot that hangs or writes nothing, a damaged database.
#include <catch2/catch.hpp>

#include <boost/algorithm/string/replace.hpp>

#include "sim/app/output/gnuplot.h"
#include "sim/app/results/sqlite.h"
#include "test/app/run_weir.h"

using namespace weir;
using namespace weir::test;
namespace fs = std::filesystem;

namespace {

// First on PATH as long as this lives.
class OtherGnuplot {
 public:
  explicit OtherGnuplot(const std::string& script) : before_(std::getenv("PATH")) {
    write(folder_ / "gnuplot", "#!/bin/sh\n" + script + "\n");
    fs::permissions(folder_ / "gnuplot", fs::perms::owner_all);
    ::setenv("PATH", (folder_.path().string() + ":" + before_).c_str(), 1);
  }
  ~OtherGnuplot() { ::setenv("PATH", before_.c_str(), 1); }
  OtherGnuplot(const OtherGnuplot&) = delete;
  OtherGnuplot& operator=(const OtherGnuplot&) = delete;

 private:
  ScratchDirectory folder_;
  std::string before_;
};

}  // namespace

TEST_CASE("figures: a gnuplot that hangs is ended, and one that writes nothing is told") {
  const ScratchDirectory scratch;
  const Figure figure{"f", 420, "", "plot 1\n"};
  {
    const OtherGnuplot hangs("exec sleep 1000");
    CHECK_THROWS_WITH(draw(scratch.path(), figure, "svg", std::chrono::milliseconds(200)),
                      "gnuplot did not end on f.gp within 0.2 s");
  }
  for (const char* script : {"exit 0", ": > ../f.svg"}) {
    const OtherGnuplot silent(script);
    CHECK_THROWS_WITH(draw(scratch.path(), figure), "gnuplot wrote nothing into f.svg");
  }
  const OtherGnuplot half("echo '<svg>' > ../f.svg");
  CHECK_THROWS_WITH(draw(scratch.path(), figure), Catch::Contains("did not write the whole of f.svg"));
  REQUIRE(run_small(scratch, "a").code == 0);
  const OtherGnuplot silent("exit 0");
  const Ended plot = run_weir({"plot", "out/a", "--kind", "cdf"}, {.folder = scratch.path()});
  CHECK(plot.code == 1);
  CHECK(plot.err == "weir: gnuplot wrote nothing into cdf.svg\n");
}

TEST_CASE("results.sqlite: what is damaged in it is told with the file, whatever reads it") {
  const ScratchDirectory scratch;
  fs::copy(shipped("quickstart.json"), scratch / "quickstart.json");
  write(scratch / "sweep.json",
        R"({"scenario": "quickstart.json", "vary": {"/seed": [1, 2], "/workload/requests/count": [5]}})");
  // Bytes of the file that are others of as many, and what SQL itself lets through.
  const std::vector<std::pair<std::string, std::string>> bytes = {
      {"\"request_throughput\":", "\"request_throughput\";"},
      {"{\"/seed\":", "[\"/seed\":"},
      {"[\"/seed\"", "{\"/seed\""}};
  const std::vector<std::string> statements = {"UPDATE points SET summary = '[]'",
                                               "UPDATE points SET summary = NULL",
                                               "UPDATE points SET varied = 'x'",
                                               "UPDATE points SET varied = '3'",
                                               "UPDATE sweep SET value = '[1]' WHERE key = 'varied'",
                                               "UPDATE sweep SET value = '' WHERE key = 'resolved'"};
  for (std::size_t i = 0; i < bytes.size() + statements.size(); ++i) {
    REQUIRE(run_weir({"sweep", "sweep.json", "--out", "out", "--quiet"}, {.folder = scratch.path()}).code ==
            0);
    const bool raw = i < bytes.size();
    const std::string damage = raw ? bytes[i].second : statements[i - bytes.size()];
    if (raw) {
      const std::string whole = contents(scratch / "out/results.sqlite");
      const std::string damaged = boost::replace_all_copy(whole, bytes[i].first, bytes[i].second);
      REQUIRE(damaged != whole);
      write(scratch / "out/results.sqlite", damaged);
    } else {
      Database(scratch / "out/results.sqlite", Database::Access::write).run(damage);
    }
    for (const auto& words :
         {std::vector<std::string>{"compare", "out", "out"}, {"report", "out"}, {"plot", "out"}}) {
      const Ended ended = run_weir(words, {.folder = scratch.path()});
      INFO(words[0] << " after " << damage << ": " << ended.err);
      CHECK(ended.code == 2);
      CHECK_THAT(ended.err,
                 Catch::Contains("results.sqlite: is damaged") && !Catch::Contains("json.exception"));
    }
  }
}
