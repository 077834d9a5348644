// weir_bench_sweep [POINTS]: does a sweep of points of about a second each keep the cores busy?
// 1,000 points by default. `points running` is the points' own wall time over
// what the cores had; unlike the CPU time it does not mind who else uses the machine. Then the opposite,
// 7,680 points of milliseconds: PRESERVE's exploration of L2 sizes.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "sim/app/results/sqlite.h"

namespace {
namespace fs = std::filesystem;

// Lightly loaded, so that no step is like another: about a second of CPU.
constexpr const char* scenario = R"({
  "model": "llama3.1-8b",
  "cluster": {"nodes": [{"devices": [{"kind": "h100_sxm"}]}]},
  "serving": {"replicas": [{}]},
  "workload": {"requests": {"kind": "named", "name": "sharegpt", "count": 250000},
               "arrivals": {"kind": "poisson", "rate_per_s": 4}}
})";

double points_wall(const fs::path& store) {
  const weir::Database database(store, weir::Database::Access::read);
  weir::Statement sum(database, "SELECT sum(wall_s) FROM costs");
  sum.step();
  return std::strtod(sum.text(0).c_str(), nullptr);
}

double cpu_of_children() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

int exploration() {
  const fs::path out = fs::temp_directory_path() / fmt::format("weir-bench-{}", ::getpid());
  const double cpu_before = cpu_of_children();
  const auto started = std::chrono::steady_clock::now();
  const int status =
      std::system(fmt::format("{} sweep {}/scenarios/sweeps/preserve_l2_size.json --out {} --jobs 2 --quiet",
                              WEIR_BINARY, WEIR_SOURCE_DIR, out.string())
                      .c_str());
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  fs::remove_all(out);
  fmt::print("7,680 points of preserve_l2_size.json, 2 at once: {:.1f} s, {:.1f} CPU s  <= 20 s: {}\n", wall,
             cpu_of_children() - cpu_before, wall <= 20 ? "met" : "MISSED");
  return status == 0 && wall <= 20 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const int points = argc > 1 ? std::atoi(argv[1]) : 1000;
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  const fs::path folder = fs::temp_directory_path() / fmt::format("weir-bench-{}", ::getpid());
  fs::create_directories(folder);
  std::ofstream(folder / "sweep.json")
      << fmt::format("{{\"scenario\": {}, \"seeds\": {}}}", scenario, points);
  const auto started = std::chrono::steady_clock::now();
  const int status = std::system(fmt::format("{} sweep {} --out {} --quiet", WEIR_BINARY,
                                             (folder / "sweep.json").string(), (folder / "out").string())
                                     .c_str());
  const double had =
      cores * std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  const double running = status == 0 ? points_wall(folder / "out/results.sqlite") / had : 0;
  fs::remove_all(folder);
  fmt::print("{} points on {} cores: {:.1f} s, points running {:.1f} % of it, CPU {:.1f} %  >= 90 %: {}\n",
             points, cores, had / cores, 100 * running, 100 * cpu_of_children() / had,
             running >= 0.9 ? "met" : "MISSED");
  const int explored = exploration();
  return status == 0 && running >= 0.9 ? explored : 1;
}
