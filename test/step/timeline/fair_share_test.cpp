#include "sim/step/timeline/fair_share.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "test/step/timeline/brute_force_step.h"
#include "test/step/timeline/random_step.h"

using namespace weir;
using namespace weir::test;

namespace {

using Matrix = std::vector<std::vector<double>>;  // [flow][resource], at full speed

std::vector<double> shared(const Matrix& demand, const std::vector<double>& capacity) {
  std::vector<int> resources(capacity.size());
  for (std::size_t r = 0; r < capacity.size(); ++r) resources[r] = static_cast<int>(r);
  std::vector<std::vector<BytesPerSecond>> rates;
  std::vector<BytesPerSecond> capacities;
  std::vector<Flow> flows;
  for (const double c : capacity) capacities.push_back(BytesPerSecond(c));
  for (const auto& row : demand) {
    rates.emplace_back();
    for (const double rate : row) rates.back().push_back(BytesPerSecond(rate / 2));
  }
  for (const auto& row : rates) flows.push_back({resources, row, 2, 0});
  FairShare(capacities).share(flows);
  std::vector<double> speeds;
  for (const Flow& flow : flows) speeds.push_back(flow.speed);
  return speeds;
}

Matrix random_demand(std::mt19937_64& random, std::size_t flows, const std::vector<double>& capacity) {
  Matrix demand(flows, std::vector<double>(capacity.size(), 0));
  for (auto& row : demand)
    for (std::size_t r = 0; r < row.size(); ++r)
      if (uniform(random, 0, 1) < 0.6) row[r] = uniform(random, 0.01, 1.2) * capacity[r];
  return demand;
}

}  // namespace

TEST_CASE("fair share: whoever is slowed has a full resource on which nobody's dominant share is larger",
          "[timeline]") {
  std::mt19937_64 random(1);
  for (int round = 0; round < 2000; ++round) {
    CAPTURE(round);
    std::vector<double> capacity(static_cast<std::size_t>(uniform_int(random, 1, 4)));
    for (double& c : capacity) c = uniform(random, 0.5, 20);
    const Matrix demand =
        random_demand(random, static_cast<std::size_t>(uniform_int(random, 1, 8)), capacity);
    const std::vector<double> speed = shared(demand, capacity);
    std::vector<double> used(capacity.size(), 0), share(demand.size(), 0);
    for (std::size_t f = 0; f < demand.size(); ++f)
      for (std::size_t r = 0; r < capacity.size(); ++r) {
        used[r] += demand[f][r] * speed[f];
        share[f] = std::max(share[f], demand[f][r] * speed[f] / capacity[r]);
      }
    for (std::size_t r = 0; r < capacity.size(); ++r) REQUIRE(used[r] <= capacity[r] * (1 + 1e-12));
    for (std::size_t f = 0; f < demand.size(); ++f) {
      REQUIRE(speed[f] > 0);
      REQUIRE(speed[f] <= 1);
      bool held_back = speed[f] == 1;
      for (std::size_t r = 0; r < capacity.size() && !held_back; ++r) {
        if (demand[f][r] == 0 || used[r] < capacity[r] * (1 - 1e-9)) continue;
        held_back = true;
        for (std::size_t g = 0; g < demand.size(); ++g)
          held_back &= demand[g][r] == 0 || share[g] <= share[f] * (1 + 1e-9);
      }
      REQUIRE(held_back);
    }
    const std::vector<double> bisected = bisected_speeds(demand, capacity);
    for (std::size_t f = 0; f < demand.size(); ++f) REQUIRE(speed[f] == Approx(bisected[f]).epsilon(1e-9));
  }
}

TEST_CASE("fair share: the example of the DRF paper gives three tasks to A and two to B", "[timeline]") {
  // Section 4.1: 9 CPUs and 18 GB; a task of A takes (1, 4), of B (3, 1). Each would like to run ten.
  const auto speed = shared({{10, 40}, {30, 10}}, {9, 18});
  CHECK(10 * speed[0] == Approx(3));
  CHECK(10 * speed[1] == Approx(2));
}

TEST_CASE("fair share: on one resource small flows get what they ask and large ones divide the rest",
          "[timeline]") {
  const auto speed = shared({{1}, {8}, {4}, {0}}, {10});
  CHECK(speed[0] == 1);
  CHECK(8 * speed[1] == Approx(5));
  CHECK(speed[2] == Approx(1));
  CHECK(speed[3] == 1);
}

TEST_CASE("fair share: demand up to the capacity slows nobody, a little more slows the largest",
          "[timeline]") {
  const auto fits = shared({{4}, {6}}, {10});
  CHECK(fits[0] == 1);
  CHECK(fits[1] == Approx(1).epsilon(1e-12));
  const auto over = shared({{4}, {6.001}}, {10});
  CHECK(over[0] == 1);
  CHECK(6.001 * over[1] == Approx(6));
}
