#include <catch2/catch.hpp>

#include <signal.h>
#include <unistd.h>

#include "sim/app/child_process.h"
#include "sim/app/results/sqlite.h"
#include "test/app/run_weir.h"
#include "test/app/scratch_directory.h"
#include "test/app/sweep/small_sweep.h"

using namespace weir;
using test::contents;

namespace {

SweepRecord sweep_of(std::size_t points) {
  return {"three, \"quoted\"",
          {"/a/rate", "/b"},
          points,
          {{"points", points}},
          {{"scenario", "of " + std::to_string(points)}, {"file trace.csv", "12ab"}}};
}

Point point(std::int64_t i) {
  return {i, {{"/a/rate", static_cast<double>(i) * 0.5}, {"/b", "x,\"y\""}}};
}

Json given(std::int64_t i) {
  return {{"seed", i + 7}, {"a", {{"rate", i}}}};
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
  const SweepRecord sweep = sweep_of(3);
  ResultStore::create(file, sweep);
  {
    ResultStore store(file, sweep);
    CHECK(store.done().empty());
    store.put(point(2), done(20), given(2));
    store.put(point(0), {"killed by signal 6: \xff", "", 0.1, 0.1, 10}, given(0));
    store.put(point(1), {"late", "", 0.1, 0.1, 10}, given(1));
    store.put(point(1), done(10), given(1));
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
  CHECK(results.points[2].varied == point(2).varied);
  CHECK(query(file, "SELECT seed FROM points WHERE point = 0") == "7");  // of the scenario it was given
  CHECK(query(file, "SELECT scenario FROM points WHERE point = 2") == R"({"seed":1})");
  CHECK(query(file, "SELECT count(*) FROM costs") == "3");
  CHECK(scratch.names() == std::set<std::string>{"results.sqlite"});  // no log is left
}

// SQLite's locks are the process's, and go when it closes the file, however it had opened it: the next one to
// read would take the log for nobody's, and remove it.
TEST_CASE("result store: its writer reads it in between, and another process after that") {
  const ScratchDirectory scratch;
  const std::filesystem::path file = scratch / "results.sqlite";
  const SweepRecord sweep = sweep_of(2);
  ResultStore::create(file, sweep);
  {
    ResultStore store(file, sweep);
    store.put(point(0), done(20), given(0));
    CHECK(read_store(file).points.size() == 1);
    const std::string name = scratch.path().string();
    const test::Ended ended = test::run_weir({"compare", name, name});
    INFO(ended.err);
    CHECK(ended.code == 0);
    CHECK(std::filesystem::exists(file.string() + "-wal"));
    store.put(point(1), done(10), given(1));
  }
  CHECK(read_store(file).points.size() == 2);
}

TEST_CASE("result store: one made for another sweep, or for a changed scenario, is refused") {
  const ScratchDirectory scratch;
  const std::filesystem::path file = scratch / "results.sqlite";
  ResultStore::create(file, sweep_of(3));
  CHECK_NOTHROW(ResultStore(file, sweep_of(3)));
  CHECK_THROWS_AS(ResultStore(file, sweep_of(4)), ConfigError);
  SweepRecord changed = sweep_of(3);
  changed.identity["scenario"] = "another";
  CHECK_THROWS_WITH(ResultStore(file, changed), Catch::Contains("another sweep: its scenario differs"));
  changed = sweep_of(3);
  changed.identity["file trace.csv"] = "12ac";
  CHECK_THROWS_WITH(ResultStore(file, changed), Catch::Contains("another sweep: its file trace.csv differs"));
}

TEST_CASE("result store: a name, and what results do not depend on, becomes that of who goes on") {
  const ScratchDirectory scratch;
  const std::filesystem::path file = scratch / "results.sqlite";
  ResultStore::create(file, sweep_of(3));
  SweepRecord renamed = sweep_of(3);
  renamed.name = "three";
  renamed.resolved = {{"limits", {{"time_s", 9}}}};
  {
    ResultStore store(file, renamed);
    store.put(point(1), done(1), given(1));
  }
  CHECK(read_store(file).name == "three");
  CHECK(read_store(file).missing == 2);
  CHECK(query(file, "SELECT value FROM sweep WHERE key = 'resolved'") == R"({"limits":{"time_s":9}})");
}

TEST_CASE("result store: some metrics alone are those of the whole summaries") {
  const ScratchDirectory scratch;
  const std::filesystem::path file = scratch / "results.sqlite";
  ResultStore::create(file, sweep_of(3));
  {
    ResultStore store(file, sweep_of(3));
    store.put(point(0), done(1), given(0));
    store.put(point(1), {"crashed", "", 0, 0, 0}, given(1));
    store.put(point(2), done(2), given(2));
    ResultSet some = read_store(file, {"cost_dollars", "output_throughput", "none"});
    CHECK(some.points[2].summary == Json{{"output_throughput", 2.0}, {"cost_dollars", 2.0}});
    CHECK(some.points[1].summary.is_null());
    for (PointResult& p : some.points)
      if (p.status == "done") p.summary["pareto"] = p.index;
    store.add_columns(some.points, {"pareto"});
  }
  const ResultSet whole = read_store(file);
  CHECK(whole.points[1].status == "failed");
  for (const std::size_t i : {0u, 2u}) {
    Json expected = Json::parse(done(i == 0 ? 1 : 2).summary);
    expected["pareto"] = i;
    CHECK(whole.points[i].summary.dump() == expected.dump());
  }
}

// As when a sweep opens or closes its store, in the middle of turning the write-ahead log on or off.
TEST_CASE("result store: what its writer left half done when it was killed is taken back by who reads it") {
  const ScratchDirectory scratch;
  const std::filesystem::path file = scratch / "results.sqlite";
  ResultStore::create(file, sweep_of(3));
  { ResultStore(file, sweep_of(3)).put(point(0), done(7), given(0)); }
  in_children(
      1, 1,
      [&](std::size_t) -> std::string {
        Database database(file, Database::Access::write);
        database.run("PRAGMA cache_size = 1; BEGIN; DELETE FROM points");  // the cache is written out early
        database.run("INSERT INTO sweep VALUES ('long', zeroblob(100000))");
        ::kill(::getpid(), SIGKILL);
        return "";
      },
      [](std::size_t, const ChildResult& killed) {
        CHECK_THAT(killed.error, Catch::StartsWith("killed by signal 9"));
        return true;
      });
  REQUIRE(std::filesystem::file_size(scratch / "results.sqlite-journal") > 0);
  const ResultSet results = read_store(file);
  REQUIRE(results.points.size() == 1);
  CHECK(results.points[0].summary["output_throughput"] == 7);
  CHECK_FALSE(std::filesystem::exists(scratch / "results.sqlite-journal"));
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

TEST_CASE("results.csv: a column a varied pointer, status, then the metrics, empty where there is none") {
  const ScratchDirectory scratch;
  const SweepRecord sweep = sweep_of(2);
  ResultStore::create(scratch / "results.sqlite", sweep);
  {
    ResultStore store(scratch / "results.sqlite", sweep);
    store.put(point(1), done(0.1), given(1));
    store.put(point(0), {"crashed", "", 0, 0, 0}, given(0));
  }
  write_results_csv(scratch / "results.csv", scratch / "results.sqlite", sweep.varied);
  CHECK(contents(scratch / "results.csv") ==
        "/a/rate,/b,status,output_throughput,request_goodput,cost_dollars\n"
        "0.0,\"x,\"\"y\"\"\",failed,,,\n"
        "0.5,\"x,\"\"y\"\"\",done,0.1,,2\n");
}
