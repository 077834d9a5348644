// weir sweep under mpirun, where there is one.
#include <signal.h>

#include <chrono>
#include <thread>

#include "test/app/mpirun.h"
#include "test/app/sweep/small_sweep.h"

using namespace weir::test;
namespace fs = std::filesystem;

TEST_CASE("weir sweep under mpirun: the rows of a local run, failed points included") {
  if (!there_is_mpi()) return;
  const ScratchDirectory scratch;
  const std::string file = write_small_sweep(scratch / "small.json", 30);
  REQUIRE(run_weir({"sweep", file, "--out", (scratch / "local").string(), "--jobs", "2"}).code == 0);
  const Ended ended = run_weir({"sweep", file, "--out", (scratch / "mpi").string()}, {.under = mpirun(4)});
  INFO(ended.err);
  CHECK(ended.code == 0);
  CHECK_THAT(ended.out, Catch::StartsWith("small: 30 points done"));  // not in bold: it is no terminal
  CHECK(contents(scratch / "mpi/results.csv") == contents(scratch / "local/results.csv"));
  CHECK(rows(scratch / "mpi") == rows(scratch / "local"));

  const std::string slow = write_small_sweep(scratch / "slow.json", 5, 1'000'000, R"({"time_s": 0.2})");
  const Ended failed = run_weir({"sweep", slow, "--out", (scratch / "slow").string()}, {.under = mpirun(4)});
  CHECK(failed.code == 3);
  CHECK_THAT(failed.out, Catch::Contains("5 failed"));
}

TEST_CASE("weir sweep under mpirun: bad input is said once, and ends every rank") {
  if (!there_is_mpi()) return;
  const ScratchDirectory scratch;
  const std::string file = write_small_sweep(scratch / "small.json", 3);
  fs::create_directory(scratch / "theirs");
  std::ofstream(scratch / "theirs/thesis.tex") << "years of work";
  const Ended refused =
      run_weir({"sweep", file, "--out", (scratch / "theirs").string()}, {.under = mpirun(4)});
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, Catch::Contains("not a result of weir"));
  const Ended missing =
      run_weir({"sweep", "none.json", "--out", (scratch / "out").string()}, {.under = mpirun(4)});
  CHECK(missing.code == 2);
  const auto first = missing.err.find("none.json");
  REQUIRE(first != std::string::npos);
  CHECK(missing.err.find("none.json", first + 1) == std::string::npos);
}

TEST_CASE("weir sweep under mpirun: where mpirun recovers, the others take the points of a dead rank") {
  if (!there_is_mpi() || !mpirun_can_recover()) return;
  const ScratchDirectory scratch;
  const std::string file = write_small_sweep(scratch / "small.json", 16, 20'000);
  const fs::path out = scratch / "out";
  const Ended ended = run_weir({"sweep", file, "--out", out.string()},
                               {.under = recovering_mpirun(4), .meanwhile = [&](pid_t launcher) {
                                  while (points_done(out) < 5)
                                    std::this_thread::sleep_for(std::chrono::milliseconds(10));
                                  ::kill(rank_of(launcher, "2"), SIGKILL);
                                }});
  INFO(ended.err);
  CHECK(ended.code == 0);
  CHECK_THAT(ended.out, Catch::Contains("16 points done"));
  REQUIRE(run_weir({"sweep", file, "--out", (scratch / "whole").string(), "--jobs", "2"}).code == 0);
  CHECK(rows(out) == rows(scratch / "whole"));
}

// Rank 0 is stopped until rank 2 waits for it to take a result, and finds that of a dead one.
TEST_CASE("weir sweep under mpirun: a rank that dies while it hands in a result is not waited for") {
  if (!there_is_mpi() || !mpirun_can_recover()) return;
  const ScratchDirectory scratch;
  const std::string file = write_small_sweep(scratch / "small.json", 16, 20'000);
  const fs::path out = scratch / "out";
  const Ended ended = run_weir({"sweep", file, "--out", out.string()},
                               {.under = recovering_mpirun(3), .meanwhile = [&](pid_t launcher) {
                                  while (points_done(out) < 3)
                                    std::this_thread::sleep_for(std::chrono::milliseconds(10));
                                  const pid_t first = rank_of(launcher, "0"), last = rank_of(launcher, "2");
                                  ::kill(first, SIGSTOP);
                                  wait(3);
                                  ::kill(last, SIGKILL);
                                  wait(0.2);
                                  ::kill(first, SIGCONT);
                                }});
  INFO(ended.err);
  CHECK(ended.code == 0);
  CHECK_THAT(ended.out, Catch::Contains("16 points done"));
}

TEST_CASE("weir sweep under mpirun: a rank that dies before all have met is not waited for without end") {
  if (!there_is_mpi()) return;
  const ScratchDirectory scratch;
  const std::string file = write_small_sweep(scratch / "small.json", 4);
  const std::vector<std::string> under =
      recovering_mpirun(4, {"sh", "-c", "[ $OMPI_COMM_WORLD_RANK != 2 ] || kill -9 $$; exec \"$@\"", "sh"});
  const auto started = std::chrono::steady_clock::now();
  const Ended ended = run_weir({"sweep", file, "--out", (scratch / "out").string()},
                               {.environment = {"WEIR_MPI_TIME_LIMIT_S=3"}, .under = under});
  CHECK_THAT(ended.err,
             Catch::Contains("MPI_Init took longer than 3 s") && Catch::Contains("WEIR_MPI_TIME_LIMIT_S"));
  CHECK(std::chrono::steady_clock::now() - started < std::chrono::seconds(60));
  CHECK_FALSE(fs::exists(scratch / "out"));
  const Ended refused = run_weir({"sweep", file, "--out", (scratch / "out").string()},
                                 {.environment = {"WEIR_MPI_TIME_LIMIT_S=soon"}, .under = mpirun(4)});
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, Catch::Contains("expected whole seconds above 0 (got \"soon\")"));
}

TEST_CASE("weir sweep under mpirun: a rank that is killed loses what it ran, and --resume completes") {
  if (!there_is_mpi()) return;
  const ScratchDirectory scratch;
  const std::string file = write_small_sweep(scratch / "small.json", 16, 20'000);
  const fs::path out = scratch / "out";
  std::string kept;
  const Ended ended = run_weir({"sweep", file, "--out", out.string()},
                               {.under = mpirun(4), .meanwhile = [&](pid_t launcher) {
                                  while (points_done(out) < 5)
                                    std::this_thread::sleep_for(std::chrono::milliseconds(10));
                                  const pid_t rank = rank_of(launcher, "2");
                                  REQUIRE(rank > 0);
                                  kept = rows(out);
                                  ::kill(rank, SIGKILL);
                                }});
  CHECK(ended.code != 0);
  for (std::istringstream lines(kept); std::getline(lines, kept);)
    CHECK(rows(out).find(kept) != std::string::npos);
  REQUIRE(run_weir({"sweep", file, "--out", out.string(), "--resume"}, {.under = mpirun(4)}).code == 0);
  REQUIRE(run_weir({"sweep", file, "--out", (scratch / "whole").string(), "--jobs", "2"}).code == 0);
  CHECK(contents(out / "results.csv") == contents(scratch / "whole/results.csv"));
  CHECK(rows(out) == rows(scratch / "whole"));
}
