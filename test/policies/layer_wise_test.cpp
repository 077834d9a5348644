// Requests over ranksets: layers in turn against whole requests drawn at random (L3, Section 5.1).
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "policies/placement/placement.h"
#include "test/policies/dice.h"
#include "test/policies/make_policy.h"

using namespace weir;
using test::policy_of;

namespace {

std::shared_ptr<const ChannelPlacementPolicy> policy(const Json& json) {
  return policy_of(placement_policies(), json);
}
const Json in_turn = {{"kind", "layer_wise"}, {"start", "in_turn"}},
           least_loaded = {{"kind", "layer_wise"}, {"start", "least_loaded"}}, drawn = {{"kind", "random"}};

struct Length {
  std::int64_t input, output;
};

// OpenR1-Math-220k as L3's Table 4 has it: lognormal of its means and deviations, 32,768 tokens at most.
class OpenR1 {
 public:
  explicit OpenR1(unsigned seed) : random_(seed) {}
  Length operator()() { return {whole(96.0, 75.1), whole(12684.1, 8464.6)}; }
  std::int64_t up_to(std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(0, most)(random_);
  }

 private:
  std::int64_t whole(double mean, double deviation) {
    const double sigma2 = std::log(1 + deviation * deviation / (mean * mean));
    std::lognormal_distribution<> law(std::log(mean) - sigma2 / 2, std::sqrt(sigma2));
    for (;;)
      if (const double x = std::round(law(random_)); x >= 1 && x <= 32768)
        return static_cast<std::int64_t>(x);
  }
  std::mt19937_64 random_;
};

// So many places that are taken anew whenever a request ends, some steps into a run: what each has in the KV
// cache, and where.
std::vector<PlacedRequest> warm(const ChannelPlacementPolicy& placement, int channels, std::size_t places,
                                unsigned seed) {
  OpenR1 openr1(seed);
  const std::vector<std::int64_t> room(static_cast<std::size_t>(channels), 1 << 30);
  std::vector<PlacedRequest> running;
  std::vector<std::int64_t> left;
  std::int64_t admitted = 0;
  for (int round = 0; round < 60; ++round) {
    std::vector<PlacedRequest> joining;
    while (running.size() + joining.size() < places) {
      const Length length = openr1();
      joining.push_back({length.input, -1});
      left.push_back(round == 0 ? 1 + openr1.up_to(length.output) : length.output);
    }
    placement.place({running, room, 16, admitted, {}}, joining);
    admitted += std::ssize(joining);
    running.insert(running.end(), joining.begin(), joining.end());
    const std::int64_t steps = 1 + openr1.up_to(1500);
    for (std::size_t i = running.size(); i-- > 0;) {
      running[i].tokens += steps;
      if ((left[i] -= steps) > 0) continue;
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
      left.erase(left.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  return running;
}

// Requests that join together, all of their tokens known.
std::vector<PlacedRequest> at_once(const ChannelPlacementPolicy& placement, int channels, std::size_t places,
                                   unsigned seed) {
  OpenR1 openr1(seed);
  const std::vector<std::int64_t> room(static_cast<std::size_t>(channels), 1 << 30);
  std::vector<PlacedRequest> batch;
  while (batch.size() < places) {
    const Length length = openr1();
    batch.push_back({length.input + length.output, -1});
  }
  placement.place({{}, room, 16, static_cast<std::int64_t>(1000 * seed), {}}, batch);
  return batch;
}

// Tokens of the rankset with most over the mean, of so many layers together.
double max_over_mean(const std::vector<PlacedRequest>& batch, int channels, int layers, bool spread) {
  std::vector<double> tokens(static_cast<std::size_t>(channels));
  double sum = 0;
  for (const PlacedRequest& request : batch)
    for (int layer = 0; layer < layers; ++layer) {
      const int at = (request.channel + (spread ? layer : 0)) % channels;
      tokens[static_cast<std::size_t>(at)] += static_cast<double>(request.tokens);
      sum += static_cast<double>(request.tokens);
    }
  return *std::ranges::max_element(tokens) * channels / sum;
}

using MakeBatch = std::vector<PlacedRequest>(const ChannelPlacementPolicy&, int, std::size_t, unsigned);

double mean_imbalance(MakeBatch* batch, const Json& kind, int channels, std::size_t places, int layers) {
  const auto placement = policy(kind);
  double sum = 0;
  for (unsigned seed = 0; seed < 30; ++seed)
    sum += max_over_mean(batch(*placement, channels, places, seed), channels, layers,
                         placement->spreads_layers()) /
           30;
  return sum;
}

}  // namespace

TEST_CASE("layer-wise: on average more even than at random, in one layer and in all", "[placement]") {
  for (const int channels : {2, 4, 8, 16})
    for (const std::size_t places : {std::size_t{32}, std::size_t{128}}) {
      const double random_one = mean_imbalance(warm, drawn, channels, places, 1),
                   random_all = mean_imbalance(warm, drawn, channels, places, 96),
                   one = mean_imbalance(warm, in_turn, channels, places, 1);
      CAPTURE(channels, places, random_one, one);
      CHECK(random_all == Approx(random_one));  // it has all layers of a request in one place
      CHECK(one < random_one);
      for (const Json& start : {in_turn, least_loaded}) {
        CHECK(mean_imbalance(warm, start, channels, places, 96) == Approx(1));  // 96 layers go round whole
        CHECK(mean_imbalance(warm, start, channels, places, 97) <
              1 + mean_imbalance(warm, start, channels, places, 1) / 90);
      }
    }
}

TEST_CASE(
    "layer-wise: of a batch whose lengths are known, where the fewest tokens are is more even than in turn",
    "[placement]") {
  for (const int channels : {2, 4, 8, 16})
    for (const std::size_t places : {std::size_t{32}, std::size_t{128}}) {
      const double random_one = mean_imbalance(at_once, drawn, channels, places, 1),
                   turn = mean_imbalance(at_once, in_turn, channels, places, 1),
                   least = mean_imbalance(at_once, least_loaded, channels, places, 1);
      CAPTURE(channels, places, random_one, turn, least);
      CHECK(turn < random_one);
      CHECK(least < turn);
    }
}

TEST_CASE("layer-wise: requests start in turn, whatever is where", "[placement]") {
  const std::vector<std::int64_t> room(3, 0);  // of one pool together: none is the channel's own
  const std::vector<PlacedRequest> placed{{1000, 0}, {10, 2}};
  std::vector<PlacedRequest> requests(5, {7, -1});
  policy(in_turn)->place({placed, room, 16, 4, {}}, requests);
  std::vector<int> channels;
  for (const PlacedRequest& request : requests) channels.push_back(request.channel);
  CHECK(channels == std::vector<int>{1, 2, 0, 1, 2});
}

TEST_CASE("layer-wise: or each where the fewest tokens are, and of equals where the fewest requests",
          "[placement]") {
  Dice dice(1);
  for (int round = 0; round < 300; ++round) {
    const auto channels = dice(1, 9);
    const std::vector<std::int64_t> room(static_cast<std::size_t>(channels), 100);
    const auto some = [&](std::int64_t most) {
      std::vector<PlacedRequest> requests(static_cast<std::size_t>(dice(0, most)));
      for (PlacedRequest& r : requests) r = {dice(0, 4), static_cast<int>(dice(0, channels - 1))};
      return requests;
    };
    std::vector<PlacedRequest> all = some(20), requests = some(8);
    const std::vector<PlacedRequest> placed = all;
    policy(least_loaded)->place({placed, room, 16, 0, {}}, requests);
    for (const PlacedRequest& request : requests) {
      const auto load = [&](int channel) {
        std::pair<std::int64_t, std::int64_t> sum{0, 0};
        for (const PlacedRequest& other : all)
          if (other.channel == channel) sum.first += other.tokens, ++sum.second;
        return sum;
      };
      for (int channel = 0; channel < channels; ++channel) REQUIRE(load(request.channel) <= load(channel));
      all.push_back(request);
    }
  }
}

TEST_CASE("random placement: who waits stays where he was drawn, and all channels are drawn alike",
          "[placement]") {
  const auto placement = policy(drawn);
  const std::vector<std::int64_t> room(5, 3), other(5, 0);
  std::vector<PlacedRequest> all(5000, {7, -1});
  REQUIRE(placement->place({{}, room, 16, 0, {}}, all).steps == Validity::unlimited);
  std::vector<int> drawn_to(5);
  for (const PlacedRequest& request : all) ++drawn_to.at(static_cast<std::size_t>(request.channel));
  for (const int count : drawn_to) CHECK(std::abs(count - 1000) < 120);  // four deviations
  Dice dice(2);
  for (int round = 0; round < 100; ++round) {  // the n-th admitted is the n-th, whoever waits behind him
    const auto first = dice(0, 4000);
    std::vector<PlacedRequest> some(static_cast<std::size_t>(dice(1, 50)), {dice(1, 900), -1});
    placement->place({all, other, 16, first, {}}, some);
    for (std::size_t i = 0; i < some.size(); ++i)
      REQUIRE(some[i].channel == all[static_cast<std::size_t>(first) + i].channel);
  }
}
