// Rows of `weir reproduce` are held against what is known of them (reproduced_rows.json) and to the figures
// that they had when they were last recorded: a few of each study on every test run; all of them by `make
// reproduce`, which runs the hidden case.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>

#include "sim/core/params.h"
#include "sim/studies/studies.h"
#include "test/app/recorded/figures.h"
#include "test/app/run_weir.h"
#include "test/app/scratch_directory.h"
#include "test/reference_folder.h"

namespace weir::test {
namespace {

const Json& known() {
  static const Json file = read_json_file(WEIR_SOURCE_DIR "/test/studies/reproduced_rows.json");
  return file;
}

std::string shown(const Json& row) {
  return fmt::format("{} ({}): {} in {} .. {}, physical {} in {} .. {}; {}", row["id"].get<std::string>(),
                     row["metric"].get<std::string>(), row["simulated"].dump(), row["accept_min"].dump(),
                     row["accept_max"].dump(), row["physical"].dump(), row["physical_accept_min"].dump(),
                     row["physical_accept_max"].dump(), row["note"].get<std::string>());
}

// `known` has the value that the row had when its reason was written. One that is no number counts as moved.
bool moved_far(const Json& row, const Json& known) {
  const char* column = known.contains("physical") ? "physical" : "simulated";
  const double was = known[column], margin = 0.1 * std::abs(was);
  return !row[column].is_number() || std::abs(row[column].get<double>() - was) > margin;
}

// Rows whose verdict is not what the list has, or that are outside by another figure.
std::vector<std::string> news(const Json& rows, const Json& known_outside) {
  std::vector<std::string> all;
  for (const Json& row : rows) {
    const bool expected = known_outside.contains(row["id"].get<std::string>());
    if (row["within"] == false && !expected) all.push_back("outside: " + shown(row));
    if (row["within"] == false && expected && moved_far(row, known_outside[row["id"].get<std::string>()]))
      all.push_back("known to be outside, and moved by more than a tenth: " + shown(row));
    if (row["within"] != false && expected) all.push_back("known to be outside, and is not: " + shown(row));
  }
  return all;
}

Figures figures_of_rows(const Json& rows) {
  Figures figures;
  for (const Json& row : rows)
    for (const char* column : {"simulated", "physical"})
      if (row[column].is_number())
        figures[row["id"].get<std::string>() + (*column == 's' ? "" : " physical")] = row[column];
  return figures;
}

// Compares the rows that are given; without the measurements there are fewer.
std::string moved_rows(const std::string& study, const Json& rows) {
  static FiguresByRun recorded = read_figures("reproduced");
  const Figures now = figures_of_rows(rows);
  Figures was = recorded[study];
  std::erase_if(was, [&](const auto& figure) { return !now.contains(figure.first); });
  return moved(was, now);
}

std::string folder_of(const std::string& study) {
  return "out/reproduce-" + study;
}

Json reproduced(const std::string& study, const std::filesystem::path& out, const Json& only,
                bool with_reference) {
  std::vector<std::string> arguments = {"reproduce", study, "--out", out.string()};
  for (const Json& id : only) arguments.insert(arguments.end(), {"--only", id.get<std::string>()});
  const HowToRun without_reference{.environment = {"WEIR_REFERENCE="}};
  const Ended ended = run_weir(arguments, with_reference ? HowToRun() : without_reference);
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  return read_json_file(out / "reproduce.json");
}

void check_some(const std::string& study) {
  const ScratchDirectory scratch;
  const Json& ids = known()["on_every_test_run"][study];
  const Json rows = reproduced(study, scratch.path() / study, ids, false);
  for (const Json& id : ids) {
    INFO(id);
    const auto row = std::ranges::find_if(rows, [&](const Json& r) { return r["id"] == id; });
    REQUIRE(row != rows.end());
    CHECK((*row)["simulated"].is_number());
  }
  for (const std::string& one : news(rows, known()["known_outside"])) FAIL_CHECK(one);
  if (study != "validation")  // there it was recorded with the measurements
    CHECK(moved_rows(study, rows) == "");
}

}  // namespace

TEST_CASE("reproduce: the rows of validation that every test run checks are as known") {
  check_some("validation");
}
TEST_CASE("reproduce: the rows of neupims that every test run checks are as known") {
  check_some("neupims");
}
TEST_CASE("reproduce: the rows of preserve that every test run checks are as known") {
  check_some("preserve");
}
TEST_CASE("reproduce: the rows of l3 that every test run checks are as known") {
  check_some("l3");
}
TEST_CASE("reproduce: the rows of hermes that every test run checks are as known") {
  check_some("hermes");
}
TEST_CASE("reproduce: the rows of hetero_pim that every test run checks are as known") {
  check_some("hetero_pim");
}

// Errors of single cells are reported, not judged by a bound.
TEST_CASE("reproduce: cells of large models and of prompts apart are as near to measured servers as known") {
  if (reference_folder().empty()) {
    WARN("skipped: WEIR_REFERENCE names no folder of measurements");
    return;
  }
  const Json& cells = known()["with_reference"];
  Json ids = Json::array();
  for (const auto& [id, known_error] : cells.items()) ids.push_back(id);
  const ScratchDirectory scratch;
  const Json rows = reproduced("validation", scratch.path() / "cells", ids, true);
  CHECK(rows.size() == cells.size());
  for (const Json& row : rows) {
    INFO(shown(row));
    CHECK_FALSE(moved_far(row, cells.at(row["id"].get<std::string>())));
  }
}

TEST_CASE("reproduce: every study has rows that every test run checks, every row outside its reason") {
  for (const Study& study : studies()) {
    INFO(study.name);
    REQUIRE(known()["on_every_test_run"].contains(study.name));
    CHECK(known()["on_every_test_run"][study.name].size() >= 3);
  }
  CHECK(known()["on_every_test_run"].size() == studies().size());
  for (const auto& [id, reason] : known()["known_outside"].items()) {
    INFO(id);
    CHECK(reason["why"].get<std::string>().size() > 20);
    CHECK((reason.contains("simulated") || reason.contains("physical")));
  }
}

TEST_CASE("reproduce: a row that leaves its bounds is news, and so is one that comes back") {
  const auto row = [](const char* id, const Json& within) {
    return Json{{"id", id},
                {"metric", "m"},
                {"simulated", 3},
                {"accept_min", 1},
                {"accept_max", 2},
                {"within", within},
                {"physical", {}},
                {"physical_accept_min", {}},
                {"physical_accept_max", {}},
                {"note", "why"}};
  };
  const Json rows = {row("a", true), row("b", false), row("c", Json())};
  const auto was = [](double value) { return Json{{"simulated", value}, {"why", "reason"}}; };
  CHECK(news(rows, {{"b", was(3)}}).empty());
  CHECK(news(rows, {{"b", was(2.75)}}).empty());  // 9 % more
  const std::vector<std::string> others = news(rows, {{"b", was(2.7)}});
  REQUIRE(others.size() == 1);
  CHECK_THAT(others[0], Catch::Contains("moved by more than a tenth: b"));
  CHECK(news(rows, {{"b", {{"physical", 3}, {"why", "reason"}}}}).size() == 1);  // has none
  const std::vector<std::string> unknown = news(rows, Json::object());
  REQUIRE(unknown.size() == 1);
  CHECK_THAT(unknown[0], Catch::StartsWith("outside: b (m): 3 in 1 .. 2") && Catch::Contains("why"));
  const std::vector<std::string> back = news(rows, {{"a", was(3)}, {"b", was(3)}, {"c", was(3)}});
  REQUIRE(back.size() == 2);
  CHECK_THAT(back[0], Catch::Contains("is not: a"));
  CHECK_THAT(back[1], Catch::Contains("is not: c"));
}

TEST_CASE("reproduce: every judged row of every study is within its bounds or known to be outside",
          "[.reproduce]") {
  for (const Study& study : studies()) {
    const auto began = std::chrono::steady_clock::now();
    const Json rows = reproduced(study.name, folder_of(study.name), Json::array(), true);
    const auto judged = std::ranges::count_if(rows, [](const Json& r) { return !r["within"].is_null(); });
    const std::vector<std::string> all = news(rows, known()["known_outside"]);
    fmt::print(
        stderr, "{}: {} rows, {} judged, {} not as known ({} s)\n", study.name, rows.size(), judged,
        all.size(),
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - began).count());
    for (const std::string& one : all) FAIL_CHECK(one);
    if (study.name != "validation" || !reference_folder().empty()) CHECK(moved_rows(study.name, rows) == "");
  }
}

TEST_CASE("reproduce: figures of all rows as make reproduce left them, recorded anew", "[.record-rows]") {
  FiguresByRun recorded;
  for (const Study& study : studies())
    recorded[study.name] = figures_of_rows(read_json_file(folder_of(study.name) + "/reproduce.json"));
  write_figures("reproduced", recorded);
}

}  // namespace weir::test
