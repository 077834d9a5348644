// Which types of operators a profile offers to memory that computes: the paper's rule read again by hand, in
// whole numbers, over random profiles; and its Table I (Liu et al., MICRO 2018).
#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <numeric>
#include <random>
#include <set>

#include "policies/runtime/step_profile.h"
#include "test/policies/dice.h"

using namespace weir;

namespace {

using Type = OperatorType;

// Whole numbers up to `most`, so that small ones tie often.
StepProfile random_profile(Dice& dice, std::int64_t types, std::int64_t most) {
  std::vector<int> all(operator_types);
  std::iota(all.begin(), all.end(), 0);
  std::shuffle(all.begin(), all.end(), std::mt19937_64(static_cast<std::uint64_t>(dice(0, 1 << 30))));
  StepProfile profile;
  for (std::int64_t i = 0; i < types; ++i)
    profile.push_back({static_cast<Type>(all[static_cast<std::size_t>(i)]), static_cast<int>(dice(1, 99)),
                       Seconds(static_cast<double>(dice(0, most))), static_cast<double>(dice(0, most))});
  return profile;
}

// "sorts operations into two lists (in descending order) based on execution time and the number of main
// memory accesses [...] Each operation in each of the two lists is correlated to an index [...] calculates a
// global index by adding these two indexes." Indices from 1; equals have the first one's.
struct ByHand {
  Type type;
  std::int64_t time, accesses, index = 0;
};

std::vector<ByHand> indexed_by_hand(const StepProfile& profile) {
  std::vector<ByHand> types;
  for (const TypeProfile& row : profile)
    types.push_back(
        {row.type, static_cast<std::int64_t>(row.time.value()), static_cast<std::int64_t>(row.accesses)});
  for (auto field : {&ByHand::time, &ByHand::accesses}) {
    std::vector<std::int64_t> list;
    for (const ByHand& one : types) list.push_back(one.*field);
    std::sort(list.rbegin(), list.rend());
    for (ByHand& one : types) one.index += std::find(list.begin(), list.end(), one.*field) - list.begin() + 1;
  }
  return types;
}

// "Those top operations account for x% of total execution time of one step."
std::vector<Type> chosen_by_hand(const StepProfile& profile, std::int64_t percent) {
  std::vector<ByHand> left = indexed_by_hand(profile);
  std::int64_t step = 0, covered = 0;
  for (const ByHand& one : left) step += one.time;
  std::vector<Type> chosen;
  while (covered * 100 < percent * step) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < left.size(); ++i) {
      const ByHand &a = left[i], &b = left[best];
      bool before = a.index < b.index;
      if (a.index == b.index) before = a.time > b.time;
      if (a.index == b.index && a.time == b.time) before = a.accesses > b.accesses;
      if (a.index == b.index && a.time == b.time && a.accesses == b.accesses) before = a.type < b.type;
      if (before) best = i;
    }
    chosen.push_back(left[best].type);
    covered += left[best].time;
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(best));
  }
  return chosen;
}

int invocations(const StepProfile& profile) {
  return std::accumulate(profile.begin(), profile.end(), 0,
                         [](int sum, const TypeProfile& row) { return sum + row.invocations; });
}

// Other types, so many in all, that share what Table I sums up as "other ops" evenly.
void add_others(StepProfile& profile, int types, int calls, double time, double accesses) {
  for (int t = 0; types > 0; ++t) {
    const Type type = static_cast<Type>(t);
    if (std::ranges::any_of(profile, [&](const TypeProfile& row) { return row.type == type; })) continue;
    profile.push_back({type, calls / types, Seconds(time / types), accesses / types});
    calls -= calls / types, time -= time / types, accesses -= accesses / types;
    --types;
  }
}

// Table I has 18 types a net, of which the five first by time and by accesses are named. Relu's time is an
// even part of the others'; what is sixth by accesses has 0.13 % of them.
StepProfile table1_vgg19() {
  const double other_time = 3.37 / 13;
  StepProfile profile = {{Type::conv2d_backprop_filter, 16, Seconds(40.15), 42.52},
                         {Type::conv2d_backprop_input, 15, Seconds(32.68), 21.06},
                         {Type::bias_add_grad, 16, Seconds(11.92), 35.68},
                         {Type::conv2d, 16, Seconds(10.34), 0.13},
                         {Type::max_pool_grad, 16, Seconds(1.49), 0.22},
                         {Type::relu, 19, Seconds(other_time), 0.14}};
  add_others(profile, 12, 213, 12 * other_time, 0.25);
  return profile;
}

}  // namespace

