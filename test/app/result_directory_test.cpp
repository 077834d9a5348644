#include <catch2/catch.hpp>

#include <unistd.h>

#include <fstream>

#include "sim/app/output/output_file.h"
#include "sim/app/output/result_directory.h"
#include "sim/core/errors.h"
#include "test/app/scratch_directory.h"

using namespace weir;
namespace fs = std::filesystem;

namespace {

constexpr const char* summary = R"({"request_throughput": 1, "scenario": {}})";

void write_result(const fs::path& place, const std::string& extra = "requests.csv") {
  ResultDirectory directory(place);
  write_file(directory.file("summary.json"), summary);
  write_file(directory.file(extra), "x");
  directory.commit();
}

}  // namespace

TEST_CASE("results: a new directory appears whole, with the folders above it") {
  const ScratchDirectory scratch;
  write_result(scratch / "a/b/run", "figures/latency.csv");
  CHECK(fs::exists(scratch / "a/b/run/summary.json"));
  CHECK(fs::exists(scratch / "a/b/run/figures/latency.csv"));
  CHECK(std::distance(fs::directory_iterator(scratch / "a/b"), {}) == 1);  // nothing left beside it
}

TEST_CASE("results: an old result is replaced whole, never mixed") {
  const ScratchDirectory scratch;
  write_result(scratch / "run", "timeline.json");
  write_result(scratch / "run/", "requests.csv");  // a trailing slash is the same place
  CHECK(fs::exists(scratch / "run/requests.csv"));
  CHECK_FALSE(fs::exists(scratch / "run/timeline.json"));
  CHECK(scratch.names() == std::set<std::string>{"run"});
}

TEST_CASE("results: until they are committed, the old ones stand, and abandoned ones leave nothing") {
  const ScratchDirectory scratch;
  write_result(scratch / "run", "old.csv");
  {
    ResultDirectory directory(scratch / "run");
    write_file(directory.file("summary.json"), "{}");
    CHECK(fs::exists(scratch / "run/old.csv"));
  }
  CHECK(fs::exists(scratch / "run/old.csv"));
  CHECK(scratch.names() == std::set<std::string>{"run"});
}

TEST_CASE("results: a directory of somebody else's is refused, an empty one is taken") {
  const ScratchDirectory scratch;
  fs::create_directory(scratch / "theirs");
  std::ofstream(scratch / "theirs/thesis.tex") << "years of work";
  CHECK_THROWS_WITH(ResultDirectory(scratch / "theirs"), Catch::Contains("not a result of weir"));
  std::ofstream(scratch / "theirs/summary.json") << R"({"mean_ttft_ms": 3})";  // vLLM's benchmark writes such
  CHECK_THROWS_AS(ResultDirectory(scratch / "theirs"), ConfigError);
  CHECK(fs::exists(scratch / "theirs/thesis.tex"));
  fs::create_directory(scratch / "empty");
  write_result(scratch / "empty");
  CHECK(fs::exists(scratch / "empty/summary.json"));
}

TEST_CASE("results: a link to a result directory stays a link") {
  const ScratchDirectory scratch;
  write_result(scratch / "run");
  fs::create_directory_symlink(scratch / "run", scratch / "latest");
  write_result(scratch / "latest", "new.csv");
  CHECK(fs::is_symlink(scratch / "latest"));
  CHECK(fs::exists(scratch / "run/new.csv"));
}

TEST_CASE("results: a place that cannot be written is known before the run") {
  const ScratchDirectory scratch;
  std::ofstream(scratch / "file") << "x";
  CHECK_THROWS_WITH(ResultDirectory(scratch / "file"), Catch::Contains("is a file"));
  CHECK_THROWS_AS(ResultDirectory(scratch / "file/run"), ConfigError);
  CHECK_THROWS_AS(ResultDirectory("/proc/weir"), ConfigError);
  if (::geteuid() == 0) return;  // root may write anywhere
  fs::create_directory(scratch / "closed");
  fs::permissions(scratch / "closed", fs::perms::owner_read | fs::perms::owner_exec);
  CHECK_THROWS_WITH(ResultDirectory(scratch / "closed"), Catch::Contains("Permission denied"));
  CHECK_THROWS_WITH(ResultDirectory(scratch / "closed/run"), Catch::Contains("Permission denied"));
  CHECK(scratch.names() == std::set<std::string>{"file", "closed"});
}
