// weir_bench_dram, called by `make bench`: requests a second of one channel of the bank model, by CPU time,
// best of three. DRAMsim3 does 0.04 to 0.2 M requests/s on such (reference dram/dramsim3_cases.csv,
// sim_req_per_s).
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <random>

#include "models/memory/dram/channel.h"

using namespace weir;

namespace {

constexpr int requests = 300'000;
constexpr double budget = 0.2e6;

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::vector<MemoryRequest> stream(const MemorySpec& memory) {
  const auto step = static_cast<std::uint64_t>(memory.organisation.access_bytes);
  std::vector<MemoryRequest> all;
  for (std::uint64_t i = 0; i < requests; ++i) all.push_back({0, i * step, false});
  return all;
}

std::vector<MemoryRequest> random(const MemorySpec& memory, unsigned writes_in_4) {
  const auto step = static_cast<std::uint64_t>(memory.organisation.access_bytes);
  std::mt19937_64 random(1);
  std::vector<MemoryRequest> all;
  for (int i = 0; i < requests; ++i)
    all.push_back({0, random() % static_cast<std::uint64_t>(memory.organisation.capacity()) / step * step,
                   random() % 4 < writes_in_4});
  return all;
}

bool measure(const MemorySpec& memory, const char* what, const std::vector<MemoryRequest>& trace) {
  double best = 1e300;
  for (int i = 0; i < 3; ++i) {
    const double started = cpu_seconds();
    play(memory, trace);
    best = std::min(best, cpu_seconds() - started);
  }
  const double rate = requests / best;
  std::printf("%-20s %-24s %8.2f M/s  %s\n", memory.name.c_str(), what, rate / 1e6,
              rate >= budget ? "met" : "MISSED");
  return rate >= budget;
}

}  // namespace

int main() {
  std::printf("Requests a second of one DRAM channel, best of 3; budget 0.2 M/s\n");
  bool met = true;
  for (const char* kind : {"hbm2_neupims", "ddr4_3200_l3", "ddr4_3200_hermes"}) {
    const MemorySpec memory = find_memory(kind);
    met &= measure(memory, "stream of reads", stream(memory));
    met &= measure(memory, "random reads", random(memory, 0));
    met &= measure(memory, "random, a quarter writes", random(memory, 1));
  }
  return met ? 0 : 1;
}
