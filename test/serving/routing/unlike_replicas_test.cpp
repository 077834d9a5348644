// Knowledge of a router about replicas whose blocks are of different sizes, by hand.
#include <algorithm>
#include <array>
#include <catch2/catch.hpp>

#include "sim/serving/routing/router_knowledge.h"

using namespace weir;

namespace {

// Request 1 begins as the first 32 tokens of request 0 do, request 2 as its first 20.
Contents branches() {
  const std::vector<Request> requests = {{Seconds(0), 40, 8}, {Seconds(0), 50, 8}, {Seconds(0), 47, 8}};
  return {{{}, {0, 32}, {0, 20}}, requests};
}

using Found = std::vector<std::array<std::int64_t, 3>>;  // replica, tokens, shared blocks

Found found_by(RouterKnowledge& knows, std::int32_t request, std::int64_t input_tokens) {
  Found found;
  for (const auto& [replica, tokens, shared] : knows.holders(request, input_tokens))
    found.push_back({replica, tokens, shared});
  std::ranges::sort(found);
  return found;
}

}  // namespace

TEST_CASE("router: prompts and blocks under way are counted in each replica's own blocks, shared ones once") {
  const Contents contents = branches();
  RouterKnowledge knows({.loads = true}, contents, 3, true);
  knows.add_replica(0, 4);
  knows.add_replica(1, 16);
  const auto check = [&](std::int32_t replica, std::int64_t tokens, std::int64_t blocks) {
    CAPTURE(replica);
    CHECK(knows.load(replica).prompt_tokens == tokens);
    CHECK(knows.load(replica).blocks == blocks);
  };
  // 10 blocks of 4; then 12, of which 8 are the same; on the other replica 2 whole ones of 47 tokens.
  knows.sent(0, 40, 0, 0);
  check(0, 40, 10);
  knows.sent(1, 50, 0, 12);
  check(0, 40 + 38, 14);
  check(1, 0, 0);
  knows.sent(2, 47, 1, 30);
  check(1, 17, 2);
  knows.first_token(1);
  check(0, 40, 14);
  knows.first_token(1);  // it is over
  check(0, 40, 14);
  knows.ended(0, 40);  // that had no token: its prompt goes with it, but not the blocks of the other
  check(0, 0, 12);
  knows.ended(0, 40);
  check(0, 0, 12);
  knows.ended(1, 50);
  check(0, 0, 0);
  check(1, 17, 2);
}

TEST_CASE("router: changed replicas are told once, whatever changed of them") {
  const Contents contents = branches();
  RouterKnowledge knows({.loads = true}, contents, 3, true);
  for (const std::int32_t replica : {0, 1, 2}) knows.add_replica(replica, 4);
  knows.sent(0, 40, 2, 0);
  knows.sent(1, 50, 0, 0);
  knows.first_token(0);
  const auto changed = [&] {
    const auto told = knows.changed(Seconds(0));
    return std::vector<std::int32_t>(told.begin(), told.end());
  };
  CHECK(changed() == std::vector<std::int32_t>{2, 0});
  CHECK(changed().empty());
  knows.ended(0, 40);
  CHECK(changed() == std::vector<std::int32_t>{2});
}

TEST_CASE("router: replicas that compute no prompts share no blocks and have no prompt to compute") {
  const Contents contents = branches();
  RouterKnowledge knows({.loads = true, .reports = Seconds(0)}, contents, 3, false);
  knows.add_replica(0, 4);
  knows.add_replica(1, 16);
  ReplicaListener* listener = knows.listener(0, 100);
  knows.sent(0, 40, 0, 0);
  knows.sent(1, 50, 0, 0);
  CHECK(knows.load(0).prompt_tokens == 0);
  CHECK(knows.load(0).blocks == 10 + 12);
  knows.sent(2, 47, 1, 0);
  CHECK(knows.load(1).blocks == 2);
  listener->kept(0, 10, Seconds(0));
  CHECK(knows.changed(Seconds(1)).size() == 2);
  CHECK(found_by(knows, 1, 50).empty());
  knows.ended(1, 50);
  CHECK(knows.load(0).blocks == 10);
}

TEST_CASE("router: what replicas keep of a prompt is counted in their own blocks, up to where it leaves") {
  const Contents contents = branches();
  RouterKnowledge knows({.loads = true, .reports = Seconds(2)}, contents, 3, true);
  knows.add_replica(0, 4);
  knows.add_replica(1, 16);
  knows.add_replica(2, 4);
  ReplicaListener *small = knows.listener(0, 100), *large = knows.listener(1, 50),
                  *other = knows.listener(2, 100);
  small->kept(0, 6, Seconds(0));
  large->kept(0, 2, Seconds(0));
  other->kept(0, 10, Seconds(1));
  knows.changed(Seconds(1.5));
  CHECK(found_by(knows, 1, 50).empty());
  knows.changed(Seconds(2));
  // 6 blocks of 4 tokens, 2 of 16.
  CHECK(found_by(knows, 1, 50) == Found{{0, 24, 0}, {1, 32, 0}});
  knows.changed(Seconds(3));
  // The third has all 40 tokens of the first request, and this one begins with 32 of them; the next one with
  // 20, of which the large blocks hold 16 alone.
  CHECK(found_by(knows, 1, 50) == Found{{0, 24, 0}, {1, 32, 0}, {2, 32, 0}});
  CHECK(found_by(knows, 2, 47) == Found{{0, 20, 0}, {1, 16, 0}, {2, 20, 0}});
  // Prompts under way share blocks where they begin alike.
  knows.sent(0, 40, 0, 0);
  knows.sent(2, 47, 1, 0);
  CHECK(found_by(knows, 1, 50) == Found{{0, 24, 8}, {1, 32, 1}, {2, 32, 0}});
  knows.ended(0, 40);
  CHECK(found_by(knows, 1, 50) == Found{{0, 24, 0}, {1, 32, 1}, {2, 32, 0}});
}
