// One operator for each member of a unit in the place of one that they run by themselves, layers going round
// them: against what follows from the definition, edge by edge.
#include <catch2/catch.hpp>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "models/llm/operator_graph.h"
#include "models/llm/parts/spread.h"
#include "test/models/llm/parts.h"

using namespace weir;

namespace {

using Random = std::mt19937;
using Label = std::string;  // operator, layer, member
using Edges = std::set<std::pair<Label, Label>>;

std::int64_t draw(Random& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}

constexpr int shared_unit = 1;  // whose members run some operators by themselves

// Operators named part, number; numbered in a topological order, as all graphs are.
OperatorGraph random_part(Random& random, const std::string& name, std::int64_t most) {
  OperatorGraph part;
  for (std::int64_t i = draw(random, most > 0 ? 1 : 0, most); i > 0; --i) {
    Operator op;
    op.name = name + std::to_string(boost::num_vertices(part));
    op.unit = static_cast<int>(draw(random, 0, 2));
    op.each_member = op.unit == shared_unit && draw(random, 0, 3) > 0;
    const auto v = boost::add_vertex(op, part);
    for (std::size_t u = 0; u < v; ++u)
      if (draw(random, 0, 2) == 0) boost::add_edge(u, v, part);
  }
  return part;
}

struct Drawn {
  StageGraph stage;
  std::vector<int> members{1, 1, 1};
  explicit Drawn(unsigned seed) {
    Random random(seed);
    part(stage, "prologue") = random_part(random, "p", 2);
    part(stage, "block") = random_part(random, "b", 6);
    part(stage, "epilogue") = random_part(random, "e", 2);
    set_layers(stage, draw(random, 1, 13));
    members[shared_unit] = static_cast<int>(draw(random, 1, 5));
    members[2] = static_cast<int>(draw(random, 1, 3));
  }
  int copies(const Operator& op) const {
    return op.each_member ? members[static_cast<std::size_t>(op.unit)] : 1;
  }
};

Label label(const Operator& op, std::int64_t layer, int member) {
  return op.name + "/" + std::to_string(layer) + "/" + std::to_string(op.each_member ? member : -1);
}

// Every operator of the step with its layer, the repetitions of the block unrolled; calls with each part's
// operators in order.
struct Unrolled {
  std::map<Label, Operator> operators;
  Edges edges;
  std::vector<Label> ends;

  // `members` of its unit run those that go round, each so many places on as layers.
  void add(const OperatorGraph& part, std::int64_t layer, int members) {
    std::vector<Label> labels, last;
    for (std::size_t v = 0; v < boost::num_vertices(part); ++v) {
      Operator placed = part[v];
      if (placed.rotates) placed.member = static_cast<int>((placed.member + layer) % members);
      placed.rotates = false;
      labels.push_back(label(placed, layer, placed.member));
      REQUIRE(operators.emplace(labels.back(), placed).second);
      if (boost::in_degree(v, part) == 0)
        for (const Label& before : ends) edges.emplace(before, labels.back());
      if (boost::out_degree(v, part) == 0) last.push_back(labels.back());
      for (const auto edge : boost::make_iterator_range(boost::in_edges(v, part))) {
        REQUIRE(boost::source(edge, part) < v);
        REQUIRE(edges.emplace(labels[boost::source(edge, part)], labels.back()).second);
      }
    }
    if (!last.empty()) ends = last;
  }
};

Unrolled unrolled(const StageGraph& spread, const Drawn& drawn) {
  Unrolled all;
  const int members = drawn.members[shared_unit];
  all.add(part(spread, "prologue"), -1, members);
  for (std::int64_t layer = 0; layer < layers_of(spread); ++layer)
    all.add(part(spread, "block"), layer, members);
  all.add(part(spread, "epilogue"), -1, members);
  return all;
}

// The same from the definition: every layer in turn, member beside member.
Unrolled expected(const Drawn& drawn) {
  Unrolled all;
  const auto add = [&](const OperatorGraph& part, std::int64_t layer) {
    std::vector<Label> last;
    for (const auto v : boost::make_iterator_range(boost::vertices(part)))
      for (int m = 0; m < drawn.copies(part[v]); ++m) {
        const Label own = label(part[v], layer, m);
        all.operators.emplace(own, part[v]);
        if (boost::in_degree(v, part) == 0)
          for (const Label& before : all.ends) all.edges.emplace(before, own);
        if (boost::out_degree(v, part) == 0) last.push_back(own);
        for (const auto edge : boost::make_iterator_range(boost::in_edges(v, part))) {
          const Operator& from = part[boost::source(edge, part)];
          for (int k = 0; k < drawn.copies(from); ++k)
            if (!from.each_member || !part[v].each_member || k == m)
              all.edges.emplace(label(from, layer, k), own);
        }
      }
    if (!last.empty()) all.ends = last;
  };
  add(part(drawn.stage, "prologue"), -1);
  for (std::int64_t layer = 0; layer < layers_of(drawn.stage); ++layer)
    add(part(drawn.stage, "block"), layer);
  add(part(drawn.stage, "epilogue"), -1);
  return all;
}

std::int64_t layer_of(const Label& label) {
  return std::stoll(label.substr(label.find('/') + 1));
}

}  // namespace

