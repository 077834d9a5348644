#include "workloads/contents.h"

#include <boost/random/uniform_int_distribution.hpp>
#include <catch2/catch.hpp>
#include <set>
#include <utility>

#include "sim/core/rng.h"

using namespace weir;

namespace {

using Text = std::vector<std::pair<std::int32_t, std::int64_t>>;  // a token is who wrote it, and where

// Random texts, with origins anywhere in earlier ones.
struct Texts {
  std::vector<Request> requests;
  std::vector<Origin> origins;
  std::vector<Text> written;

  explicit Texts(Rng& rng) {
    const auto up_to = [&](std::int64_t most) {
      return boost::random::uniform_int_distribution<std::int64_t>(0, most)(rng);
    };
    for (std::int32_t i = 0; i < 30; ++i) {
      Request r;
      r.output_tokens = 1 + up_to(10);
      Origin origin;
      Text text;
      if (i > 0 && up_to(3) > 0) {
        origin.request = static_cast<std::int32_t>(up_to(i - 1));
        const Text& of = written[static_cast<std::size_t>(origin.request)];
        origin.tokens = up_to(std::ssize(of));
        text.assign(of.begin(), of.begin() + origin.tokens);
      }
      r.input_tokens = std::max<std::int64_t>(1, origin.tokens + up_to(10));
      for (std::int64_t at = origin.tokens; at < r.input_tokens + r.output_tokens; ++at)
        text.push_back({i, at});
      requests.push_back(r);
      origins.push_back(origin);
      written.push_back(std::move(text));
    }
  }
};

}  // namespace

TEST_CASE("contents: an origin is the request that wrote the last shared token") {
  Rng rng = random_stream(1, "contents");
  for (int round = 0; round < 100; ++round) {
    const Texts texts(rng);
    const Contents contents(texts.origins, texts.requests);
    std::vector<std::int64_t> reused(30);
    for (std::int32_t i = 0; i < 30 && contents.shared(); ++i) {
      const Origin given = texts.origins[static_cast<std::size_t>(i)], origin = contents.origin(i);
      REQUIRE(origin.tokens == (given.request < 0 ? 0 : given.tokens));
      if (origin.tokens == 0) continue;
      const auto writer =
          texts.written[static_cast<std::size_t>(i)][static_cast<std::size_t>(origin.tokens - 1)].first;
      REQUIRE(origin.request == writer);
      auto& most = reused[static_cast<std::size_t>(writer)];
      most = std::max(most, origin.tokens);
    }
    for (std::int32_t i = 0; i < 30; ++i) REQUIRE(contents.reused(i) == reused[static_cast<std::size_t>(i)]);
  }
}

TEST_CASE("contents: nothing shared is nothing kept") {
  const std::vector<Request> requests(3, Request{Seconds(0), 10, 5});
  CHECK_FALSE(Contents().shared());
  CHECK_FALSE(Contents({{}, {}, {}}, requests).shared());
  CHECK_FALSE(Contents({{}, {0, 0}, {}}, requests).shared());
  CHECK(Contents({{}, {0, 10}, {}}, requests).shared());
}

TEST_CASE("contents: a prompt begins with an earlier request's text, no more than both have") {
  const std::vector<Request> requests(3, Request{Seconds(0), 10, 5});
  CHECK_THROWS_AS(Contents({{}, {1, 3}, {}}, requests), std::logic_error);
  CHECK_THROWS_AS(Contents({{}, {2, 3}, {}}, requests), std::logic_error);
  CHECK_THROWS_AS(Contents({{}, {0, 11}, {}}, requests), std::logic_error);
  CHECK_THROWS_AS(Contents({{}, {}}, requests), std::logic_error);
}
