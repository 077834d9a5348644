// Ten minutes at fifty changes a minute: neither weir nor the page grows. WEIR_SOAK_S makes it shorter.
#include <catch2/catch.hpp>

#include <chrono>
#include <cstdlib>
#include <thread>

#include "test/app/explore/open_explorer.h"

using namespace weir;
using namespace weir::test;

TEST_CASE("soak: weir explore at fifty changes a minute does not grow", "[.soak]") {
  NEEDS_CHROMIUM
  using Clock = std::chrono::steady_clock;
  const char* given = std::getenv("WEIR_SOAK_S");
  const double seconds = given ? std::stod(given) : 600;
  OpenExplorer page(shipped("quickstart.json"));
  const std::vector<pid_t> processes = page.weir.processes();
  const auto change = [&](int i) {
    page.enter("/workload/arrivals/rate_per_s", std::to_string(4 + i % 40));
    if (i % 10 == 0)
      page.choose("/serving/replicas/0/batching/kind", i % 20 == 0 ? "orca" : "chunked_prefill");
  };
  for (int i = 0; i < 20; ++i) change(i);  // what is there once
  const double before = page.weir.resident_mib(), heap_before = page.browser.heap_mib();
  const auto start = Clock::now();
  int changes = 0;
  while (std::chrono::duration<double>(Clock::now() - start).count() < seconds) {
    const auto next = start + std::chrono::duration<double>(1.2 * ++changes);
    change(changes);
    std::this_thread::sleep_until(next);
  }
  const double after = page.weir.resident_mib(), heap_after = page.browser.heap_mib();
  WARN(changes << " changes in " << seconds << " s: weir " << before << " -> " << after
               << " MiB resident, the page's heap " << heap_before << " -> " << heap_after << " MiB");
  CHECK(after < before + 4);
  CHECK(heap_after < heap_before + 4);
  CHECK(page.weir.processes() == processes);
  CHECK(page.browser.complaints() == std::vector<std::string>{});
}
