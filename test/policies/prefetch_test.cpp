// PRESERVE's Algorithm 1: what it finds after a communication, and how much of it is fetched.
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "models/llm/parts/rewrite.h"
#include "policies/prefetch/prefetch.h"
#include "policies/prefetch/windows.h"
#include "test/models/llm/models.h"
#include "test/models/llm/parts.h"
#include "test/policies/make_policy.h"
#include "test/policies/units.h"

using namespace weir;
using namespace weir::test;

namespace {

const std::vector<Unit> npu_units = test::units({"npu", "link", "prefetch"});

StageGraph stage_of(const char* model, int tensor) {
  return rewrite(build_stage(catalog_model(model), {}, {tensor, 1, 1}, 0),
                 [](const OperatorGraph& from, std::size_t v) -> Replacement {
                   Operator op = from[v];
                   op.unit = is_collective(op);
                   return op;
                 });
}

std::vector<std::string> names(const StageGraph& stage, const CommunicationWindow& window) {
  std::vector<std::string> names;
  for (const auto& place : window.reached)
    names.push_back(stage.parts[place.part].operators[place.vertex].name);
  return names;
}

std::shared_ptr<const PrefetchPolicy> preserve(bool window_aware = false) {
  const Json json = {{"kind", "preserve"}, {"window_aware", window_aware}};
  return policy_of(prefetch_policies(), json);
}

std::vector<double> chosen(const PrefetchPolicy& policy, double capacity,
                           const std::vector<PrefetchCandidate>& candidates) {
  std::vector<Bytes> fetched(candidates.size());
  const std::function<Seconds(std::span<const Bytes>)> unasked = [](auto) -> Seconds {
    throw std::logic_error("Algorithm 1 plays no step");
  };
  policy.choose({Bytes(capacity), candidates, unasked}, fetched);
  std::vector<double> bytes;
  for (const Bytes b : fetched) bytes.push_back(b.value());
  return bytes;
}

}  // namespace

TEST_CASE("preserve: after each all-reduce come the matrices and the attention up to the next one") {
  const StageGraph stage = stage_of("llama3-8b", 8);
  const std::vector<CommunicationWindow> windows = communication_windows(stage);
  using Names = std::vector<std::string>;
  const Names half = {"qkv_proj", "attention", "o_proj"};
  REQUIRE(windows.size() == 4);
  CHECK(names(stage, windows[0]) == half);  // the embedding's
  CHECK(names(stage, windows[1]) == Names{"gate_up_proj", "down_proj"});
  CHECK(names(stage, windows[2]) == half);  // of the next layer
  CHECK(names(stage, windows[3]) == Names{"lm_head"});
  CHECK(windows[0].communication.part == 0);
  CHECK(windows[3].communication.vertex == windows[2].communication.vertex);
  for (const auto& place : windows[1].reached) CHECK((!place.next && place.part == 1));
  for (const auto& place : windows[2].reached) CHECK((place.next && place.part == 1));
  for (const auto& place : windows[3].reached) CHECK((place.next && place.part == 2));
  CHECK(communication_windows(stage_of("llama3-8b", 1)).empty());  // nothing to hide under
}

TEST_CASE("preserve: attention and MLP side by side follow one all-reduce, experts and their router too") {
  const StageGraph falcon = stage_of("falcon-40b", 8);
  const std::vector<CommunicationWindow> windows = communication_windows(falcon);
  REQUIRE(windows.size() == 3);
  std::vector<std::string> all = names(falcon, windows[1]);
  std::ranges::sort(all);
  CHECK(all == std::vector<std::string>{"attention", "down_proj", "gate_up_proj", "o_proj", "qkv_proj"});
  const StageGraph mixtral = stage_of("mixtral-8x7b", 8);
  CHECK(names(mixtral, communication_windows(mixtral)[1]) ==
        std::vector<std::string>{"moe_router", "moe_gate_up", "moe_down"});
}

TEST_CASE(
    "preserve: of every model and cut, a prefetch has one reader, its sizes, and starts with a collective") {
  for (const Architecture& model : catalog_and_random_models())
    for (const Sharding& cut : shardings(model)) {
      if (cut.pipeline > 2) continue;
      CAPTURE(model.name, to_string(cut));
      for (int s = 0; s < cut.pipeline; ++s) {
        const StageGraph before = build_stage(model, {}, cut, s);
        const StageGraph after = preserve()->add_prefetches(before, npu_units);
        int fetches = 0;
        REQUIRE(after.parts.size() == before.parts.size());
        for (std::size_t part = 0; part < after.parts.size(); ++part) {
          const OperatorGraph &graph = after.parts[part].operators, &was = before.parts[part].operators;
          for (std::size_t v = 0; v < boost::num_vertices(graph); ++v) {
            if (v < boost::num_vertices(was)) {
              REQUIRE(graph[v] == was[v]);
              continue;
            }
            ++fetches;
            REQUIRE(graph[v].as<Prefetch>());
            REQUIRE(boost::out_degree(v, graph) == 1);
            const Operator& reader = graph[boost::target(*boost::out_edges(v, graph).first, graph)];
            REQUIRE(graph[v].name == "prefetch " + reader.name);
            REQUIRE(graph[v].unit == 2);
            const int window = graph[v].as<Prefetch>()->window;
            REQUIRE((window >= 0 && window < std::ssize(after.windows)));
            REQUIRE(is_collective(after.windows[static_cast<std::size_t>(window)]));
            const bool early =
                std::ranges::any_of(after.early, [&](const auto& e) { return e.part == part && e.op == v; });
            REQUIRE(early == (boost::in_degree(v, graph) == 0));  // waits for what its collective waits for
          }
        }
        REQUIRE((fetches > 0) == (cut.tensor > 1));
      }
    }
}

