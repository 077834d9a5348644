// Reports that a router hears late, of replicas with several KV caches.
#include "sim/serving/routing/late_reports.h"

#include <algorithm>
#include <catch2/catch.hpp>

using namespace weir;

TEST_CASE(
    "late reports: a replica's queue and blocks are those of all its caches, as they were a delay ago") {
  LateReports reports(Seconds(2));
  const int a = reports.add_cache(0, 100), b = reports.add_cache(0, 300), c = reports.add_cache(1, 50);
  reports.waiting(a, 3, Seconds(0));
  reports.used(a, 40, Seconds(0));
  reports.waiting(b, 4, Seconds(1));
  reports.used(b, 60, Seconds(1));
  reports.waiting(c, 9, Seconds(1));
  reports.waiting(a, 5, Seconds(3));
  std::vector<std::int32_t> changed;
  const auto hear = [&](double now) {
    changed.clear();
    reports.hear(Seconds(now), [&](std::int32_t replica) { changed.push_back(replica); });
  };
  hear(1.9);
  CHECK((changed.empty() && reports.report(0).waiting == 0 && reports.report(0).kv_used == 0));
  hear(2);
  CHECK(changed == std::vector<std::int32_t>{0, 0});
  CHECK(reports.report(0).waiting == 3);
  CHECK(reports.report(0).kv_used == Approx(40. / 400));
  hear(4.9);
  CHECK(changed == std::vector<std::int32_t>{0, 0, 1});
  CHECK(reports.report(0).waiting == 3 + 4);
  CHECK(reports.report(0).kv_used == Approx(100. / 400));
  CHECK(reports.report(1).waiting == 9);
  hear(5);
  CHECK(reports.report(0).waiting == 5 + 4);
}

TEST_CASE("late reports: each cache that keeps blocks of a text is visited with its end, until it has none") {
  LateReports reports(Seconds(1));
  const int a = reports.add_cache(0, 100), b = reports.add_cache(1, 100);
  reports.kept(a, 7, 12, Seconds(0));
  reports.kept(b, 7, 30, Seconds(0));
  reports.kept(a, 7, 0, Seconds(1));
  const auto ends = [&](double now) {
    reports.hear(Seconds(now), [](std::int32_t) {});
    std::vector<std::pair<std::int32_t, std::int64_t>> found;
    reports.each(7, [&](std::int32_t replica, std::int64_t end) { found.emplace_back(replica, end); });
    std::ranges::sort(found);
    return found;
  };
  using Ends = std::vector<std::pair<std::int32_t, std::int64_t>>;
  CHECK(ends(0.5).empty());
  CHECK(ends(1) == Ends{{0, 12}, {1, 30}});
  CHECK(ends(2) == Ends{{1, 30}});
}
