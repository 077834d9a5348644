#include "policies/placement/placement.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <numeric>
#include <random>

#include "test/policies/dice.h"
#include "test/policies/make_policy.h"

using namespace weir;

namespace {

// GPT3-7B on TP4: 8 heads of 128 a device.
constexpr MhaParameters mha{.embedding = 1024, .heads = 8};

struct State {
  std::vector<PlacedRequest> placed;
  std::vector<std::int64_t> free;
  std::int64_t admitted = 0;

  PlacementView view() const { return {placed, free, 16, admitted, mha}; }
  std::vector<int> place(const std::string& kind, std::vector<std::int64_t> lengths) const {
    std::vector<PlacedRequest> requests;
    for (const std::int64_t tokens : lengths) requests.push_back({tokens, -1});
    test::make_policy(placement_policies(), kind)->place(view(), requests);
    std::vector<int> channels;
    for (const PlacedRequest& request : requests) channels.push_back(request.channel);
    return channels;
  }
};

double load(std::int64_t tokens) {
  return estimate_mha(mha, tokens, Division::ceilings).total();
}

double max_over_mean(const State& state, const std::vector<std::int64_t>& lengths,
                     const std::vector<int>& channels) {
  std::vector<double> loads(state.free.size());
  for (const PlacedRequest& r : state.placed) loads[static_cast<std::size_t>(r.channel)] += load(r.tokens);
  for (std::size_t i = 0; i < lengths.size(); ++i)
    loads[static_cast<std::size_t>(channels[i])] += load(lengths[i]);
  return std::ranges::max(loads) * static_cast<double>(loads.size()) /
         std::accumulate(loads.begin(), loads.end(), 0.0);
}

// Contexts of a warm batch: ShareGPT's means of 80 in and 296 out, exponential, somewhere on the way.
std::vector<std::int64_t> warm_batch(std::size_t n, unsigned seed) {
  std::mt19937_64 random(seed);
  std::exponential_distribution<> input(1 / 80.), output(1 / 296.);
  std::vector<std::int64_t> lengths(n);
  for (auto& length : lengths) {
    const double out = output(random), done = std::uniform_real_distribution<>(0, out)(random);
    length = 1 + static_cast<std::int64_t>(input(random) + done);
  }
  return lengths;
}

State random_state(unsigned seed) {
  Dice dice(seed);
  State state{{}, std::vector<std::int64_t>(static_cast<std::size_t>(dice(1, 33))), dice(0, 100)};
  for (auto& blocks : state.free) blocks = dice(0, 3) ? dice(0, 300) : 0;
  for (std::int64_t n = dice(0, 60); n > 0; --n)
    state.placed.push_back({dice(1, 2000), static_cast<int>(dice(0, std::ssize(state.free) - 1))});
  return state;
}

std::vector<std::int64_t> random_lengths(unsigned seed) {
  Dice dice(seed + 1'000'000);
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(dice(1, 50)));
  for (auto& length : lengths) length = dice(1, dice(0, 1) ? 2000 : 4);  // many equal ones, too
  return lengths;
}

}  // namespace

TEST_CASE("placement: round robin goes on where it stopped, past channels without room", "[placement]") {
  State state{{}, {9, 9, 9}, 4};
  CHECK(state.place("round_robin", {1, 1, 1, 1}) == std::vector<int>{1, 2, 0, 1});
  state.free = {9, 0, 9};
  CHECK(state.place("round_robin", {1, 1, 1, 1}) == std::vector<int>{2, 2, 0, 2});
  state.free = {9, 1, 9};  // the first takes the only block
  CHECK(state.place("round_robin", {1, 1, 1, 1}) == std::vector<int>{1, 2, 0, 2});
  state.free = {9, 2, 3};
  CHECK(state.place("round_robin", {32, 48, 33}) == std::vector<int>{1, 2, 0});
  CHECK(state.place("round_robin", {48, 48, 32}) == std::vector<int>{2, 0, 0});
  CHECK(state.place("round_robin", {200}) == std::vector<int>{1});  // fits nowhere: wherever it can begin
  state.free = {9, 0, 3};
  CHECK(state.place("round_robin", {200}) == std::vector<int>{2});
  state.free = {0, 0, 0};
  CHECK(state.place("round_robin", {1, 1, 1, 1}) == std::vector<int>{1, 2, 0, 1});
}

TEST_CASE("placement: greedy min-load takes the longest first and of equals the emptiest, lowest channel",
          "[placement]") {
  State state{{}, {99, 99, 99}};
  CHECK(state.place("greedy_min_load", {32, 512, 512, 512}) == std::vector<int>{0, 0, 1, 2});
  CHECK(state.place("greedy_min_load", {10, 2000, 500}) == std::vector<int>{2, 0, 1});
  state.placed = {{4000, 0}, {20, 2}};
  CHECK(state.place("greedy_min_load", {50, 60}) == std::vector<int>{2, 1});
  state.free = {99, 0, 0};
  CHECK(state.place("greedy_min_load", {50, 60}) == std::vector<int>{0, 0});
  state.placed.clear();  // all others are in flight in a pipeline, on channel 0 most
  state.free = {50, 90, 90};
  CHECK(state.place("greedy_min_load", {50}) == std::vector<int>{1});
}