// Algorithm 1 of the paper: `if cacheSum < C then insert prefetch op else set reachedEOG = true`, and the
// text beside it, "the prefetch operator is not inserted [...], and the algorithm continues with the next
// communication operation": the first that does not fit ends its window, whatever follows.
TEST_CASE("preserve: it fetches until the sum would fill the cache, window by window") {
  const std::vector<PrefetchCandidate> candidates = {
      {0, Bytes(10), Bytes(5)}, {0, Bytes(20), Bytes(5)}, {0, Bytes(1), Bytes(5)}, {1, Bytes(29), Bytes(40)}};
  const auto policy = preserve();
  CHECK(chosen(*policy, 100, candidates) == std::vector<double>{10, 20, 1, 29});
  CHECK(chosen(*policy, 31, candidates) == std::vector<double>{10, 20, 0, 29});  // less than, not up to
  CHECK(chosen(*policy, 30, candidates) ==
        std::vector<double>{10, 0, 0, 29});  // the third would fit: too late
  CHECK(chosen(*policy, 10, candidates) == std::vector<double>{0, 0, 0, 0});
  CHECK(chosen(*preserve(true), 100, candidates) == std::vector<double>{5, 0, 0, 29});
}

TEST_CASE("preserve: the sum of a window never reaches the capacity, and more capacity never fetches less") {
  std::mt19937_64 random(3);
  for (int round = 0; round < 500; ++round) {
    std::vector<PrefetchCandidate> candidates;
    for (int window = 0; window < 4; ++window)
      for (auto n = random() % 6; n > 0; --n)
        candidates.push_back(
            {window, Bytes(static_cast<double>(random() % 100)), Bytes(static_cast<double>(random() % 200))});
    for (const bool aware : {false, true}) {
      double before = 0;
      for (const double capacity : {1., 50., 120., 300., 1000.}) {
        const std::vector<double> bytes = chosen(*preserve(aware), capacity, candidates);
        double all = 0;
        for (int window = 0; window < 4; ++window) {
          double sum = 0;
          for (std::size_t i = 0; i < candidates.size(); ++i)
            if (candidates[i].window == window) sum += bytes[i];
          CHECK(sum < capacity);
          all += sum;
        }
        CHECK(all >= before);
        before = all;
      }
    }
  }
}

TEST_CASE(
    "oracle: of equally short sets it takes the one of fewest bytes, and sets that overflow are sets too") {
  const auto oracle = make_policy(prefetch_policies(), "oracle");
  const std::vector<PrefetchCandidate> candidates = {
      {0, Bytes(10), {}}, {0, Bytes(20), {}}, {0, Bytes(5), {}}, {1, Bytes(30), {}}};
  int asked = 0;
  const auto chosen = [&](double capacity, const std::function<double(std::span<const Bytes>)>& seconds) {
    const std::function<Seconds(std::span<const Bytes>)> step_time = [&](auto fetched) {
      return ++asked, Seconds(seconds(fetched));
    };
    std::vector<Bytes> fetched(candidates.size());
    oracle->choose({Bytes(capacity), candidates, step_time}, fetched);
    return fetched;
  };
  using Set = std::vector<Bytes>;
  const Bytes no;
  // Only that something of the first window is fetched counts: the smallest of all.
  CHECK(chosen(100, [](auto f) { return f[0] + f[1] + f[2] > Bytes(0) ? 1. : 2.; }) ==
        Set{no, no, Bytes(5), no});
  CHECK(asked == 16);
  CHECK(chosen(100, [](auto) { return 1.; }) == Set{no, no, no, no});
  CHECK(chosen(100, [](auto f) { return 100 - (f[0] + f[1] + f[2] + f[3]).value(); }) ==
        Set{Bytes(10), Bytes(20), Bytes(5), Bytes(30)});
  asked = 0;
  const Set all = {Bytes(10), Bytes(20), Bytes(5), Bytes(30)};
  CHECK(chosen(30, [](auto f) { return 100 - (f[0] + f[1] + f[2] + f[3]).value(); }) == all);
  CHECK(asked == 16);
}