TEST_CASE("spread: every layer has each operator once, or once a member, and waits as it did", "[spread]") {
  for (unsigned seed = 0; seed < 600; ++seed)
    for (const MemberChannels channels :
         {MemberChannels::own, MemberChannels::rotating, MemberChannels::even}) {
      const Drawn drawn(seed);
      const StageGraph spread = spread_over_members(drawn.stage, drawn.members, channels);
      INFO("seed " << seed << " channels " << static_cast<int>(channels));
      const Unrolled ours = unrolled(spread, drawn), theirs = expected(drawn);
      REQUIRE(ours.operators.size() == theirs.operators.size());
      for (const auto& [name, op] : theirs.operators) {
        INFO(name);
        REQUIRE(ours.operators.contains(name));
        Operator found = ours.operators.at(name);
        if (!op.each_member) REQUIRE((found.member == -1 && found.channels == ChannelRange()));
        REQUIRE(found.share == (channels == MemberChannels::even ? 1. / drawn.copies(op) : 1));
        found.member = -1, found.channels = {}, found.share = 1;
        REQUIRE(found == op);
      }
      REQUIRE(ours.edges == theirs.edges);
    }
}

TEST_CASE("spread: a member is for the channel so many places before it as layers, its own, or all",
          "[spread]") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    const Drawn drawn(seed);
    const std::int64_t members = drawn.members[shared_unit];
    const auto spread = [&](MemberChannels channels) {
      return unrolled(spread_over_members(drawn.stage, drawn.members, channels), drawn).operators;
    };
    INFO("seed " << seed);
    for (const auto& [name, op] : spread(MemberChannels::rotating)) {
      if (!op.each_member || layer_of(name) < 0) continue;
      const int channel = op.channels.first;
      REQUIRE((channel >= 0 && channel < members && op.channels.last == channel + 1));
      REQUIRE((op.member - channel - layer_of(name)) % members == 0);
    }
    for (const auto& [name, op] : spread(MemberChannels::own))
      if (op.each_member) REQUIRE(op.channels == ChannelRange{op.member, op.member + 1});
    for (const auto& [name, op] : spread(MemberChannels::even))
      if (op.each_member) REQUIRE(op.channels == ChannelRange());
  }
}

TEST_CASE("spread: of a request that starts anywhere every member holds as many layers, or one more",
          "[spread]") {
  int even = 0;
  for (const int members : {1, 2, 3, 4, 8})
    for (std::int64_t layers = 1; layers <= 33; ++layers) {
      StageGraph stage;
      Operator store;
      store.name = "store", store.kernel = Copy(), store.each_member = true;
      boost::add_vertex(store, part(stage, "block"));
      set_layers(stage, layers);
      const StageGraph spread =
          spread_over_members(stage, std::vector<int>{members}, MemberChannels::rotating);
      // By the request's channel and the member: so many layers.
      std::map<std::pair<int, int>, std::int64_t> held;
      REQUIRE(layers_of(spread) == layers);
      for (std::int64_t layer = 0; layer < layers; ++layer)
        for (const auto v : boost::make_iterator_range(boost::vertices(part(spread, "block")))) {
          REQUIRE(part(spread, "block")[v].rotates == (layers > 1));
          ++held[{part(spread, "block")[v].channels.first,
                  static_cast<int>((part(spread, "block")[v].member + layer) % members)}];
        }
      for (int channel = 0; channel < members; ++channel) {
        std::int64_t sum = 0;
        for (int member = 0; member < members; ++member) {
          const std::int64_t own = held[{channel, member}];
          REQUIRE((own == layers / members || own == (layers + members - 1) / members));
          sum += own;
        }
        REQUIRE(sum == layers);
      }
      even += layers % members == 0;
    }
  CHECK(even > 60);
}
