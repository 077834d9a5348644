#include "sim/serving/replica/kv_cache.h"

#include <catch2/catch.hpp>

#include <deque>
#include <map>
#include <random>

#include "test/serving/run_in_child.h"

using namespace weir;

namespace {

constexpr std::int64_t block_tokens = 16;

// The same with every block named: free ones in a queue, each remembering the request and the place in it
// that it was computed for.
class NaiveCache {
 public:
  explicit NaiveCache(std::int64_t blocks) : free_(static_cast<std::size_t>(blocks)) {}
  void take(std::int64_t n) { free_.erase(free_.begin(), free_.begin() + n); }
  void give(std::int64_t n) { free_.insert(free_.end(), static_cast<std::size_t>(n), Block{}); }
  void leave(std::int32_t request, std::int64_t blocks, std::int64_t tokens) {
    for (std::int64_t i = blocks; i-- > 0;)
      free_.push_back(i < tokens / block_tokens ? Block{request, i} : Block{});
  }
  std::int64_t found(std::int32_t request) const {
    std::map<std::int64_t, int> places;
    for (const Block& b : free_)
      if (b.request == request) ++places[b.place];
    std::int64_t prefix = 0;
    while (places.contains(prefix)) ++prefix;
    return prefix * block_tokens;
  }
  void take_found(std::int32_t request) {
    std::erase_if(free_, [&](const Block& b) { return b.request == request; });
  }
  std::int64_t free() const { return static_cast<std::int64_t>(free_.size()); }

 private:
  struct Block {
    std::int32_t request = -1;
    std::int64_t place = 0;
  };
  std::deque<Block> free_;
};

}  // namespace

TEST_CASE("kv cache: counting blocks finds again what naming each of them does") {
  for (unsigned seed = 0; seed < 50; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::int64_t n) {
      return static_cast<std::int64_t>(random() % static_cast<unsigned>(n));
    };
    KvCache cache(100, block_tokens);
    NaiveCache naive(100);
    std::int64_t held = 0;
    std::int32_t next = 0;
    for (int i = 0; i < 400; ++i) {
      const std::int64_t n = 1 + below(12);
      switch (below(4)) {
        case 0:
        case 1:
          if (n > cache.free()) break;
          cache.take(n), naive.take(n), held += n;
          break;
        case 2:
          if (n > held) break;
          if (below(2) == 0) {
            cache.give(n), naive.give(n);
          } else {
            const std::int64_t tokens = block_tokens * (n - 1) + 1 + below(block_tokens);
            cache.leave(next, n, tokens), naive.leave(next, n, tokens), ++next;
          }
          held -= n;
          break;
        default:
          if (next == 0) break;
          const auto request = static_cast<std::int32_t>(below(next));
          held += cache.found(request) / block_tokens;
          cache.take_found(request), naive.take_found(request);
      }
      REQUIRE(cache.free() == naive.free());
      REQUIRE(cache.used() == held);
      for (std::int32_t r = 0; r < next; ++r) REQUIRE(cache.found(r) == naive.found(r));
    }
  }
}

TEST_CASE("kv cache: a preempted request computes again only what others overwrote", "[engine]") {
  Json scenario = test::small_scenario();
  scenario["workload"]["requests"] = {
      {"kind", "fixed"}, {"count", 40}, {"input_tokens", 600}, {"output_tokens", 300}};
  scenario["workload"]["arrivals"] = {{"kind", "all_at_once"}};
  auto& cache = scenario["serving"]["replicas"][0]["kv_cache"];
  cache["blocks"] = 400;
  const test::Outcome with = test::run(scenario);
  cache["prefix_caching"] = false;
  const test::Outcome without = test::run(scenario);
  REQUIRE(with.error == "");
  REQUIRE(with.preemptions > 0);
  CHECK(with.flops < without.flops);
  CHECK(with.end < without.end);
}
