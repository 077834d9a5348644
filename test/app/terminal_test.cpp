// Everything that weir prints fits the terminal that it is printed on.
#include <catch2/catch.hpp>

#include <sstream>

#include "sim/app/output/text_grid.h"
#include "sim/studies/studies.h"
#include "test/app/on_terminal.h"

using namespace weir;
using namespace weir::test;

namespace {

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

std::string without_space(std::string text) {
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n' || c == '\r'; });
  return text;
}

}  // namespace

TEST_CASE("wrap: lines break at spaces, in long words behind a mark, and lose no character") {
  CHECK(joined(wrapped("one two three", 7)) == "one two\nthree\n");
  CHECK(joined(wrapped("see https://a.example/long/path", 16)) == "see https://a.\nexample/long/\npath\n");
  CHECK(joined(wrapped("1,234,567 tokens", 9)) == "1,234,567\ntokens\n");
  CHECK(joined(wrapped("abcdefghij", 4)) == "abcd\nefgh\nij\n");
  CHECK(joined(wrapped("±±±±", 2)) == "±±\n±±\n");
  const std::string text =
      "a source: github.com/some/repository, /serving/replicas/0/batching ±5 and 1e-5 of it";
  for (std::size_t width = 1; width < 100; ++width) {
    const std::string lines = joined(wrapped(text, width));
    CHECK(widest(lines) <= width);
    CHECK(without_space(lines) == without_space(text));
  }
}

TEST_CASE("text grid: as wide as its cells, or broken over lines, the widest column first") {
  TextGrid grid;
  grid.add({"name", "output tok/s", "where it was found"});
  grid.add({"a", "1,234 ±5", "in the second of both"});
  CHECK(grid.text() ==
        "  name  output tok/s     where it was found\n  a         1,234 ±5  in the second of both\n");
  CHECK(grid.text(36) ==
        "  name  output tok/s    where it was\n                               found\n"
        "  a         1,234 ±5   in the second\n                             of both\n");
  for (std::size_t width = 12; width < 50; ++width) {
    CHECK(widest(grid.text(width)) <= width);
    if (width >= 20) CHECK_THAT(grid.text(width), Catch::Contains("1,234"));
  }
}

TEST_CASE("reproduce table: fits a narrow terminal, what nothing fitted gives below the rest") {
  std::vector<ReproducedRow> rows(2);
  rows[0] = {
      .id = "fig12_sharegpt_gpt3_175b_batch_512_neupims_over_npu_only",
      .metric = "throughput of NeuPIMs over that of the NPU alone, mean of the data sets",
      .paper = 2.4,
      .simulated = 2.2934,
      .accept_min = 2.1,
      .accept_max = 2.7,
      .physical = 1.3512,
      .physical_accept_min = 1.5,
      .physical_accept_max = {},
      .note = "a note of a row that is outside, with a long address: https://github.com/casys-kaist/NeuPIMs"};
  rows[1].id = "table5";
  rows[1].paper = 143312;
  const std::string table = rows_table(rows, 80);
  INFO(table);
  CHECK(widest(table) <= 80);
  for (const char* word :
       {"2.293", "1.351", "2.1 .. 2.7", "1.5 .. -", "143,312", "OUTSIDE", "reported", "nothing fitted"})
    CHECK_THAT(table, Catch::Contains(word));
  CHECK_THAT(rows_table(rows, unbounded), Catch::Contains("physical") && Catch::Contains(rows[0].id));
}

TEST_CASE("weir list: fits the terminal, whatever its width") {
  for (const unsigned short columns : std::initializer_list<unsigned short>{60, 80, 132})
    for (const std::vector<std::string>& arguments : {std::vector<std::string>{"list", "devices"},
                                                      {"list", "devices", "h100_sxm"},
                                                      {"list", "devices", "dimm_pim"},
                                                      {"list", "policies"},
                                                      {"list", "policies", "adaptive_chunk_interleaving"},
                                                      {"list", "workloads", "gamma"},
                                                      {"list", "models"},
                                                      {"list", "memories", "hbm2_neupims"}}) {
      const Shown shown = run_on_terminal(arguments, columns);
      INFO(shown.text);
      CHECK(shown.code == 0);
      CHECK(widest(shown.text) <= columns);
      // In a pipe every entry is a line; no word is lost here.
      const std::string plain = run_weir(arguments).out;
      CHECK((lines(shown.text) > lines(plain)) == (widest(plain) > columns));
      CHECK(without_space(shown.text) == without_space(plain));
    }
}

TEST_CASE("weir list: a terminal that does not say its width has COLUMNS, or 80") {
  const std::vector<std::string> arguments = {"list", "devices", "h100_sxm"};
  CHECK(widest(run_on_terminal(arguments, 0, {.environment = {"COLUMNS=60"}}).text) <= 60);
  const std::size_t usual = widest(run_on_terminal(arguments, 0, {.environment = {"COLUMNS="}}).text);
  CHECK(usual <= 80);
  CHECK(usual > 60);
}

TEST_CASE("weir --help: fits the terminal") {
  for (const std::string command : {"", "run", "plot", "pim", "list"}) {
    std::vector<std::string> arguments = {"--help"};
    if (!command.empty()) arguments.insert(arguments.begin(), command);
    const Shown shown = run_on_terminal(arguments, 80);
    INFO(shown.text);
    CHECK(shown.code == 0);
    CHECK(widest(shown.text) <= 80);
    CHECK(without_space(shown.text) == without_space(run_weir(arguments).out));
  }
}

TEST_CASE("weir run, sweep, compare: their tables fit 80 columns") {
  const ScratchDirectory scratch;
  const HowToRun how{.folder = scratch.path()};
  const auto check = [&](const std::vector<std::string>& arguments, const char* word) {
    const Shown shown = run_on_terminal(arguments, 80, how);
    INFO(shown.text);
    CHECK(shown.code == 0);
    CHECK_THAT(shown.text, Catch::Contains(word));
    // Notes and names of files are no table.
    std::string tables;
    std::istringstream lines(shown.text);
    for (std::string line; std::getline(lines, line);)
      if (line.find("note: ") == std::string::npos && line.find("results in ") == std::string::npos)
        tables += line + "\n";
    CHECK(widest(tables) <= 80);
  };
  check({"run", shipped("quickstart.json"), "--set", "/workload/requests/count=40", "--out", "a"},
        "Bound by");
  check({"run", shipped("neupims/quick.json"), "--out", "b"}, "Units");
  check({"sweep", shipped("sweeps/chunk_size.json"), "--out", "c"}, "points done");
  check({"compare", "a", "b"}, "What differs");
  check({"compare", "c", "c"}, "geo. mean");
}

TEST_CASE("weir run: the progress bar fits the terminal, and is gone at the end") {
  for (const unsigned short columns : std::initializer_list<unsigned short>{40, 80}) {
    const ScratchDirectory scratch;
    const Shown shown =
        run_on_terminal({"run", shipped("bench/million.json")}, columns, {.folder = scratch.path()},
                        [](const std::string& text) { return text.find(" % ") != std::string::npos; });
    INFO(shown.text);
    CHECK(shown.code == 130);
    const std::string drawn = shown.text.substr(shown.text.find("\r\033[K"));
    CHECK(widest(drawn.substr(0, drawn.rfind("\r\033[K"))) < columns);
    CHECK_THAT(drawn, Catch::Contains("of 1000000 requests"));
    CHECK_THAT(drawn.substr(drawn.rfind("\r\033[K")), !Catch::Contains("%"));
  }
}
