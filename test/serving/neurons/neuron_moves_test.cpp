// Neurons that move between DIMMs beside projections, by hand.
#include "sim/serving/neurons/neuron_moves.h"

#include <catch2/catch.hpp>

using namespace weir;

namespace {

constexpr auto att = NeuronBlock::attention, mlp = NeuronBlock::mlp;

struct AnyActivity final : ActivitySource {
  std::span<const float> frequency(std::int64_t, NeuronBlock) const override { return {}; }
  std::span<const NeuronParents> parents(std::int64_t, NeuronBlock) const override { return {}; }
  std::unique_ptr<TokenActivity> sequence(std::uint64_t) const override { return nullptr; }
};

// A layer with three and ten neurons, and one with one and two, on two DIMMs. Half of a projection of 5 s
// takes three neurons of attention over a link, or two of the MLP.
struct Moving {
  NeuronPlan plan;
  std::vector<LayerSites> sites;
  PerBlock<std::vector<std::uint16_t>> uses{{2, 1, 1}, std::vector<std::uint16_t>(10, 3)};

  Moving() {
    plan.use.remaps = true;
    plan.activity = std::make_shared<AnyActivity>();
    plan.machine.dimms = 2;
    plan.machine.dimm_room = Bytes(200);
    plan.machine.costs.attention.bytes = Bytes(10);
    plan.machine.costs.mlp.bytes = Bytes(6);
    plan.moves.attention = NeuronLink{Seconds(1), Seconds(0.5)};
    plan.moves.mlp = NeuronLink{Seconds(2), Seconds(0.25)};
    sites.resize(2);
    sites[0].attention = {{0, 0, 0}, {0, 0, 1}};
    sites[0].mlp = {std::vector<std::uint8_t>(10, 0), {0, 0, 0, 0, 0, 0, 0, 0, 1, 1}};
    sites[1].attention = {{0}, {1}};
    sites[1].mlp = {{0, 0}, {1, 1}};
  }
  void tokens(NeuronMoves& moves, int count, bool used = true) {
    for (int token = 0; token < count; ++token) {
      for (const NeuronBlock block : neuron_blocks)
        moves.computed(0, block, used ? uses[block] : std::vector<std::uint16_t>(uses[block].size(), 0));
      moves.end_token(sites, Seconds(5));
    }
  }
};

void check_free(const NeuronMoves& moves, double first, double second) {
  CHECK(moves.free()[0].value() == Approx(first));
  CHECK(moves.free()[1].value() == Approx(second));
}

}  // namespace

TEST_CASE("neuron moves: after a window as many go as narrow the gap, as fast as half a projection takes") {
  Moving it;
  NeuronMoves moves(it.plan, it.sites);
  // 2 x 10 and 8 x 6 bytes are on the first DIMM; 10 and 2 x 6, and as much of the other layer, on the
  // second.
  check_free(moves, 200 - 68, 200 - 44);
  std::vector<SideLoad> links(1);
  it.tokens(moves, 4);
  CHECK(moves.go_on(0, mlp, Seconds(5), it.sites[0].mlp, links) == 0);
  it.tokens(moves, 1);
  // Five tokens used each neuron once a token, by however many sequences: 40 on one DIMM and 10 on the other.
  // Three of the MLP go, to 25 and 25; of attention's 10 and 5 none does.
  check_free(moves, 132, 156 - 3 * 6);
  CHECK(moves.go_on(0, att, Seconds(5), it.sites[0].attention, links) == 0);
  CHECK(moves.go_on(1, mlp, Seconds(5), it.sites[1].mlp, links) == 0);
  CHECK(moves.go_on(0, mlp, Seconds(4), it.sites[0].mlp, links) == 0);  // half of it is the start alone
  CHECK(moves.go_on(0, mlp, Seconds(5), it.sites[0].mlp, links) == 2);
  CHECK((links[0].read == 2 && links[0].computed == 2 && links[0].uses == 2));
  CHECK(it.sites[0].mlp.dimm == std::vector<std::uint8_t>{1, 1, 0, 0, 0, 0, 0, 0, 1, 1});
  check_free(moves, 132 + 2 * 6, 138);
  CHECK(moves.go_on(0, mlp, Seconds(5), it.sites[0].mlp, links) == 1);
  CHECK(links[0].read == 1);
  CHECK(it.sites[0].mlp.dimm == std::vector<std::uint8_t>{1, 1, 1, 0, 0, 0, 0, 0, 1, 1});
  check_free(moves, 150, 138);
  CHECK(moves.go_on(0, mlp, Seconds(5), it.sites[0].mlp, links) == 0);
}

TEST_CASE("neuron moves: those that are late stay where they are, and the next window counts anew") {
  Moving it;
  NeuronMoves moves(it.plan, it.sites);
  std::vector<SideLoad> links(1);
  it.tokens(moves, 5);
  REQUIRE(moves.go_on(0, mlp, Seconds(5), it.sites[0].mlp, links) == 2);
  it.tokens(moves, 5, false);
  // The third neuron's room is free again; no token used any, so that none goes.
  check_free(moves, 132 + 12, 156 - 12);
  CHECK(moves.go_on(0, mlp, Seconds(5), it.sites[0].mlp, links) == 0);
}

TEST_CASE("neuron moves: a link takes five tokens' worth in a window, and what has no link stays") {
  Moving it;
  it.uses.mlp.assign(10, 1);
  // Half a projection takes 0.4 neurons: two of the three that would narrow the gap in five tokens.
  it.plan.moves.mlp = NeuronLink{Seconds(2), Seconds(1.25)};
  NeuronMoves moves(it.plan, it.sites);
  it.tokens(moves, 5);
  check_free(moves, 132, 156 - 2 * 6);
  it.plan.moves.mlp.reset();
  NeuronMoves none(it.plan, it.sites);
  it.tokens(none, 5);
  check_free(none, 132, 156);
  it.plan.moves.mlp = NeuronLink{Seconds(2), Seconds(0.25)};
  it.plan.use.remaps = false;
  NeuronMoves off(it.plan, it.sites);
  it.tokens(off, 5);
  check_free(off, 132, 156);
}
