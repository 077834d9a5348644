#pragma once
// weir under mpirun, where there is one.
#include <catch2/catch.hpp>

#include <cstdlib>

#include "test/app/run_weir.h"

namespace weir::test {

inline bool there_is_mpi() {
  const bool there =
      std::filesystem::exists(std::filesystem::path(WEIR_BINARY).replace_filename("weir_mpi")) &&
      std::system("mpirun --version > /dev/null 2>&1") == 0;  // NOLINT: nothing of the user's
  if (!there) WARN("skipped: no mpirun here");
  return there;
}

// Can the others go on where a rank dies?
inline bool mpirun_can_recover() {
  const bool can =
      std::system("ompi_info --param orte all --level 9 2> /dev/null | grep -q orte_enable_recovery") == 0;
  if (!can) WARN("skipped: not an OpenMPI 4");
  return can;
}

inline std::vector<std::string> mpirun(int ranks, const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = {"mpirun", "--oversubscribe", "--allow-run-as-root", "-n",
                                    std::to_string(ranks)};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

inline std::vector<std::string> recovering_mpirun(int ranks, const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = mpirun(ranks, more);
  words.insert(words.begin() + 1, {"--mca", "orte_enable_recovery", "1"});
  return words;
}

inline int parent_of(const std::filesystem::path& process) {
  const std::string stat = contents(process / "stat");
  const auto name_end = stat.rfind(')');
  return name_end == std::string::npos ? 0 : std::atoi(stat.c_str() + name_end + 4);
}

inline pid_t rank_of(pid_t launcher, const std::string& rank) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const pid_t pid = std::atoi(entry.path().filename().c_str());
    if (pid <= 0 || parent_of(entry.path()) != launcher) continue;
    const std::string wanted = "OMPI_COMM_WORLD_RANK=" + rank + std::string(1, '\0');
    if (contents(entry.path() / "environ").find(wanted) != std::string::npos) return pid;
  }
  return 0;
}

inline int times_in(const std::string& text, const std::string& part) {
  int times = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++times;
  return times;
}

}  // namespace weir::test
