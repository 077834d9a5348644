#include <catch2/catch.hpp>

#include "sim/app/results/sqlite.h"
#include "test/app/scratch_directory.h"
#include "test/app/small_sweep.h"

using namespace weir;
using test::contents;

namespace {

Sweep sweep_of(std::int64_t points) {
  Sweep sweep;
  sweep.name = "three, \"quoted\"";
  sweep.varied = {"/a/rate", "/b"};
  sweep.resolved = {{"points", points}};
  for (std::int64_t i = 0; i < points; ++i)
    sweep.points.push_back({i,
                            {{"/a/rate", static_cast<double>(i) * 0.5}, {"/b", "x,\"y\""}},
                            {{"seed", i + 7}, {"a", {{"rate", i}}}}});
  return sweep;
}

EndedPoint done(double throughput) {
  const Json summary = {{"name", "n"},
                        {"output_throughput", throughput},
                        {"request_goodput", nullptr},
                        {"cost", {{"dollars", 2}}},
                        {"scenario", {{"seed", 1}}}};
  return {"", summary.dump(), 1.5, 1.0, 1000};
}

std::string query(const std::filesystem::path& file, const std::string& sql) {
  const Database database(file, Database::Access::read);
  Statement row(database, sql);
  return row.step() ? row.text(0) : "no row";
}

}  // namespace

TEST_CASE("result store: what is put is read back, by index, and a second result replaces the first") {
  const ScratchDirectory scratch;
  const std::filesystem::path file = scratch / "results.sqlite";
  const Sweep sweep = sweep_of(3);
  ResultStore::create(file, sweep);
  {
    ResultStore store(file, sweep);
    CHECK(store.done().empty());
    store.put(sweep.points[2], done(20));
    store.put(sweep.points[0], {"killed by signal 6: \xff", "", 0.1, 0.1, 10});
    store.put(sweep.points[1], {"late", "", 0.1, 0.1, 10});
    store.put(sweep.points[1], done(10));
    CHECK(store.done() == std::vector<bool>{false, true, true});
    CHECK(read_store(file).points.size() == 3);  // while it is written
  }
  const ResultSet results = read_store(file);
  CHECK(results.name == sweep.name);
  CHECK(results.varied == sweep.varied);
  REQUIRE(results.points.size() == 3);
  CHECK(results.points[0].status == "failed");
  CHECK_THAT(results.points[0].error, Catch::StartsWith("killed by signal 6"));
  CHECK(results.points[1].summary["output_throughput"] == 10);
  CHECK(results.points[2].varied == sweep.points[2].varied);
  CHECK(query(file, "SELECT seed FROM points WHERE point = 0") == "7");  // of the scenario it was given
  CHECK(query(file, "SELECT scenario FROM points WHERE point = 2") == R"({"seed":1})");
  CHECK(query(file, "SELECT count(*) FROM costs") == "3");
  CHECK(scratch.names() == std::set<std::string>{"results.sqlite"});  // no log is left
}

TEST_CASE("result store: one made for another sweep, or for a changed scenario, is refused") {
  const ScratchDirectory scratch;
  const std::filesystem::path file = scratch / "results.sqlite";
  ResultStore::create(file, sweep_of(3));
  CHECK_NOTHROW(ResultStore(file, sweep_of(3)));
  CHECK_THROWS_AS(ResultStore(file, sweep_of(4)), ConfigError);
  Sweep changed = sweep_of(3);
  changed.points[1].scenario["a"]["rate"] = 99;
  CHECK_THROWS_WITH(ResultStore(file, changed), Catch::Contains("another sweep: its scenario differs"));
}

TEST_CASE("result store: somebody else's file is no store") {
  const ScratchDirectory scratch;
  CHECK_FALSE(is_store(scratch / "none"));
  std::ofstream(scratch / "text") << "SQLite, they said";
  CHECK_FALSE(is_store(scratch / "text"));
  Database(scratch / "theirs", Database::Access::create).run("CREATE TABLE thesis (chapter)");
  CHECK_FALSE(is_store(scratch / "theirs"));
  CHECK_THROWS_AS(read_store(scratch / "theirs"), ConfigError);
}

TEST_CASE("results.csv: a column a varied pointer, status, then the metrics; empty where there is none") {
  const ScratchDirectory scratch;
  const Sweep sweep = sweep_of(2);
  ResultStore::create(scratch / "results.sqlite", sweep);
  {
    ResultStore store(scratch / "results.sqlite", sweep);
    store.put(sweep.points[1], done(0.1));
    store.put(sweep.points[0], {"crashed", "", 0, 0, 0});
  }
  write_results_csv(scratch / "results.csv", read_store(scratch / "results.sqlite"));
  CHECK(contents(scratch / "results.csv") ==
        "/a/rate,/b,status,output_throughput,request_goodput,cost_dollars\n"
        "0.0,\"x,\"\"y\"\"\",failed,,,\n"
        "0.5,\"x,\"\"y\"\"\",done,0.1,,2\n");
}
