// The generator against what Hermes publishes of activation (Figure 4, Section III-A), and its own laws.
#include <catch2/catch.hpp>
#include <cmath>
#include <deque>
#include <random>

#include "test/workloads/activity/sample_activity.h"
#include "workloads/activity/redraws.h"

using namespace weir;
using namespace weir::test;

namespace {

constexpr NeuronCounts counts{8, 1024, 3072};

// All neurons of the present token, layer by layer.
std::vector<std::uint8_t> all_active(const TokenActivity& sequence, const NeuronCounts& c) {
  std::vector<std::uint8_t> all;
  for (std::int64_t layer = 0; layer < c.layers; ++layer)
    for (const NeuronBlock block : neuron_blocks) {
      const auto active = sequence.active(layer, block);
      all.insert(all.end(), active.begin(), active.end());
    }
  return all;
}

std::vector<std::vector<std::uint8_t>> tokens_of(const ActivitySource& source, std::uint64_t seed,
                                                 int tokens) {
  std::vector<std::vector<std::uint8_t>> all;
  const auto sequence = source.sequence(seed);
  for (int t = 0; t < tokens; ++t) {
    sequence->next();
    all.push_back(all_active(*sequence, counts));
  }
  return all;
}

struct Ratio {
  double of = 0, among = 0;
  double value() const { return of / among; }
};

// Share of the neurons active at t that are active at t + distance.
double similarity(const std::vector<std::vector<std::uint8_t>>& tokens, std::size_t distance) {
  Ratio both;
  for (std::size_t t = 0; t + distance < tokens.size(); ++t)
    for (std::size_t i = 0; i < tokens[t].size(); ++i) {
      both.among += tokens[t][i];
      both.of += tokens[t][i] & tokens[t + distance][i];
    }
  return both.value();
}

double density(const std::vector<std::uint8_t>& token) {
  double sum = 0;
  for (const std::uint8_t active : token) sum += active;
  return sum / static_cast<double>(token.size());
}

struct WithParents {
  Ratio first, both;
};

WithParents with_parents(const ActivitySource& source, int tokens) {
  WithParents seen;
  const auto sequence = source.sequence(3);
  for (int t = 0; t < tokens; ++t) {
    sequence->next();
    for (std::int64_t layer = 1; layer < counts.layers; ++layer)
      for (const NeuronBlock block : neuron_blocks) {
        const auto before = sequence->active(layer - 1, block), active = sequence->active(layer, block);
        const auto parents = source.parents(layer, block);
        for (std::size_t i = 0; i < active.size(); ++i) {
          const bool first = before[static_cast<std::size_t>(parents[i][0])];
          const bool both = first && before[static_cast<std::size_t>(parents[i][1])];
          seen.first.among += first, seen.first.of += first && active[i];
          seen.both.among += both, seen.both.of += both && active[i];
        }
      }
  }
  return seen;
}

}  // namespace

TEST_CASE("activity: what Hermes publishes holds at every density that is possible") {
  for (const double wanted : {0.1, 0.2, 0.3, 0.5}) {
    INFO("density " << wanted);
    const auto source = generated(wanted, counts);
    const auto tokens = tokens_of(*source, 1, 150);
    double mean = 0;
    for (const auto& token : tokens) mean += density(token) / static_cast<double>(tokens.size());
    CHECK(mean == Approx(wanted).epsilon(0.02));
    CHECK((similarity(tokens, 1) >= 0.90 && similarity(tokens, 1) <= 0.93));
    CHECK((similarity(tokens, 10) >= 0.68 && similarity(tokens, 10) <= 0.74));
    CHECK((similarity(tokens, 25) >= 0.68 && similarity(tokens, 25) <= 0.72));
    const WithParents seen = with_parents(*source, 100);
    CHECK((seen.first.value() >= 0.87 && seen.first.value() <= 0.93));
    CHECK(seen.both.value() > seen.first.value() + 0.01);  // the second parent tells something, too
  }
}

