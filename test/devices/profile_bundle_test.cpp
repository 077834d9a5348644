// Profile folders that are wrong: every number is one of a kernel's, or is refused with its file, row and
// column.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "devices/profile/profile_bundle.h"
#include "sim/core/params.h"
#include "test/app/scratch_directory.h"

namespace weir::test {
namespace {

const std::string attention_header = "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n";

struct Tables {
  std::string dense = "layer,tokens,time_us\nqkv_proj,1,10\nqkv_proj,64,20\n";
  std::string sequences = "layer,sequences,time_us\nlm_head,1,10\n";
  std::string attention = attention_header + "0,0,1,16,5\n16,0,0,0,7\n";
};

std::string problems_of(const Tables& tables) {
  const ScratchDirectory folder;
  std::ofstream(folder / "dense.csv") << tables.dense;
  std::ofstream(folder / "per_sequence.csv") << tables.sequences;
  std::ofstream(folder / "attention.csv") << tables.attention;
  std::vector<Problem> problems;
  read_bundle(folder.path(), problems);
  std::string text;
  for (const Problem& p : problems) text += p.what + "\n";
  return text;
}

}  // namespace

TEST_CASE("profile folder: a time is that of a kernel, and each number within what JSON numbers may be") {
  CHECK(problems_of({}) == "");
  for (const char* time : {"0", "0.0", "-0", "-1", "1e300", "1e16", "1e-13", "1e-320", "1e400", "inf", "nan",
                           "", " 1", "0x10", "1 us"}) {
    INFO(time);
    Tables tables;
    tables.dense += std::string("qkv_proj,128,") + time + "\n";
    CHECK_THAT(problems_of(tables), Catch::Contains("dense.csv:4: time_us: expected a number"));
    tables = {};
    tables.attention += std::string("0,0,1,32,") + time + "\n";
    CHECK_THAT(problems_of(tables), Catch::Contains("attention.csv:4: time_us: expected a number"));
  }
  for (const char* tokens : {"-1", "1e300", "1e-300", "inf", "nan", "many"}) {
    INFO(tokens);
    Tables tables;
    tables.dense += std::string("qkv_proj,") + tokens + ",5\n";
    CHECK_THAT(problems_of(tables), Catch::Contains("dense.csv:4: tokens: expected a number"));
    tables = {};
    tables.attention += std::string("0,0,") + tokens + ",32,5\n";
    CHECK_THAT(problems_of(tables), Catch::Contains("attention.csv:4: n_decode: expected a number"));
  }
}

TEST_CASE("profile folder: a column that is there twice, special files and a million bad rows are refused") {
  Tables tables;
  tables.dense = "layer,tokens,time_us,time_us\nqkv_proj,1,10,20\n";
  CHECK_THAT(problems_of(tables), Catch::Contains("dense.csv:1: two columns time_us"));
  tables = {};
  for (int i = 0; i < 1'000'000; ++i) tables.dense += "qkv_proj,1\n";
  const std::string many = problems_of(tables);
  CHECK_THAT(many, Catch::Contains("dense.csv:4: expected 3 values, got 2") &&
                       Catch::Contains("and 999990 more such lines"));
  CHECK(many.size() < 5000);

  const ScratchDirectory folder;
  std::filesystem::create_symlink("/dev/zero", folder / "dense.csv");
  std::vector<Problem> problems;
  read_bundle(folder.path(), problems);
  REQUIRE(!problems.empty());
  CHECK_THAT(problems[0].what, Catch::Contains("dense.csv: is a device, not a file"));
}

TEST_CASE("profile folder: points in any order are the same table") {
  const std::string up =
      attention_header + "0,0,1,16,1\n0,0,1,32,2\n0,0,2,16,3\n16,0,0,0,4\n16,8,0,0,5\n32,0,1,9,6\n";
  const std::string down =
      attention_header + "32,0,1,9,6\n16,8,0,0,5\n16,0,0,0,4\n0,0,2,16,3\n0,0,1,32,2\n0,0,1,16,1\n";
  const auto read = [](const std::string& attention) {
    const ScratchDirectory folder;
    std::ofstream(folder / "dense.csv") << Tables().dense;
    std::ofstream(folder / "per_sequence.csv") << Tables().sequences;
    std::ofstream(folder / "attention.csv") << attention;
    std::vector<Problem> problems;
    ProfileBundle bundle = read_bundle(folder.path(), problems);
    CHECK(problems.empty());
    return bundle;
  };
  const AttentionTimes a = read(up).attention.at(0), b = read(down).attention.at(0);
  CHECK(a.decode.knots == b.decode.knots);
  CHECK(a.mixed.knots == b.mixed.knots);
  CHECK(a.mixed.below[0].knots == b.mixed.below[0].knots);
  CHECK(a.decode.below[0].y == b.decode.below[0].y);
  CHECK(a.longest_decode == 32);
  CHECK(b.longest_context == 8);
}

TEST_CASE("measured curve: beyond its last knot it rises as before, or stays where noise made it fall") {
  Curve rising, falling;
  for (const double x : {1.0, 2.0}) {
    rising.add(x, x);
    falling.add(x, 10 - 5 * x);
  }
  CHECK(rising.at(4).value == 4);
  CHECK(rising.at(4).slope == 1);
  CHECK(falling.at(1.5).value == 2.5);
  CHECK(falling.at(2).value == 0);
  CHECK(falling.at(100).value == 0);
  CHECK(falling.at(100).slope == 0);
}

}  // namespace weir::test
