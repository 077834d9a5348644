#include <fmt/chrono.h>
#include <sys/resource.h>

#include <ctime>

#include "sim/app/output/writers.h"

namespace weir {

Json performance_json(std::chrono::steady_clock::time_point started, const RunResult& result) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  Json performance = {
      {"date", fmt::format("{:%Y%m%d-%H%M%S}", fmt::localtime(std::time(nullptr)))},  // as vLLM writes it
      {"wall_s", std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count()},
      {"cpu_s", seconds(usage.ru_utime) + seconds(usage.ru_stime)},
      {"peak_rss_bytes", std::int64_t{usage.ru_maxrss} * 1024},
      {"events", result.events},
      {"actors", result.actors},
      {"hosts", result.hosts},
      {"activities", result.activities}};
  if (result.neurons) performance["neuron_placement_s"] = result.neurons->placement.value();
  return performance;
}

}  // namespace weir
