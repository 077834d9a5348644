// rewrite(): whoever waited for an operator waits for what replaced it.
#include <catch2/catch.hpp>
#include <random>
#include <set>

#include "models/llm/parts/rewrite.h"

using namespace weir;

namespace {

Operator named(std::string name) {
  Operator op;
  op.name = std::move(name);
  return op;
}

OperatorGraph random_graph(std::mt19937& random, std::size_t size) {
  OperatorGraph graph;
  for (std::size_t v = 0; v < size; ++v) {
    boost::add_vertex(named(std::to_string(v)), graph);
    for (std::size_t u = 0; u < v; ++u)
      if (random() % 3 == 0) boost::add_edge(u, v, graph);
  }
  return graph;
}

using Pairs = std::set<std::pair<std::string, std::string>>;

// All pairs of names of which the first comes before the second.
Pairs orders(const OperatorGraph& graph) {
  std::vector<std::set<std::size_t>> before(boost::num_vertices(graph));
  Pairs pairs;
  for (std::size_t v = 0; v < before.size(); ++v)
    for (auto [e, end] = boost::in_edges(v, graph); e != end; ++e) {
      const std::size_t u = boost::source(*e, graph);
      REQUIRE(u < v);
      before[v].insert(u);
      before[v].insert(before[u].begin(), before[u].end());
    }
  for (std::size_t v = 0; v < before.size(); ++v)
    for (const std::size_t u : before[v]) pairs.insert({graph[u].name, graph[v].name});
  return pairs;
}

}  // namespace

TEST_CASE("rewrite: who comes before whom stays, of those that stay, whatever is left out") {
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    const OperatorGraph graph = random_graph(random, 1 + random() % 12);
    std::vector<bool> stays(boost::num_vertices(graph));
    for (std::size_t v = 0; v < stays.size(); ++v) stays[v] = random() % 3 > 0;
    const OperatorGraph left = rewrite(graph, [&](const OperatorGraph& from, std::size_t v) {
      return stays[v] ? Replacement(from[v]) : Replacement();
    });
    Pairs expected;
    for (const auto& [before, after] : orders(graph))
      if (stays[std::stoul(before)] && stays[std::stoul(after)]) expected.insert({before, after});
    CHECK(orders(left) == expected);
  }
}

TEST_CASE("rewrite: in the place of one come several, of which some wait and some are waited for") {
  OperatorGraph graph;
  for (const char* name : {"before", "it", "after"}) boost::add_vertex(named(name), graph);
  boost::add_edge(0, 1, graph);
  boost::add_edge(1, 2, graph);
  const OperatorGraph split = rewrite(graph, [](const OperatorGraph& from, std::size_t v) {
    if (from[v].name != "it") return Replacement(from[v]);
    Replacement parts;
    parts.operators = {named("a"), named("b"), named("beside")};
    parts.edges = {{0, 1}, {0, 2}};
    parts.first = {0};
    parts.last = {1};
    return parts;
  });
  CHECK(orders(split) == Pairs{{"before", "a"},
                               {"before", "b"},
                               {"before", "beside"},
                               {"before", "after"},
                               {"a", "b"},
                               {"a", "beside"},
                               {"a", "after"},
                               {"b", "after"}});
}

TEST_CASE("rewrite: of two with the same lanes each operator waits for its own alone") {
  OperatorGraph graph;
  for (const char* name : {"first", "second", "third"}) boost::add_vertex(named(name), graph);
  boost::add_edge(0, 1, graph);
  boost::add_edge(1, 2, graph);
  const OperatorGraph lanes = rewrite(graph, [](const OperatorGraph& from, std::size_t v) {
    Replacement copies;
    for (const char* lane : {" 0", " 1"}) copies.operators.push_back(named(from[v].name + lane));
    copies.lanes = v < 2 ? 0 : -1;
    return copies;
  });
  CHECK(orders(lanes) == Pairs{{"first 0", "second 0"},
                               {"first 1", "second 1"},
                               {"first 0", "third 0"},
                               {"first 0", "third 1"},
                               {"first 1", "third 0"},
                               {"first 1", "third 1"},
                               {"second 0", "third 0"},
                               {"second 0", "third 1"},
                               {"second 1", "third 0"},
                               {"second 1", "third 1"}});
}

TEST_CASE("rewrite: one after the other, every source of the second waits for every sink of the first") {
  std::mt19937 random(6);
  for (int round = 0; round < 100; ++round) {
    const OperatorGraph first = random_graph(random, 1 + random() % 6);
    OperatorGraph second = random_graph(random, 1 + random() % 6);
    for (std::size_t v = 0; v < boost::num_vertices(second); ++v) second[v].name += "'";
    Pairs expected = orders(first);
    expected.merge(orders(second));
    for (std::size_t u = 0; u < boost::num_vertices(first); ++u)
      for (std::size_t v = 0; v < boost::num_vertices(second); ++v)
        expected.insert({first[u].name, second[v].name});
    CHECK(orders(one_after_the_other(first, second)) == expected);
  }
}

TEST_CASE("rewrite: a stage whose prefetches are early already is refused") {
  StageGraph stage;
  stage.parts.push_back({"block", {}, 2});
  stage.early.push_back({0, 0, 0, 0});
  CHECK_THROWS_AS(
      rewrite(stage, [](const OperatorGraph& from, std::size_t v) -> Replacement { return from[v]; }),
      std::logic_error);
}