TEST_CASE("activity: the hottest 20 % of the profile have 80 % of what is active") {
  for (const double wanted : {0.1, 0.2}) {
    const auto source = generated(wanted, counts);
    const auto sequence = source->sequence(1);
    Ratio hot;
    for (int t = 0; t < 100; ++t) {
      sequence->next();
      for (std::int64_t layer = 0; layer < counts.layers; ++layer) {
        const auto active = sequence->active(layer, NeuronBlock::mlp);
        const auto frequency = source->frequency(layer, NeuronBlock::mlp);
        const float bound = frequency[frequency.size() / 5];
        for (std::size_t i = 0; i < active.size(); ++i) {
          hot.among += active[i];
          if (frequency[i] > bound) hot.of += active[i];
        }
      }
    }
    INFO("density " << wanted);
    CHECK((hot.value() >= 0.78 && hot.value() <= 0.83));
  }
}

TEST_CASE("activity: similarity falls as 0.72 to the distance, down to that of the frequencies") {
  const auto tokens = tokens_of(*generated(0.2, counts), 5, 120);
  for (const std::size_t distance : {1u, 2u, 3u, 5u, 8u, 30u}) {
    const double kept = std::pow(1 - Redraws::share, static_cast<double>(distance));
    CHECK(similarity(tokens, distance) == Approx(kept + (1 - kept) * 0.7).margin(0.01));
  }
}

TEST_CASE("activity: every layer has 28 % of its numbers redrawn with a token, pairs of them together") {
  Redraws redraws(counts, 9);
  redraws.next();
  std::vector<std::vector<std::uint16_t>> before(static_cast<std::size_t>(counts.layers));
  std::vector<Ratio> moved(before.size()), together(before.size());
  for (int token = 0; token < 100; ++token) {
    for (std::size_t layer = 0; layer < before.size(); ++layer) {
      const auto now = redraws.numbers(static_cast<std::int64_t>(layer), NeuronBlock::mlp);
      for (std::size_t i = 0; i < before[layer].size(); ++i) {
        const bool this_moved = before[layer][i] != now[i];
        moved[layer].among += 1, moved[layer].of += this_moved;
        if (this_moved) together[layer].among += 1, together[layer].of += before[layer][i ^ 1] != now[i ^ 1];
      }
      before[layer].assign(now.begin(), now.end());
    }
    redraws.next();
  }
  for (std::size_t layer = 0; layer < before.size(); ++layer) {
    INFO("layer " << layer);
    CHECK(moved[layer].value() == Approx(Redraws::share).margin(0.004));
  }
  CHECK(together[0].value() == Approx(0.5 + 0.5 * Redraws::share).margin(0.01));
}

TEST_CASE("activity: it is as it begins, for two hundred tokens") {
  const auto source = generated(0.2, counts);
  double similar_first = 0, similar_last = 0, dense_first = 0, dense_last = 0;
  constexpr int sequences = 4;
  for (int s = 0; s < sequences; ++s) {
    const auto tokens = tokens_of(*source, static_cast<std::uint64_t>(s), 200);
    similar_first += similarity({tokens.begin(), tokens.begin() + 4}, 1) / sequences;
    similar_last += similarity({tokens.end() - 40, tokens.end()}, 1) / sequences;
    for (std::size_t t = 0; t < 4; ++t) dense_first += density(tokens[t]) / (4 * sequences);
    for (std::size_t t = 160; t < 200; ++t) dense_last += density(tokens[t]) / (40 * sequences);
  }
  CHECK(dense_first == Approx(0.2).margin(0.005));
  CHECK(dense_last == Approx(0.2).margin(0.003));
  CHECK(similar_first == Approx(similar_last).margin(0.006));
  CHECK(with_parents(*source, 1).first.value() ==
        Approx(with_parents(*source, 100).first.value()).margin(0.01));
}

