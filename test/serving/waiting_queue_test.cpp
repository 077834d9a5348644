// Requests that wait are taken out by name, from wherever they stand.
#include "sim/serving/replica/waiting_queue.h"

#include <catch2/catch.hpp>
#include <deque>
#include <stdexcept>

#include "test/policies/dice.h"

using namespace weir;

TEST_CASE("waiting queue: whoever is named leaves it, from wherever, and the others keep their order",
          "[engine]") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    Dice dice(seed);
    WaitingQueue queue;
    std::deque<std::int32_t> expected;
    std::int32_t next = 0;
    for (int round = 0; round < 400; ++round) {
      const auto action = dice(0, 5);
      if (action <= 1 || (action == 2 && expected.empty())) {
        SequenceView view{};
        view.request = next++;
        const Live live{.last_token = Seconds(view.request)};
        action == 0 ? queue.push_front(view, live) : queue.push_back(view, live);
        action == 0 ? expected.push_front(view.request) : expected.push_back(view.request);
      } else if (!expected.empty()) {
        const auto at = action == 2 ? dice(0, std::ssize(expected) - 1) : 0;
        const std::int32_t request = expected[static_cast<std::size_t>(at)];
        expected.erase(expected.begin() + at);
        const auto [view, live] = queue.take(request);
        REQUIRE(view.request == request);
        REQUIRE(live.last_token == Seconds(request));
      }
      REQUIRE(queue.size() == expected.size());
      for (std::size_t i = 0; i < expected.size(); ++i) {
        REQUIRE(queue.views()[i].request == expected[i]);
        REQUIRE(queue.live(i).last_token == Seconds(expected[i]));
      }
    }
    CHECK_THROWS_AS(queue.take(next), std::logic_error);
  }
}
