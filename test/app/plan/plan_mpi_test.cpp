// weir plan under mpirun, where there is one.
#include <signal.h>

#include "test/app/mpirun.h"
#include "test/app/plan/plan_files.h"
#include "test/app/sweep/small_sweep.h"

using namespace weir;
using namespace weir::test;
namespace fs = std::filesystem;

namespace {

// In a folder of its own, so that every one is told the same words and prints the same.
Ended plan_in(
    const fs::path& folder, const Json& question, const std::string& devices,
    const std::vector<std::string>& under, std::vector<std::string> more = {},
    std::function<void(pid_t)> meanwhile = [](pid_t) {}) {
  fs::create_directories(folder);
  write_json(folder / "question.json", question);
  more.insert(more.begin(), {"plan", "question.json", "--devices", devices, "--out", "out"});
  return run_weir(more, {.folder = folder, .under = under, .meanwhile = std::move(meanwhile)});
}

void same_plan(const fs::path& folder, const fs::path& other) {
  for (const char* name :
       {"plan.json", "results.csv", "scenario.json", "command.sh", "compose.yaml", "kubernetes.yaml"}) {
    INFO(name);
    CHECK(fs::exists(folder / "out" / name) == fs::exists(other / "out" / name));
    CHECK(contents(folder / "out" / name) == contents(other / "out" / name));
  }
  CHECK(rows(folder / "out") == rows(other / "out"));
}

// Twelve deployments in three rounds, none of which is given up; a second of work and more.
const Json slow_question = plan_question(20, 5000, 200, 8000);

void kill_rank_2_once_some_are_done(pid_t launcher, const fs::path& folder) {
  while (points_done(folder / "out") < 3) wait(0.01);
  const pid_t rank = rank_of(launcher, "2");
  REQUIRE(rank > 0);
  ::kill(rank, SIGKILL);
}

}  // namespace

TEST_CASE("weir plan under mpirun: the files and the table of a local plan, whatever the number of ranks") {
  if (!there_is_mpi()) return;
  const ScratchDirectory scratch;
  struct Case {
    Json question;
    int code;
  };
  const std::vector<Case> cases = {{plan_question(40, 200, 14, 100), 0}, {plan_question(20, 500, 9, 60), 3}};
  for (const Case& one : cases) {
    INFO(one.question.dump());
    fs::remove_all(scratch.path() / "local");
    const Ended local = plan_in(scratch / "local", one.question, "3xh100_sxm", {});
    REQUIRE(local.code == one.code);
    for (const int ranks : {1, 3}) {
      INFO(ranks << " ranks");
      const fs::path folder = scratch / std::to_string(ranks);
      const Ended ended = plan_in(folder, one.question, "3xh100_sxm", mpirun(ranks));
      INFO(ended.err);
      CHECK(ended.code == one.code);
      CHECK(ended.out == local.out);
      CHECK(times_in(ended.err, "note: ") == times_in(local.err, "note: "));
      same_plan(folder, scratch / "local");
    }
  }
}

TEST_CASE("weir plan under mpirun: what is wrong is said once, and ends every rank") {
  if (!there_is_mpi()) return;
  const ScratchDirectory scratch;
  const auto said_once = [&](const Json& question, const std::string& devices, const std::string& what,
                             const std::vector<std::string>& more = {}) {
    const Ended ended = plan_in(scratch / "q", question, devices, mpirun(3), more);
    INFO(ended.err);
    CHECK(ended.code == 2);
    CHECK(times_in(ended.err, what) == 1);
    CHECK_FALSE(fs::exists(scratch / "q/out"));
  };
  Json question = plan_question(20, 500, 20, 60);
  said_once(question, "3xh100", "no such device (got \"h100\"");
  said_once(question, "3xh100_sxm", "--top", {"--top", "0"});
  question["models"] = 1;
  said_once(question, "3xh100_sxm", "/models");
  question.erase("models");
  question["cluster"] = {
      {"nodes", {{{"devices", {{{"kind", "h100_sxm"}, {"count", 2}, {"price_per_hour", 0}}}}}}}};
  said_once(question, "2xh100_sxm", "has no price");  // which rank 0 alone finds
  const Ended piped = run_weir({"plan", "-"}, {.under = mpirun(3)});
  CHECK(piped.code == 2);
  CHECK(times_in(piped.err, "expected a file, not stdin") == 1);
}

TEST_CASE("weir plan under mpirun: a rank that reads something else ends all") {
  if (!there_is_mpi()) return;
  const ScratchDirectory scratch;
  fs::create_directories(scratch / "other");
  write_json(scratch / "other/question.json", plan_question(21, 500, 20, 60));
  const Ended ended =
      plan_in(scratch / "q", plan_question(20, 500, 20, 60), "2xh100_sxm",
              mpirun(3, {"sh", "-c", "[ $OMPI_COMM_WORLD_RANK != 1 ] || cd ../other; exec \"$@\"", "sh"}));
  CHECK(ended.code != 0);
  CHECK_THAT(ended.err, Catch::Contains("rank 1 does not read what rank 0 reads from question.json"));
  CHECK_FALSE(fs::exists(scratch / "q/out/plan.json"));
}

TEST_CASE("weir plan under mpirun: a rank that is killed ends it with an error, and --resume completes") {
  if (!there_is_mpi()) return;
  const ScratchDirectory scratch;
  const fs::path folder = scratch / "mpi";
  const Ended ended = plan_in(folder, slow_question, "3xh100_sxm", mpirun(3), {},
                              [&](pid_t launcher) { kill_rank_2_once_some_are_done(launcher, folder); });
  CHECK(ended.code != 0);
  CHECK_THAT(ended.err, Catch::Contains("rank 2") && Catch::Contains("signal 9"));
  CHECK_FALSE(fs::exists(folder / "out/plan.json"));
  const std::size_t done = points_done(folder / "out");
  CHECK(done >= 3);
  CHECK(done < 12);
  REQUIRE(plan_in(scratch / "local", slow_question, "3xh100_sxm", {}).code == 0);
  REQUIRE(plan_in(folder, slow_question, "3xh100_sxm", mpirun(3), {"--resume"}).code == 0);
  same_plan(folder, scratch / "local");
}

TEST_CASE("weir plan under mpirun: where mpirun recovers, the others go on without a dead rank") {
  if (!there_is_mpi() || !mpirun_can_recover()) return;
  const ScratchDirectory scratch;
  const fs::path folder = scratch / "mpi";
  const Ended ended = plan_in(folder, slow_question, "3xh100_sxm", recovering_mpirun(3), {},
                              [&](pid_t launcher) { kill_rank_2_once_some_are_done(launcher, folder); });
  INFO(ended.err);
  CHECK(ended.code == 0);
  CHECK_THAT(ended.err, Catch::Contains("rank 2 is silent") && !Catch::Contains("rank 0 is silent"));
  REQUIRE(plan_in(scratch / "local", slow_question, "3xh100_sxm", {}).code == 0);
  same_plan(folder, scratch / "local");
}
