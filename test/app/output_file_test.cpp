#include <fcntl.h>
#include <catch2/catch.hpp>

#include <signal.h>
#include <sys/resource.h>

#include <cstdlib>
#include <fstream>
#include <random>
#include <set>

#include "sim/app/output/output_file.h"
#include "test/app/scratch_directory.h"

using namespace weir;
namespace fs = std::filesystem;

namespace {

std::string fixed(double value, int decimals) {
  fmt::memory_buffer buffer;
  append_fixed(buffer, value, decimals);
  return fmt::to_string(buffer);
}

}  // namespace

TEST_CASE("output: fixed-point numbers read back to half a unit of their last digit, whatever their size") {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100000; ++i) {
    const int decimals = static_cast<int>(random() % 10);
    const double magnitude = std::uniform_real_distribution<>(-12, 14)(random);
    const double value = (random() % 2 ? 1 : -1) * std::pow(10, magnitude);
    const std::string text = fixed(value, decimals);
    const double unit = std::pow(10, -decimals);
    INFO(value << " with " << decimals << ": " << text);
    REQUIRE(std::abs(std::strtod(text.c_str(), nullptr) - value) <=
            0.5000001 * unit + 1e-15 * std::abs(value));
    REQUIRE(text.find_first_not_of("-0123456789.") == std::string::npos);
  }
}

TEST_CASE("output: fixed-point numbers at the edges") {
  CHECK(fixed(0, 3) == "0.000");
  CHECK(fixed(-0.0001, 3) == "0.000");  // no minus zero
  CHECK(fixed(-0.0006, 3) == "-0.001");
  CHECK(fixed(0.9999999999, 9) == "1.000000000");
  CHECK(fixed(12.5, 0) == "13");
  CHECK(fixed(1e300, 1).size() == 303);
}

TEST_CASE("output: a file has its name only when it is whole") {
  const ScratchDirectory scratch;
  const fs::path path = scratch / "summary.json";
  {
    OutputFile file(path);
    file.text(std::string(3 << 20, 'x'));
    CHECK_FALSE(fs::exists(path));
  }
  CHECK(fs::is_empty(scratch.path()));  // abandoned: nothing is left
  write_file(path, "whole");
  CHECK(fs::file_size(path) == 5);
  CHECK(scratch.names() == std::set<std::string>{"summary.json"});
}

TEST_CASE("output: a file that cannot be opened is an error that names it") {
  CHECK_THROWS_WITH(OutputFile("/nowhere/at/all.csv"), Catch::Contains("/nowhere/at/all.csv"));
}

TEST_CASE("output: a full disk is an error that names the file, and leaves none") {
  const ScratchDirectory scratch;
  // A limit on file sizes is told as a full disk is.
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  ::signal(SIGXFSZ, SIG_IGN);
  OutputFile file(scratch / "requests.csv");
  file.text("more than nothing");
  const rlimit none{4, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &none) == 0);
  CHECK_THROWS_WITH(file.close(), Catch::Contains("requests.csv") && Catch::Contains("File too large"));
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  CHECK_FALSE(fs::exists(scratch / "requests.csv"));
}

TEST_CASE("output: what is written lies under no name, or one that no other program can have made") {
  const ScratchDirectory scratch;
  write_file(scratch / "mine", "mine");
  fs::create_symlink(scratch / "mine", scratch / "page.html.partial");
  fs::create_symlink(scratch / "mine", scratch / ".page.html.partial");
  std::set<std::string> names;
  for (int i = 0; i < 2; ++i) {
    const OutputFile file(scratch / "page.html");
    for (const std::string& name : scratch.names())
      if (fs::is_regular_file(fs::symlink_status(scratch / name)) && name != "mine") names.insert(name);
  }
  const int unnamed = ::open(scratch.path().c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
  CHECK(names.size() == (unnamed >= 0 ? 0 : 2));  // none where the file system has files without a name
  if (unnamed >= 0) ::close(unnamed);
  write_file(scratch / "page.html", "whole");
  CHECK(fs::file_size(scratch / "page.html") == 5);
  CHECK(fs::file_size(scratch / "mine") == 4);
  write_file(scratch / std::string(250, 'n'), "a name as long as a folder takes");
}