TEST_CASE("placement: greedy min-load is Algorithm 2, done naively", "[placement]") {
  std::int64_t full = 0;
  for (unsigned seed = 0; seed < 500; ++seed) {
    const State state = random_state(seed);
    const std::vector<std::int64_t> lengths = random_lengths(seed);
    const std::vector<int> ours = state.place("greedy_min_load", lengths);
    std::vector<PlacedRequest> placed = state.placed;
    std::vector<std::int64_t> free = state.free;
    std::vector<int> theirs(lengths.size(), -1);
    for (std::size_t step = 0; step < lengths.size(); ++step) {
      std::size_t longest = lengths.size();
      for (std::size_t i = 0; i < lengths.size(); ++i)
        if (theirs[i] < 0 && (longest == lengths.size() || lengths[i] > lengths[longest])) longest = i;
      const std::int64_t whole = (lengths[longest] + 15) / 16, most = std::ranges::max(free);
      full += most <= 0;
      double least = 1e300;
      for (std::size_t c = 0; c < free.size(); ++c) {
        if ((most >= whole && free[c] < whole) || (most > 0 && free[c] <= 0)) continue;
        double sum = 0;
        for (const PlacedRequest& r : placed)
          if (r.channel == static_cast<int>(c)) sum += load(r.tokens);
        const bool emptier = theirs[longest] < 0 || free[c] > free[static_cast<std::size_t>(theirs[longest])];
        if (sum < least || (sum == least && emptier)) least = sum, theirs[longest] = static_cast<int>(c);
      }
      placed.push_back({lengths[longest], theirs[longest]});
      free[static_cast<std::size_t>(theirs[longest])] -= (lengths[longest] + 15) / 16;
    }
    INFO("seed " << seed);
    REQUIRE(ours == theirs);
  }
  CHECK(full > 100);
}

TEST_CASE("placement: a request goes where it fits, else where a block is free, if there is such a channel",
          "[placement]") {
  for (const auto& entry : placement_policies()) {
    const auto policy = test::make_policy(placement_policies(), entry.name);
    const std::vector<std::int64_t> room{1, 1};
    if (policy->place({{}, room, 16, 0, {}}, {}).steps > 1) continue;  // one pool; or waits where it is drawn
    for (unsigned seed = 0; seed < 300; ++seed) {
      const State state = random_state(seed);
      const bool any = std::ranges::any_of(state.free, [](std::int64_t blocks) { return blocks > 0; });
      const std::int64_t length = random_lengths(seed)[0], whole = (length + 15) / 16;
      const std::vector<int> channels = state.place(entry.name, {length});
      REQUIRE((channels[0] >= 0 && channels[0] < std::ssize(state.free)));
      const std::int64_t there = state.free[static_cast<std::size_t>(channels[0])];
      if (any) REQUIRE(there > 0);
      if (std::ranges::max(state.free) >= whole) REQUIRE(there >= whole);
    }
  }
}

TEST_CASE("placement: what follows blocks and loads is valid for this step alone, the rest until one joins",
          "[placement]") {
  const State state = random_state(1);
  std::map<std::string, bool> holds;
  for (const auto& entry : placement_policies()) {
    std::vector<PlacedRequest> some(3, {7, -1});
    const auto policy = test::make_policy(placement_policies(), entry.name);
    holds[entry.name] = policy->place(state.view(), some).steps == Validity::unlimited;
    if (!holds[entry.name]) CHECK(policy->place(state.view(), some).steps == 1);
  }
  CHECK(holds ==
        std::map<std::string, bool>{
            {"round_robin", false}, {"greedy_min_load", false}, {"layer_wise", true}, {"random", true}});
}

TEST_CASE("placement: on average greedy min-load is the more even, as in NeuPIMs", "[placement]") {
  // Prototype, real ShareGPT: 1.84 and 1.08 at 128 requests, 1.52 and 1.04 at 256. Exponential lengths differ
  // a little; both ranges lie around them.
  const auto mean = [](const char* kind, std::size_t batch) {
    double sum = 0;
    for (unsigned seed = 0; seed < 50; ++seed) {
      const State state{{}, std::vector<std::int64_t>(32, 1'000'000)};
      const auto lengths = warm_batch(batch, seed);
      sum += max_over_mean(state, lengths, state.place(kind, lengths)) / 50;
    }
    UNSCOPED_INFO(kind << " " << batch << ": " << sum);
    return sum;
  };
  const double rr_128 = mean("round_robin", 128), rr_256 = mean("round_robin", 256);
  const double greedy_128 = mean("greedy_min_load", 128), greedy_256 = mean("greedy_min_load", 256);
  CHECK((rr_128 > 1.45 && rr_128 < 2.1));
  CHECK((rr_256 > 1.3 && rr_256 < 1.7));
  CHECK((greedy_128 >= 1 && greedy_128 < 1.2));
  CHECK((greedy_256 >= 1 && greedy_256 < 1.1));
  for (const std::size_t batch : {32u, 64u, 512u})
    CHECK(mean("greedy_min_load", batch) <= mean("round_robin", batch));
}

TEST_CASE("placement: as published, requests shorter than a page weigh what they are long", "[placement]") {
  const auto place = [](const char* estimate) {
    const Json json = {{"kind", "greedy_min_load"}, {"estimate", estimate}};
    Reading reading("test");
    const auto policy = make_from(placement_policies(), Params(reading, json), {"kind", "which"});
    reading.finish();
    const State state{{{32, 0}, {1, 1}}, {99, 99}};
    std::vector<PlacedRequest> request{{5, -1}};
    policy->place(state.view(), request);
    return request[0].channel;
  };
  CHECK(place("ceilings") == 0);  // equals: the lowest
  CHECK(place("as_published") == 1);
}
