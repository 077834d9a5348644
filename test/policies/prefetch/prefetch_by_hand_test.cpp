// Amounts of prefetches by hand, and the bounds of the oracle.
#include <catch2/catch.hpp>

#include "policies/prefetch/prefetch.h"
#include "test/models/llm/parts.h"
#include "test/policies/make_policy.h"
#include "test/policies/units.h"

using namespace weir;
using test::policy_of;

namespace {

std::shared_ptr<const PrefetchPolicy> keyed_prefetch(const Json& json) {
  return policy_of(prefetch_policies(), json);
}

// A GEMM, its all-reduce and so many GEMMs behind, one after another.
StageGraph reduced_and_read(int gemms) {
  OperatorGraph graph;
  boost::add_vertex(Operator{.name = "before", .kernel = Gemm{2, 2}}, graph);
  boost::add_vertex(Operator{.name = "reduce", .kernel = Communication{.per_row = Bytes(4), .devices = 2}},
                    graph);
  for (int i = 0; i < gemms; ++i) boost::add_vertex(Operator{.name = "behind", .kernel = Gemm{2, 2}}, graph);
  for (std::size_t v = 1; v < boost::num_vertices(graph); ++v) boost::add_edge(v - 1, v, graph);
  return stage_of({}, std::move(graph), {}, 1);
}

}  // namespace

TEST_CASE("preserve: window-aware, a window's prefetches share what its communication leaves", "[prefetch]") {
  const std::vector<PrefetchCandidate> candidates = {{0, Bytes(10), Bytes(25)},
                                                     {0, Bytes(20), Bytes(25)},
                                                     {0, Bytes(7), Bytes(25)},
                                                     {1, Bytes(30), Bytes(4)}};
  const std::function<Seconds(std::span<const Bytes>)> unasked;
  const auto chosen = [&](const Json& keys, double capacity) {
    Json json = {{"kind", "preserve"}};
    json.update(keys);
    std::vector<Bytes> fetched(candidates.size());
    keyed_prefetch(json)->choose({Bytes(capacity), candidates, unasked}, fetched);
    std::vector<double> bytes;
    for (const Bytes b : fetched) bytes.push_back(b.value());
    return bytes;
  };
  using Amounts = std::vector<double>;
  CHECK(chosen({{"window_aware", true}}, 100) == Amounts{10, 15, 0, 4});
  CHECK(chosen({{"window_aware", true}}, 30) == Amounts{10, 0, 0, 0});
  // A limit of 31 bytes stands in for the cache's own, which holds more or less.
  CHECK(chosen({{"limit_mb", 31e-6}}, 5) == Amounts{10, 20, 0, 30});
  CHECK(chosen({{"limit_mb", 31e-6}}, 1000) == Amounts{10, 20, 0, 30});
}

TEST_CASE("prefetch: window-aware prefetches yield, and the oracle alone chooses for a whole step",
          "[prefetch]") {
  CHECK(keyed_prefetch({{"kind", "preserve"}, {"window_aware", true}})->yields());
  CHECK_FALSE(keyed_prefetch({{"kind", "preserve"}})->yields());
  CHECK_FALSE(keyed_prefetch({{"kind", "preserve"}})->of_one_batch());
  CHECK(keyed_prefetch({{"kind", "oracle"}})->of_one_batch());
  CHECK_FALSE(keyed_prefetch({{"kind", "oracle"}})->yields());
}

TEST_CASE("oracle: of sets as short and as small the first is taken, and a longer one is never",
          "[prefetch]") {
  const auto oracle = keyed_prefetch({{"kind", "oracle"}});
  const std::vector<PrefetchCandidate> candidates = {
      {0, Bytes(10), {}}, {0, Bytes(10), {}}, {0, Bytes(15), {}}};
  std::vector<Bytes> fetched(3);
  const auto choose = [&](const std::function<Seconds(std::span<const Bytes>)>& step_time) {
    oracle->choose({Bytes(100), candidates, step_time}, fetched);
    return fetched;
  };
  const Bytes no;
  CHECK(choose([](auto f) { return Seconds(f[0] + f[1] > Bytes(0) ? 1 : 2); }) ==
        std::vector<Bytes>{Bytes(10), no, no});
  // A billionth is a rounding of sums; a millionth is time.
  CHECK(choose([](auto f) { return Seconds(f[2] > Bytes(0) ? 1 : 1 + 1e-10); }) ==
        std::vector<Bytes>{no, no, no});
  CHECK(choose([](auto f) { return Seconds(f[2] > Bytes(0) ? 1 : 1 + 1e-6); }) ==
        std::vector<Bytes>{no, no, Bytes(15)});
}

TEST_CASE("oracle: a stage of twelve prefetches is tried, one of thirteen is refused", "[prefetch]") {
  const std::vector<Unit> npu = test::units({"npu", "link", "prefetch"});
  const auto oracle = keyed_prefetch({{"kind", "oracle"}});
  const StageGraph twelve = oracle->add_prefetches(reduced_and_read(12), npu);
  CHECK(boost::num_vertices(part(twelve, "block")) == 2 + 2 * 12);
  CHECK_THROWS_WITH(oracle->add_prefetches(reduced_and_read(13), npu),
                    Catch::Contains("of 12 at most; a stage of this model has 13"));
  CHECK_NOTHROW(keyed_prefetch({{"kind", "preserve"}})->add_prefetches(reduced_and_read(13), npu));
}

TEST_CASE("preserve: window-aware, a communication with something beside it has no prefetches",
          "[prefetch]") {
  const std::vector<Unit> npu = test::units({"npu", "link", "prefetch"});
  const auto prefetches = [&](bool aware, bool before) {
    OperatorGraph graph;
    for (const char* name : {"first", "second"})
      boost::add_vertex(Operator{.name = name, .kernel = Gemm{2, 2}}, graph);
    boost::add_vertex(Operator{.name = "reduce", .kernel = Communication{.per_row = Bytes(4), .devices = 2}},
                      graph);
    boost::add_vertex(Operator{.name = "behind", .kernel = Gemm{2, 2}}, graph);
    boost::add_edge(0, 2, graph);
    boost::add_edge(1, before ? 2 : 3, graph);  // the second is before the communication, or beside it
    boost::add_edge(2, 3, graph);
    const StageGraph made = keyed_prefetch({{"kind", "preserve"}, {"window_aware", aware}})
                                ->add_prefetches(stage_of({}, std::move(graph), {}, 1), npu);
    return boost::num_vertices(part(made, "block")) - 4;
  };
  CHECK(prefetches(false, false) == 1);
  CHECK(prefetches(true, false) == 0);
  CHECK(prefetches(false, true) == 1);
  CHECK(prefetches(true, true) == 1);
}
