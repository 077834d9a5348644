// Collectives worked out by hand over numbers of devices that are no power of two, plain and measured.
#include <catch2/catch.hpp>
#include <cmath>

#include "models/latency/collectives.h"
#include "models/latency/measured_collectives.h"

namespace weir::test::collectives_by_hand {

namespace {

// 100 GB/s and 2 us: 6 MB are 60 us.
LinkSpec links_of(LinkShape shape) {
  return {"custom", shape, BytesPerSecond(100e9), Seconds(2e-6)};
}

double microseconds(const CollectiveModel& model, Collective op, double bytes, int devices) {
  return 1e6 * model.time(op, Bytes(bytes), devices).value();
}

}  // namespace

TEST_CASE("collectives by hand: a tree over six has a depth of three, up and down for an all-reduce") {
  const auto tree = make_collectives(links_of(LinkShape::switched), "tree");
  CHECK(microseconds(*tree, Collective::all_reduce, 6e6, 6) == Approx(6 * 2 + 120));
  CHECK(microseconds(*tree, Collective::all_gather, 6e6, 6) == Approx(3 * 2 + 50));
  CHECK(microseconds(*tree, Collective::reduce_scatter, 6e6, 6) == Approx(3 * 2 + 50));
  CHECK(microseconds(*tree, Collective::all_to_all, 6e6, 6) == Approx(3 * 2 + 50));
  CHECK(microseconds(*tree, Collective::send_receive, 6e6, 6) == Approx(2 + 60));
  CHECK(tree->sent(Collective::all_reduce, Bytes(6e6), 6).value() == Approx(10e6));
  CHECK(tree->sent(Collective::send_receive, Bytes(6e6), 6).value() == Approx(6e6));
}

TEST_CASE("collectives by hand: one shot sends all to everyone, and the others as two shots do") {
  const auto one = make_collectives(links_of(LinkShape::switched), "one_shot"),
             two = make_collectives(links_of(LinkShape::switched), "two_shot");
  CHECK(microseconds(*one, Collective::all_reduce, 6e6, 6) == Approx(2 + 300));
  CHECK(microseconds(*two, Collective::all_reduce, 6e6, 6) == Approx(2 * 2 + 100));
  for (const auto* model : {one.get(), two.get()}) {
    for (const Collective op : {Collective::all_gather, Collective::reduce_scatter, Collective::all_to_all}) {
      CHECK(microseconds(*model, op, 6e6, 6) == Approx(2 + 50));
      CHECK(model->sent(op, Bytes(6e6), 6).value() == Approx(5e6));
    }
    CHECK(microseconds(*model, Collective::send_receive, 6e6, 6) == Approx(2 + 60));
  }
  CHECK(one->sent(Collective::all_reduce, Bytes(6e6), 6) == Bytes(30e6));
  CHECK(two->sent(Collective::all_reduce, Bytes(6e6), 6).value() == Approx(10e6));
}

TEST_CASE("collectives by hand: on wires in a ring a block takes the shorter way round") {
  const auto ring = make_collectives(links_of(LinkShape::ring), "");
  // Five devices: 1, 2, 2 and 1 wires, a fifth of 6 MB each time.
  CHECK(microseconds(*ring, Collective::all_to_all, 6e6, 5) == Approx(6 * (2 + 12)));
  CHECK(microseconds(*ring, Collective::send_receive, 6e6, 5) == Approx(2 + 60));
  CHECK(ring->sent(Collective::send_receive, Bytes(6e6), 5).value() == Approx(6e6));
  const auto switched = make_collectives(links_of(LinkShape::switched), "");
  CHECK(microseconds(*switched, Collective::all_to_all, 6e6, 5) == Approx(4 * (2 + 12)));
  CHECK(microseconds(*switched, Collective::send_receive, 6e6, 5) == Approx(2 + 60));
}

TEST_CASE("collectives by hand: between two of a full mesh one link of the others' share carries all") {
  LinkSpec mesh = links_of(LinkShape::full_mesh);
  CHECK(microseconds(*make_collectives(mesh, ""), Collective::send_receive, 6e6, 4) == Approx(2 + 180));
  mesh.links = 6;  // 100 GB/s are six links: four devices have half of them
  CHECK(microseconds(*make_collectives(mesh, ""), Collective::send_receive, 6e6, 4) == Approx(2 + 360));
  CHECK(microseconds(*make_collectives(mesh, ""), Collective::all_reduce, 6e6, 4) == Approx(4 + 2 * 45 * 2));
  // More devices than links have all of the bandwidth, and no more.
  CHECK(microseconds(*make_collectives(mesh, ""), Collective::all_gather, 6e6, 10) == Approx(2 + 54));
}

TEST_CASE("collectives by hand: a sum in the switch takes its latency there and back, or once") {
  LinkSpec links = links_of(LinkShape::switched);
  links.in_network = BytesPerSecond(80e9);
  const auto sum = [&] {
    return microseconds(*make_collectives(links, "nccl"), Collective::all_reduce, 6e6, 6);
  };
  CHECK(sum() == Approx(2 * 2 + 75));
  links.latency_once = true;
  CHECK(sum() == Approx(2 + 75));
  // A ring of six takes 100 us and 2: what a slower switch adds up goes round.
  links.in_network = BytesPerSecond(50e9);
  CHECK(sum() == Approx(2 + 100));
  CHECK(make_collectives(links, "nccl")->sent(Collective::all_reduce, Bytes(6e6), 6).value() == Approx(10e6));
  // Plain algorithms know of no switch.
  links.in_network = BytesPerSecond(80e9);
  CHECK(microseconds(*make_collectives(links, ""), Collective::all_reduce, 6e6, 6) == Approx(2 + 100));
}

TEST_CASE(
    "plain rounds: a ring hands on to the next, an all-to-all to the r-th next, a mesh to all at once") {
  using Ends = std::vector<std::pair<int, int>>;
  const auto ends = [](const std::vector<Message>& round) {
    Ends all;
    for (const Message& m : round) {
      all.emplace_back(m.from, m.to);
      CHECK(m.bytes == Bytes(2e6));
    }
    return all;
  };
  const Ends next = {{0, 1}, {1, 2}, {2, 0}}, second = {{0, 2}, {1, 0}, {2, 1}};
  const auto gather = plain_rounds(Collective::all_gather, Bytes(6e6), 3, LinkShape::switched);
  REQUIRE(gather.size() == 2);
  CHECK((ends(gather[0]) == next && ends(gather[1]) == next));
  const auto reduce = plain_rounds(Collective::all_reduce, Bytes(6e6), 3, LinkShape::ring);
  REQUIRE(reduce.size() == 4);
  CHECK(ends(reduce[3]) == next);
  const auto all = plain_rounds(Collective::all_to_all, Bytes(6e6), 3, LinkShape::ring);
  REQUIRE(all.size() == 2);
  CHECK((ends(all[0]) == next && ends(all[1]) == second));
  const auto mesh = plain_rounds(Collective::reduce_scatter, Bytes(6e6), 3, LinkShape::full_mesh);
  REQUIRE(mesh.size() == 1);
  CHECK(ends(mesh[0]) == Ends{{0, 1}, {1, 2}, {2, 0}, {0, 2}, {1, 0}, {2, 1}});
  CHECK(plain_rounds(Collective::all_reduce, Bytes(6e6), 3, LinkShape::full_mesh).size() == 2);
  const auto sent = plain_rounds(Collective::send_receive, Bytes(2e6), 3, LinkShape::full_mesh);
  REQUIRE(sent.size() == 1);
  CHECK(ends(sent[0]) == Ends{{0, 1}});
  CHECK(plain_rounds(Collective::all_reduce, Bytes(6e6), 1, LinkShape::ring).empty());
}

namespace {

// Two protocols: 3 us and 1 us a MB, or 9 us and 0.25 us a MB; they cross at 8 MB.
ProtocolTimes two_protocols(int devices, double times = 1) {
  return {.devices = devices,
          .alpha = {times * 3e-6, times * 9e-6},
          .seconds_per_byte = {times * 1e-12, times * 0.25e-12}};
}

ProtocolTimes own_kernel(int devices, double microseconds, const char* library, double below) {
  ProtocolTimes times{.devices = devices, .alpha = {1e-6 * microseconds}, .seconds_per_byte = {1e-15}};
  times.library = library;
  times.below_bytes = below;
  return times;
}

}  // namespace

TEST_CASE("measured collectives by hand: the faster protocol, between two numbers of devices by their way") {
  const std::vector<ProtocolTimes> measured = {two_protocols(2), two_protocols(8, 4)};
  const auto us = [&](double mb, int devices) { return 1e6 * interpolated(measured, 1e6 * mb, devices); };
  CHECK(us(4, 2) == Approx(3 + 4));
  CHECK(us(16, 2) == Approx(9 + 4));
  CHECK(us(4, 8) == Approx(4 * 7));
  CHECK(us(4, 4) == Approx(7 + 2. / 6 * 21));
  CHECK(us(4, 7) == Approx(7 + 5. / 6 * 21));
  // Beyond: the start as n - 1, 15 of 7, and the bytes as (n - 1) / n, 15 / 16 of 7 / 8.
  CHECK(us(4, 16) == Approx(4 * 3 * 15 / 7. + 4 * 4 * (15 / 16.) / (7 / 8.)));
  const std::vector<ProtocolTimes> from_four = {two_protocols(4), two_protocols(8)};
  CHECK(1e6 * interpolated(from_four, 4e6, 2) == Approx(3 * 1 / 3. + 4 * (1 / 2.) / (3 / 4.)));
}

TEST_CASE("measured collectives by hand: an engine's own kernels for its sizes and its numbers of devices") {
  LinkSpec links = links_of(LinkShape::switched);
  MeasuredLibrary library;
  library.all_reduce = {two_protocols(2), two_protocols(8, 4)};
  library.one_shot = {own_kernel(4, 1, "vllm", 1000), own_kernel(8, 2, "vllm", 1000),
                      own_kernel(8, 5, "trtllm", 500)};
  library.two_shot = {own_kernel(8, 4, "vllm", 4000)};
  library.send_receive = own_kernel(0, 6, "", 0);
  links.measured = std::make_shared<const MeasuredLibrary>(library);
  const auto us = [&](const char* engine, double bytes, int devices, Collective op = Collective::all_reduce) {
    return std::round(microseconds(*make_collectives(links, engine), op, bytes, devices));
  };
  CHECK(us("vllm", 999, 4) == 1);
  CHECK(us("vllm", 999, 8) == 2);
  CHECK(us("vllm", 1000, 8) == 4);   // two shots up to 4,000 B
  CHECK(us("vllm", 4000, 8) == 12);  // NCCL's
  CHECK(us("vllm", 999, 2) == 3);
  CHECK(us("trtllm", 499, 8) == 5);
  CHECK(us("trtllm", 500, 8) == 12);
  CHECK(us("sglang", 999, 8) == 2);  // vLLM's, as none were measured of its own
  CHECK(us("nccl", 10, 8) == 12);
  CHECK(us("nccl", 10, 3, Collective::send_receive) == 6);
  CHECK(us("vllm", 10, 1) == 0);
  const auto vllm = make_collectives(links, "vllm");
  CHECK(vllm->sent(Collective::all_reduce, Bytes(999), 8) == Bytes(7 * 999));
  CHECK(vllm->sent(Collective::all_reduce, Bytes(1000), 8).value() == Approx(2 * 7 / 8. * 1000));
  CHECK(vllm->sent(Collective::all_gather, Bytes(800), 8).value() == Approx(700));
  // Without a measurement it is a plain ring: 7 rounds of 2 us, and 7/8 of 8 MB.
  CHECK(us("vllm", 8e6, 8, Collective::all_gather) == 14 + 70);
  // A switch that adds up takes as long for 16 as for 8.
  CHECK(us("nccl", 10, 16) == std::round(12 * 15 / 7.));
  links.in_network = BytesPerSecond(1e9);
  CHECK(us("nccl", 10, 16) == 12);
}

}  // namespace weir::test::collectives_by_hand
