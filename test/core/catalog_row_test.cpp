// Rows given by name, by path and over a base: one way for every family.
#include "sim/core/catalog_row.h"

#include <catch2/catch.hpp>

#include "test/app/run_weir.h"

namespace weir::test {
namespace {

const EmbeddedFiles toys = {{"small", R"({"size": 1, "part": {"teeth": 8, "name": "gear"}})"},
                            {"large", R"({"size": 9, "part": {"teeth": 80, "name": "gear"}})"}};

const RowFamily& toy_rows() {
  static const RowFamily family{"toy", toys,
                                [](Reading& reading, Json& row, const Json&, const std::string&) {
                                  Params params(reading, row);
                                  params.integer({"size", ""}, {1, 10});
                                  Params part = params.object({"part", ""}, Params::Presence::required);
                                  part.integer({"teeth", ""}, {1, 100});
                                  part.text({"name", ""});
                                  part.close();
                                  params.close();
                                }};
  return family;
}

struct Found {
  CatalogRow row;
  std::string problems;
  std::size_t files = 0;
};

Found find(const Json& value, const std::string& file = "scenario.json", const Json& base = nullptr) {
  Reading reading(file);
  Found found{find_row(toy_rows(), value, reading, "/toy", base), "", 0};
  found.files = reading.files().size();
  try {
    reading.finish();
  } catch (const ConfigError& error) {
    for (const Problem& p : error.problems()) found.problems += p.pointer + ": " + p.what + "\n";
  }
  CHECK(found.row.row.is_null() == !found.problems.empty());
  return found;
}

}  // namespace

TEST_CASE("catalog rows: a name is the catalog's row, an object changes keys of its base") {
  CHECK(find("small").row.row["size"] == 1);
  const Found changed = find({{"base", "small"}, {"part", {{"teeth", 12}}}});
  CHECK(changed.row.name == "small");
  CHECK(changed.row.row == Json::parse(R"({"size": 1, "part": {"teeth": 12, "name": "gear"}})"));
  CHECK(find({{"size", 3}}, "scenario.json", "large").row.row["part"]["teeth"] == 80);
  CHECK(find(Json::parse(R"({"size": 2, "part": {"teeth": 1, "name": "cog"}})")).row.row["size"] == 2);
}

TEST_CASE("catalog rows: what is wrong is told at its pointer, all of it, with what was meant") {
  CHECK(
      find("smal").problems ==
      "/toy: no such toy (got \"smal\", did you mean \"small\"?, known: small, large); or the path of a file "
      "like the catalog's\n");
  CHECK_THAT(find({{"base", "smal"}}).problems, Catch::Contains("/toy/base: no such toy"));
  CHECK_THAT(find({{"base", 5}}).problems, Catch::Contains("/toy/base: expected a string"));
  CHECK_THAT(find({{"base", nullptr}}).problems, Catch::Contains("/toy/base: expected a string"));
  CHECK_THAT(find({{"base", "small"}, {"size", nullptr}}).problems,
             Catch::Contains("/toy/size: expected an integer"));
  CHECK_THAT(find(5).problems, Catch::Contains("/toy: expected a string"));
  CHECK_THAT(find({{"size", 2}}).problems, Catch::Contains("/toy/part: required"));
  const std::string two = find({{"base", "small"}, {"size", 11}, {"part", {{"tooth", 12}}}}).problems;
  CHECK_THAT(two, Catch::Contains("/toy/size: expected an integer >= 1 and <= 10, got 11") &&
                      Catch::Contains("/toy/part/tooth: unknown key; did you mean \"teeth\"?"));
}

TEST_CASE(
    "catalog rows: a file is relative to the one that names it, counts as one, and tells its own problems") {
  const ScratchDirectory scratch;
  std::filesystem::create_directory(scratch / "rows");
  const std::string scenario = (scratch / "scenario.json").string();
  write(scratch / "rows/mine.json", R"({"base": "theirs.json", "size": 4})");
  write(scratch / "rows/theirs.json", R"({"base": "large", "size": 5})");
  const Found found = find("rows/mine.json", scenario);
  CHECK(found.row.name == "mine");
  CHECK(found.row.row["size"] == 4);
  CHECK(found.row.row["part"]["teeth"] == 80);
  CHECK(found.files == 2);
  CHECK(find({{"base", "rows/mine.json"}, {"size", 6}}, scenario).row.row["size"] == 6);

  write(scratch / "rows/theirs.json", R"({"base": "large", "size": 50})");
  const std::string told = find("rows/mine.json", scenario).problems;
  CHECK_THAT(told,
             Catch::StartsWith("/toy: ") && Catch::Contains("rows/theirs.json: /size: expected an integer"));
  write(scratch / "rows/theirs.json", R"({"base": "mine.json"})");
  CHECK_THAT(find("rows/mine.json", scenario).problems, Catch::Contains("mine.json is its own base"));
  CHECK_THAT(find("rows/none.json", scenario).problems, Catch::Contains("rows/none.json: cannot be opened"));
  write(scratch / "rows/text.json", R"("large")");
  CHECK_THAT(find("rows/text.json", scenario).problems, Catch::Contains("text.json: expected an object"));
}

}  // namespace weir::test