TEST_CASE("runtime candidates: they are the paper's rule done by hand, on random profiles with ties",
          "[runtime]") {
  Dice dice(1);
  int ties = 0, all = 0, none = 0;
  for (int round = 0; round < 4000; ++round) {
    const StepProfile profile = random_profile(dice, dice(1, 30), round % 2 ? 8 : 100000);
    const std::int64_t percent = round % 5 ? dice(1, 100) : 90;
    const std::vector<Type> ours = offload_candidates(profile, static_cast<double>(percent) / 100);
    INFO("round " << round << ", " << percent << " %");
    REQUIRE(ours == chosen_by_hand(profile, percent));
    const std::vector<ByHand> types = indexed_by_hand(profile);
    std::set<std::int64_t> sums;
    for (const ByHand& one : types) sums.insert(one.index);
    ties += sums.size() < types.size();
    all += ours.size() == profile.size();
    none += ours.empty();
  }
  CHECK(ties > 1000);
  CHECK(all > 50);
  CHECK(none > 5);  // a step of no time is covered by nobody
}

TEST_CASE("runtime candidates: the order of the rows, the units and the invocations do not matter",
          "[runtime]") {
  Dice dice(2);
  for (int round = 0; round < 1000; ++round) {
    StepProfile profile = random_profile(dice, dice(1, 30), 6);
    const double share = static_cast<double>(dice(1, 100)) / 100;
    const std::vector<Type> once = offload_candidates(profile, share);
    std::shuffle(profile.begin(), profile.end(), std::mt19937_64(static_cast<std::uint64_t>(round)));
    for (TypeProfile& row : profile)
      row = {row.type, static_cast<int>(dice(1, 99)), row.time * 0x1p-20, row.accesses * 64};
    REQUIRE(offload_candidates(profile, share) == once);
  }
}

TEST_CASE("runtime candidates: a larger share adds types, and a part of a step is covered to the last digit",
          "[runtime]") {
  Dice dice(3);
  for (int round = 0; round < 500; ++round) {
    const StepProfile profile = random_profile(dice, dice(1, 30), 50);
    std::vector<Type> fewer;
    for (const double share : {0.1, 0.5, 0.9, 1.0}) {
      const std::vector<Type> more = offload_candidates(profile, share);
      REQUIRE(more.size() >= fewer.size());
      REQUIRE(std::equal(fewer.begin(), fewer.end(), more.begin()));
      fewer = more;
    }
  }
  const StepProfile tenths = {{Type::conv2d, 1, Seconds(0.006), 3},  // doubles miss 0.9 by a digit
                              {Type::mat_mul, 1, Seconds(0.003), 2},
                              {Type::relu, 1, Seconds(0.001), 1}};
  CHECK(offload_candidates(tenths, 0.9).size() == 2);
  CHECK(offload_candidates(tenths, 0.901).size() == 3);
}

TEST_CASE("runtime candidates: Table I's VGG-19 gives three convolutions, BiasAddGrad and MaxPoolGrad",
          "[runtime]") {
  const StepProfile profile = table1_vgg19();
  CHECK(profile.size() == 18);
  CHECK(invocations(profile) == 311);
  const std::vector<Type> chosen = offload_candidates(profile, 0.9);
  CHECK(chosen == std::vector<Type>{Type::conv2d_backprop_filter, Type::conv2d_backprop_input,
                                    Type::bias_add_grad, Type::max_pool_grad, Type::conv2d});
  // Both halves have the same 311: "other 13 ops" are 232 invocations by time, and 229 by accesses.
  const auto others = [&](const std::set<Type>& named) {
    StepProfile rest;
    for (const TypeProfile& row : profile)
      if (!named.contains(row.type)) rest.push_back(row);
    return std::pair(rest.size(), invocations(rest));
  };
  CHECK(others({chosen.begin(), chosen.end()}) == std::pair(std::size_t{13}, 232));
  CHECK(others({Type::conv2d_backprop_filter, Type::bias_add_grad, Type::conv2d_backprop_input,
                Type::max_pool_grad, Type::relu}) == std::pair(std::size_t{13}, 229));
  // The first four are 86.24 points of 99.95, so that the fifth is needed.
  CHECK(offload_candidates(profile, 0.86).size() == 4);
}

TEST_CASE("runtime candidates: what is no profile and what is no share is refused", "[runtime]") {
  const TypeProfile row{Type::conv2d, 1, Seconds(1), 1};
  CHECK(offload_candidates({}, 0.9).empty());
  CHECK(offload_candidates({row}, 1e-9) == std::vector<Type>{Type::conv2d});
  for (const double share : {0., -0.1, 1.0001, std::numeric_limits<double>::quiet_NaN()})
    CHECK_THROWS_AS(offload_candidates({row}, share), std::invalid_argument);
  CHECK_THROWS_WITH(offload_candidates({row, row}, 0.9), "Conv2D has two rows in a profile");
  CHECK_THROWS_AS(offload_candidates({{Type::relu, -1, Seconds(1), 1}}, 0.9), std::invalid_argument);
  CHECK_THROWS_AS(offload_candidates({{Type::relu, 1, Seconds(-1), 1}}, 0.9), std::invalid_argument);
  CHECK_THROWS_AS(offload_candidates({{Type::relu, 1, Seconds(1), -1}}, 0.9), std::invalid_argument);
  CHECK_THROWS_AS(
      offload_candidates({{Type::relu, 1, Seconds(std::numeric_limits<double>::infinity()), 1}}, 0.9),
      std::invalid_argument);
}
