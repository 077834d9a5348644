// Why a step takes longer with prefetches than without, on random graphs of up to twelve operators.
#include <catch2/catch.hpp>

#include "sim/step/stage_step.h"
#include "test/models/llm/parts.h"
#include "test/step/prefetch_player.h"

namespace weir::test {
namespace {

// What a device may be spared, to see what makes a step longer with prefetches than without.
struct Spared {
  bool eviction = false;  // the cache holds everything
  bool sharing =
      false;  // the memory has bandwidth for all at once; kernels and prefetches take what they took
  bool stream = false;  // every prefetch has a stream for itself
  bool units = false;   // and every other operator a unit, on links with bandwidth for all
};

StageGraph on_units_of_their_own(StageGraph placed, const Spared& spared, std::vector<Unit>& units) {
  for (Part& part : placed.parts)
    for (const auto v : boost::make_iterator_range(boost::vertices(part.operators))) {
      Operator& op = part.operators[v];
      if (!(op.as<Prefetch>() ? spared.stream : spared.units)) continue;
      const int placed_on = op.unit;
      op.unit = static_cast<int>(units.size());
      units.push_back({"its own", {op.kind()}, units[static_cast<std::size_t>(placed_on)].ports});
    }
  return placed;
}

// The step with a set of Algorithm 1's prefetches.
Seconds played(Case c, unsigned set, const Spared& spared) {
  if (spared.eviction) c.l2_mb = 1e6;
  Rank replica = replica_of(c);
  const auto told = std::make_shared<Told>(algorithm_1);
  told->set = set;
  replica.prefetch = told;
  const StageGraph placed = place(replica, c.stage);
  const DeviceSpec& device = replica.on->spec();
  std::vector<Unit> units = device.units;
  const StageGraph spread = on_units_of_their_own(placed, spared, units);
  const StageStep step =
      stage_step({&spread, 1}, units,
                 std::vector<Resource>{{"memory", (spared.sharing ? 1e9 : 1) * device.cache()->reached()},
                                       {"link", (spared.units ? 1e9 : 1) * replica.links.bandwidth}});
  Timeline timeline(step.graph);
  const auto fill = [&](const OperatorGraph& part, int first) {
    const std::vector<bool> elsewhere = Prefetched::covered(part);
    for (std::size_t v = 0; v < elsewhere.size(); ++v)
      if (!elsewhere[v])
        set_cost(timeline, step.graph, first + static_cast<int>(v), replica.cost(part[v], c.batch));
  };
  for (std::size_t p = 0; p < placed.parts.size(); ++p) fill(placed.parts[p].operators, step.chains[0][p]);
  Prefetched(replica, step, placed).fill(timeline, step.graph, {&c.batch, 1});
  return timeline.evaluate().total;
}

bool longer(const Case& c, unsigned set, const Spared& spared = {}) {
  return played(c, set, spared) > played(c, 0, spared) * rounding;
}

}  // namespace

TEST_CASE("prefetch oracle: every step that Algorithm 1 makes longer is so by sharing the memory",
          "[engine]") {
  std::mt19937_64 random(17);
  int slower = 0;
  for (int round = 0; round < 400; ++round) {
    const Case c(random);
    Player player(c);
    const Seconds ours = player.chosen();
    CAPTURE(round);
    CHECK(played(c, player.took(), {}).value() == Approx(ours.value()).epsilon(1e-12));
    if (!longer(c, player.took())) continue;
    ++slower;
    CHECK(longer(c, player.took(), {.eviction = true}));  // it stops short of the capacity
    CHECK_FALSE(longer(c, player.took(), {.sharing = true}));
  }
  CHECK(slower > 50);
}

TEST_CASE("prefetch oracle: fetching everything makes steps longer by eviction or by sharing the memory",
          "[engine]") {
  std::mt19937_64 random(17);
  int slower = 0, evicted = 0;
  for (int round = 0; round < 800; ++round) {
    const Case c(random);
    if (!longer(c, ~0u)) continue;
    CAPTURE(round);
    const bool eviction = !longer(c, ~0u, {.eviction = true}), sharing = !longer(c, ~0u, {.sharing = true});
    CHECK((eviction || sharing));
    CHECK_FALSE(longer(c, ~0u, {.eviction = true, .sharing = true}));
    // Nothing but these, the one stream, and the order in which units serve can be: spared all, it hides.
    CHECK_FALSE(longer(c, ~0u, {.eviction = true, .sharing = true, .stream = true, .units = true}));
    ++slower, evicted += eviction;
  }
  CHECK((slower > 100 && evicted > 50));
}

namespace {

Operator matrix(int features) {
  return {.name = "gemm", .kernel = Gemm{features, features, DataType::int8, DataType::int8}};
}

Operator all_reduce(double bytes_per_row) {
  return {.name = "all_reduce", .kernel = Communication{Collective::all_reduce, Bytes(bytes_per_row), 8}};
}

Operator elementwise(double bytes_per_row) {
  return {.name = "norm", .kernel = Elementwise{Bytes(bytes_per_row)}};
}

// 150 MB of L2, links of 100 GB/s, decodes of one token each; the stage is the caller's.
Case case_of(std::int64_t decodes) {
  std::mt19937_64 random(1);
  Case c(random);
  c.stage = StageGraph{};
  c.l2_mb = 150, c.links_gb_per_s = 100;
  c.batch = BatchShape{};
  c.batch.decodes = c.batch.sequences = c.batch.decode_context_sum = decodes;
  c.batch.decode_context_max = 1;
  return c;
}

}  // namespace

// Two communications at once: the large matrix behind the one is fetched first and used last; what follows
// the small matrix behind the other waits for both.
TEST_CASE("prefetch oracle: a third cause is the order in which the stream of prefetches serves",
          "[engine]") {
  Case c = case_of(16);
  OperatorGraph& graph = part(c.stage, "prologue");
  enum { first, second, small, norm, large, third };
  for (const Operator& op :
       {all_reduce(64), all_reduce(64), matrix(256), elementwise(256), matrix(11000), all_reduce(262144)})
    boost::add_vertex(op, graph);
  for (const auto& [from, to] : {std::pair(first, large), std::pair(second, small), std::pair(second, norm),
                                 std::pair(norm, large), std::pair(small, third)})
    boost::add_edge(static_cast<std::size_t>(from), static_cast<std::size_t>(to), graph);
  Player player(c);
  player.chosen();
  REQUIRE(player.took() == 3);
  CHECK(longer(c, 3));
  CHECK(longer(c, 3, {.eviction = true, .sharing = true}));
  CHECK_FALSE(longer(c, 3, {.stream = true}));
  Player aware(c, window_aware);
  CHECK(aware.chosen() <= aware.none() * rounding);
}

TEST_CASE("prefetch oracle: window-aware, no step is longer than without prefetches", "[engine]") {
  std::mt19937_64 random(17);
  int shorter = 0;
  for (int round = 0; round < 800; ++round) {
    const Case c(random);
    Player player(c, window_aware);
    const Seconds none = player.none(), aware = player.chosen();
    CAPTURE(round);
    CHECK(aware <= none * rounding);
    shorter += aware < 0.95 * none;
  }
  CHECK(shorter > 50);
}

// What is left: one prefetch stands for all layers, and the first one's may go on after a shorter all-reduce.
TEST_CASE("prefetch oracle: window-aware, the first layer shares where its all-reduce is a shorter one",
          "[engine]") {
  const auto excess = [&](double first_bytes) {
    Case c = case_of(2048);  // so that the matrix is bound by arithmetic
    boost::add_vertex(elementwise(1024), part(c.stage, "prologue"));
    boost::add_edge(0, boost::add_vertex(all_reduce(first_bytes), part(c.stage, "prologue")),
                    part(c.stage, "prologue"));
    for (const Operator& op : {elementwise(8192), matrix(8192), all_reduce(8192)})
      if (const auto added = boost::add_vertex(op, part(c.stage, "block")); added > 0)
        boost::add_edge(added - 1, added, part(c.stage, "block"));
    set_layers(c.stage, 2);
    Player player(c, window_aware);
    return (player.chosen() - player.none()).value();
  };
  CHECK(excess(64) > 1e-6);
  CHECK(excess(8192) <= 1e-12);
}

}  // namespace weir::test