TEST_CASE("activity: equal seeds give equal tokens, other seeds tokens that share the frequencies alone") {
  const auto source = generated(0.2, counts);
  const auto a = tokens_of(*source, 1, 20), again = tokens_of(*source, 1, 20), b = tokens_of(*source, 2, 20);
  CHECK(a == again);
  Ratio both;
  for (std::size_t t = 0; t < a.size(); ++t)
    for (std::size_t i = 0; i < a[t].size(); ++i) both.among += a[t][i], both.of += a[t][i] & b[t][i];
  CHECK(both.value() == Approx(0.7).margin(0.01));

  Redraws one(counts, 1), other(counts, 2);
  double products = 0;
  for (int t = 0; t < 10; ++t) one.next(), other.next();
  const auto x = one.numbers(7, NeuronBlock::mlp), y = other.numbers(7, NeuronBlock::mlp);
  for (std::size_t i = 0; i < x.size(); ++i) products += (x[i] / 65536.0 - 0.5) * (y[i] / 65536.0 - 0.5) * 12;
  CHECK(std::abs(products / static_cast<double>(x.size())) < 4 / std::sqrt(static_cast<double>(x.size())));
}

TEST_CASE("activity: a drift gives that share of the neurons another's frequency, alike in all layers") {
  for (const double drift : {0.0, 0.3, 1.0}) {
    INFO("drift " << drift);
    const auto source = generated(0.2, counts, drift);
    const auto sequence = source->sequence(4);
    const auto profile = source->frequency(0, NeuronBlock::mlp);
    std::vector<double> rates(profile.size());
    constexpr int tokens = 200;
    for (int t = 0; t < tokens; ++t) {
      sequence->next();
      for (std::int64_t layer = 0; layer < counts.layers; ++layer) {
        const auto active = sequence->active(layer, NeuronBlock::mlp);
        for (std::size_t i = 0; i < rates.size(); ++i) rates[i] += active[i] / (8.0 * tokens);
      }
    }
    Ratio like_profile;
    double far_off = 0;
    for (std::size_t i = 0; i < rates.size(); ++i) {
      like_profile.of += rates[i] * profile[i], like_profile.among += rates[i];
      far_off += std::abs(rates[i] - profile[i]) > 0.2;
    }
    CHECK(like_profile.among / static_cast<double>(rates.size()) == Approx(0.2).margin(0.005));
    CHECK(like_profile.value() == Approx((1 - drift) * 0.7 + drift * 0.2).margin(0.02));
    CHECK(far_off / static_cast<double>(rates.size()) <= drift);
    CHECK((far_off == 0) == (drift == 0));
  }
}

TEST_CASE("activity: any counts will do, and a layer that is not there is refused") {
  std::mt19937_64 rng(3);
  for (int i = 0; i < 40; ++i) {
    const NeuronCounts any{1 + static_cast<std::int64_t>(rng() % 3),
                           1 + static_cast<std::int64_t>(rng() % 5000),
                           1 + static_cast<std::int64_t>(rng() % 70)};
    const auto source = generated(0.2, any, 0.5);
    const auto sequence = source->sequence(rng());
    for (const NeuronBlock block : neuron_blocks) {
      const auto untouched = sequence->active(0, block);
      CHECK(std::ranges::count(untouched, 0) == any.of(block));
    }
    for (int t = 0; t < 3; ++t) sequence->next();
    for (const NeuronBlock block : neuron_blocks)
      for (std::int64_t layer = 0; layer < any.layers; ++layer) {
        CHECK(std::ssize(sequence->active(layer, block)) == any.of(block));
        CHECK(std::ssize(source->frequency(layer, block)) == any.of(block));
        CHECK(std::ranges::all_of(sequence->active(layer, block), [](auto a) { return a <= 1; }));
        CHECK(std::ranges::is_sorted(source->frequency(layer, block), std::greater()));
        const auto parents = source->parents(layer, block);
        CHECK(std::ssize(parents) == (layer > 0 ? any.of(block) : 0));
        for (std::size_t n = 0; n < parents.size(); ++n) {
          CHECK(parents[n][0] == static_cast<std::int32_t>(n));
          CHECK((parents[n][1] >= 0 && parents[n][1] < any.of(block)));
          CHECK((parents[n][1] != parents[n][0] || any.of(block) == 1));
        }
      }
    CHECK_THROWS_AS(sequence->active(any.layers, NeuronBlock::mlp), std::out_of_range);
    CHECK_THROWS_AS(source->frequency(-1, NeuronBlock::attention), std::out_of_range);
    CHECK_THROWS_AS(source->parents(any.layers, NeuronBlock::mlp), std::out_of_range);
  }
}
