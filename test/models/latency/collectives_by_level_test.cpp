#include "models/latency/collectives_by_level.h"

#include <catch2/catch.hpp>
#include <map>
#include <set>

using namespace weir;

namespace {

const LinkSpec inside{"custom", LinkShape::switched, BytesPerSecond(400e9), Seconds(2e-6)};

NodeLevels levels(int nodes, int per_node) {
  return {nodes, per_node, {"network", LinkShape::switched, BytesPerSecond(50e9), Seconds(11e-6)}};
}

const Collective every_kind[] = {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter,
                                 Collective::all_to_all, Collective::send_receive};

// Each message by itself on idle links: a round takes its slowest.
Seconds played(const std::vector<std::vector<Message>>& rounds, const NodeLevels& of) {
  Seconds clock(0);
  for (const auto& round : rounds) {
    Seconds slowest(0);
    for (const Message& m : round) {
      const LinkSpec& links = m.from / of.per_node == m.to / of.per_node ? inside : of.network;
      slowest = std::max(slowest, links.latency + m.bytes / links.bandwidth);
    }
    clock += slowest;
  }
  return clock;
}

}  // namespace

TEST_CASE("collectives by level: they take what their rounds take, one after another") {
  for (const int nodes : {2, 3, 4, 7, 16})
    for (const int per_node : {1, 2, 8}) {
      const NodeLevels of = levels(nodes, per_node);
      const auto model = make_collectives_by_level(inside, "", of);
      for (const Collective op : every_kind)
        for (const double bytes : {100., 16e3, 3e6, 1e9}) {
          CAPTURE(nodes, per_node, static_cast<int>(op), bytes);
          const auto rounds = rounds_by_level(op, Bytes(bytes), inside, of);
          CHECK(model->time(op, Bytes(bytes), nodes * per_node).value() ==
                Approx(played(rounds, of).value()).epsilon(1e-12));
        }
    }
}

TEST_CASE("collectives by level: an all-reduce adds up every part of everyone, by a tree and by a ring") {
  for (const double bytes : {8., 1e9})
    for (const int nodes : {2, 3, 5, 8}) {
      const int per_node = 4, ranks = nodes * per_node;
      const NodeLevels of = levels(nodes, per_node);
      // By rank, the ranks whose data it has heard of, by whatever way.
      std::vector<std::set<int>> heard(static_cast<std::size_t>(ranks));
      for (int r = 0; r < ranks; ++r) heard[static_cast<std::size_t>(r)] = {r};
      for (const auto& round : rounds_by_level(Collective::all_reduce, Bytes(bytes), inside, of)) {
        const auto before = heard;
        for (const Message& m : round) {
          REQUIRE(m.from != m.to);
          heard[static_cast<std::size_t>(m.to)].insert(before[static_cast<std::size_t>(m.from)].begin(),
                                                       before[static_cast<std::size_t>(m.from)].end());
        }
      }
      for (const auto& of_rank : heard) CHECK(of_rank.size() == static_cast<std::size_t>(ranks));
    }
}

TEST_CASE("collectives by level: what a rank sends is what the closed form counts, by a ring") {
  const NodeLevels of = levels(4, 8);
  const auto model = make_collectives_by_level(inside, "", of);
  for (const Collective op : {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter}) {
    std::map<int, double> sent;
    for (const auto& round : rounds_by_level(op, Bytes(1e9), inside, of))
      for (const Message& m : round) sent[m.from] += m.bytes.value();
    CHECK(sent.size() == 32);
    for (const auto& [rank, bytes] : sent) CHECK(bytes == Approx(model->sent(op, Bytes(1e9), 32).value()));
  }
}

TEST_CASE(
    "collectives by level: small messages go by a tree, large ones by a ring, and more is never faster") {
  const NodeLevels of = levels(8, 8);
  const auto model = make_collectives_by_level(inside, "nccl", of);
  const auto rounds = [&](double bytes) {
    return rounds_by_level(Collective::all_reduce, Bytes(bytes), inside, of).size();
  };
  CHECK(rounds(16e3) == 7 + 2 * 3 + 7);
  CHECK(rounds(1e9) == 7 + 2 * 7 + 7);
  Seconds before(0);
  for (double bytes = 16; bytes < 1e10; bytes *= 1.5) {
    const Seconds time = model->time(Collective::all_reduce, Bytes(bytes), 64);
    CHECK(time > before);
    before = time;
  }
}

TEST_CASE("collectives by level: a group that a node holds stays in it") {
  const auto model = make_collectives_by_level(inside, "", levels(2, 8));
  const auto alone = make_collectives(inside, "");
  for (const Collective op : every_kind)
    CHECK(model->time(op, Bytes(1e6), 8) == alone->time(op, Bytes(1e6), 8));
}

TEST_CASE("collectives by level: 16 KB over two H100 nodes takes tens of microseconds") {
  // NCCL's own model says 26 us for 4 to 8 KB on such a cluster, and 75 us were measured where that was
  // complained of (NVIDIA/nccl issue 1453). Not calibrated: links as the catalog and the defaults have them.
  const LinkSpec nvlink = find_interconnect("nvlink4_switch");
  const Seconds time =
      make_collectives_by_level(nvlink, "nccl", levels(2, 8))->time(Collective::all_reduce, Bytes(16384), 16);
  CHECK(time > Seconds(26e-6));
  CHECK(time < Seconds(75e-6));
}

// 1 GB over four nodes of eight, 50 GB/s and 11 us between nodes, 400 GB/s and 2 us within: a ring of n takes
// n - 1 rounds of an n-th. Between nodes each device has an eighth of what all of its node have alike.
TEST_CASE("collectives by level: times and bytes of each kind by hand") {
  const double between = 3 * (1e9 / 8 / 4 / 50e9 + 11e-6), within = 7 * (1e9 / 8 / 400e9 + 2e-6);
  const double whole_between = 3 * (1e9 / 4 / 50e9 + 11e-6);
  const double sent_between = 3. / 4 * 1e9 / 8, sent_within = 7. / 8 * 1e9;
  const auto model = make_collectives_by_level(inside, "", levels(4, 8));
  const auto check = [&](Collective op, double seconds, double sent) {
    CAPTURE(static_cast<int>(op));
    CHECK(model->time(op, Bytes(1e9), 32).value() == Approx(seconds));
    CHECK(model->sent(op, Bytes(1e9), 32).value() == Approx(sent));
  };
  check(Collective::all_gather, between + within, sent_between + sent_within);
  check(Collective::reduce_scatter, between + within, sent_between + sent_within);
  check(Collective::all_reduce, 2 * (between + within), 2 * (sent_between + sent_within));
  check(Collective::all_to_all, whole_between + within, 8 * sent_between + sent_within);
  check(Collective::send_receive, 1e9 / 50e9 + 11e-6, 1e9);
}
