// CPU time of asking what the fullest rank of a layer has to do and what its exchange takes:
// `weir_bench_experts`, called by `make bench`. A layer of 256 experts and 32 redundant ones over 72 ranks,
// power law; a step asks each once a part, so a microsecond is the bound.
#include <cstdio>

#include "models/latency/expert_exchange.h"
#include "models/latency/expert_load.h"
#include "test/bench/cpu_seconds.h"

using namespace weir;

namespace {

template <class Ask>
void report(const char* what, const Ask& ask) {
  constexpr int times = 1000000;
  double sum = 0;
  const double start = cpu_seconds();
  for (int i = 0; i < times; ++i) sum += ask(1 + i % 9000);
  std::printf("%-40s %8.3f us  (%g)\n", what, 1e6 * (cpu_seconds() - start) / times, sum);
}

}  // namespace

int main() {
  const double start = cpu_seconds();
  const ExpertLoads loads({256, 8, 72, 32, ExpertDistribution::power_law, 1.2, 1});
  std::printf("%-40s %8.3f ms\n", "EP72, power law: loads, once", 1e3 * (cpu_seconds() - start));
  report("EP72, power law: fullest rank", [&](int tokens) { return loads.fullest(tokens).copies; });
  const ExpertLoads even({256, 8, 72, 32, ExpertDistribution::uniform, 1.2, 1});
  report("EP72, uniform: fullest rank", [&](int tokens) { return even.fullest(tokens).hit; });
  LinkSpec network;
  network.bandwidth = BytesPerSecond(50e9);
  const ExchangeGroup group{72, 8, find_interconnect("nvlink4_switch"), network};
  for (const auto& [name, method] : {std::pair{"EP72: dispatch, low latency", ExchangeMethod::low_latency},
                                     {"EP72: dispatch, normal", ExchangeMethod::normal},
                                     {"EP72: dispatch, all-gather", ExchangeMethod::all_gather}}) {
    const ExpertExchange exchange(method, group);
    report(name, [&](int tokens) {
      return exchange.dispatch({1. * tokens, 256, 8, Bytes(7392), Bytes(14336), 1.2}).time.value();
    });
  }
}
