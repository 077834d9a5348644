#include "models/latency/collectives.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>

#include "sim/core/embedded.h"
#include "sim/core/params.h"

using namespace weir;

namespace weir {
extern const EmbeddedFiles interconnect_catalog;
}

namespace {

const std::vector<Collective> all_kinds = {Collective::all_reduce, Collective::all_gather,
                                           Collective::reduce_scatter, Collective::all_to_all,
                                           Collective::send_receive};
const std::vector<std::string> libraries = {"",       "nccl", "vllm",     "trtllm",
                                            "sglang", "tree", "one_shot", "two_shot"};

LinkSpec custom(LinkShape shape) {
  return {"custom", shape, BytesPerSecond(100e9), Seconds(2e-6)};
}

// Plays a ring round by round: every rank sends a block to the next one, and the round ends when it has
// arrived.
double played_ring(int rounds, double block, const LinkSpec& links) {
  double clock = 0;
  for (int round = 0; round < rounds; ++round)
    clock += links.latency.value() + block / links.bandwidth.value();
  return clock;
}

}  // namespace

TEST_CASE("collectives: more bytes are never faster, and nothing beats the links") {
  for (const std::string& name : interconnect_names()) {
    if (name == "none") continue;
    const LinkSpec links = find_interconnect(name);
    for (const std::string& library : libraries) {
      const auto model = make_collectives(links, library);
      for (const Collective kind : all_kinds)
        for (const int devices : {2, 3, 4, 6, 8, 16}) {
          INFO(name << " " << library << " " << static_cast<int>(kind) << " over " << devices);
          Seconds before(0);
          for (double bytes = 64; bytes < 1e9; bytes *= 1.7) {
            const Seconds time = model->time(kind, Bytes(bytes), devices);
            // A library that changes to another kernel at a size may gain at that size: vLLM's on 8 B200 from
            // 26 us below 1 MiB to 17 (measured).
            REQUIRE(time >= (name == "nvlink5_switch" ? 0.62 : 0.9) * before);
            REQUIRE(time > Seconds(0));
            before = time;
          }
        }
    }
  }
}

TEST_CASE("collectives: one device has nothing to do, and no links take for ever") {
  const auto none = make_collectives(find_interconnect("none"), "vllm");
  for (const Collective kind : all_kinds) {
    CHECK(none->time(kind, Bytes(1e6), 1) == Seconds(0));
    CHECK(none->sent(kind, Bytes(1e6), 1) == Bytes(0));
    CHECK(none->time(kind, Bytes(1e6), 2).value() == std::numeric_limits<double>::infinity());
  }
  CHECK_THROWS_AS(make_collectives(LinkSpec{}, "gloo"), std::out_of_range);
}

TEST_CASE("collectives: a plain ring is the rounds it is made of") {
  for (const LinkShape shape : {LinkShape::switched, LinkShape::ring}) {
    const LinkSpec links = custom(shape);
    const auto ring = make_collectives(links, "");
    for (const int n : {2, 3, 8}) {
      const double bytes = 3e6;
      CHECK(ring->time(Collective::all_reduce, Bytes(bytes), n).value() ==
            Approx(played_ring(2 * (n - 1), bytes / n, links)));
      CHECK(ring->time(Collective::all_gather, Bytes(bytes), n).value() ==
            Approx(played_ring(n - 1, bytes / n, links)));
      CHECK(ring->time(Collective::all_reduce, Bytes(bytes), n) ==
            ring->time(Collective::all_gather, Bytes(bytes), n) +
                ring->time(Collective::reduce_scatter, Bytes(bytes), n));
      CHECK(ring->sent(Collective::all_reduce, Bytes(bytes), n).value() == Approx(2. * (n - 1) / n * bytes));
      CHECK(ring->sent(Collective::all_to_all, Bytes(bytes), n).value() == Approx((n - 1.) / n * bytes));
    }
  }
  // On a wire ring of 4, the blocks for the device across share wires: 1 + 2 + 1 blocks a wire instead of 3.
  const auto switched = make_collectives(custom(LinkShape::switched), ""),
             wired = make_collectives(custom(LinkShape::ring), "");
  CHECK(wired->time(Collective::all_to_all, Bytes(4e6), 4) /
            switched->time(Collective::all_to_all, Bytes(4e6), 4) ==
        Approx(4. / 3));
}

TEST_CASE("collectives: a full mesh sends to everyone at once") {
  const LinkSpec mesh = custom(LinkShape::full_mesh);
  const auto plain = make_collectives(mesh, "");
  CHECK(plain->time(Collective::all_reduce, Bytes(8e6), 8).value() ==
        Approx(2 * 2e-6 + 2 * 7. / 8 * 8e6 / 100e9));
  CHECK(plain->time(Collective::all_gather, Bytes(8e6), 8).value() == Approx(2e-6 + 7. / 8 * 8e6 / 100e9));
}

TEST_CASE("collectives: a latency paid once is paid once, whatever the algorithm and the devices") {
  LinkSpec ring{"custom", LinkShape::ring, BytesPerSecond(25e9), Seconds(25e-6), true};
  const auto model = make_collectives(ring, "nccl");
  // PRESERVE, Table 2: 25 us, 200 Gbit/s.
  for (const int n : {2, 3, 8, 32, 128, 1000})
    CHECK(model->time(Collective::all_reduce, Bytes(1e6), n).value() ==
          Approx(25e-6 + 2 * (n - 1.) / n * 1e6 / 25e9));
  CHECK(model->time(Collective::all_reduce, Bytes(1e6), 1) == Seconds(0));
  for (const LinkShape shape : {LinkShape::switched, LinkShape::ring, LinkShape::full_mesh})
    for (const char* library : {"", "tree", "one_shot", "two_shot"})
      for (const Collective op : all_kinds)
        for (const int n : {2, 5, 8}) {
          CAPTURE(static_cast<int>(shape), library, static_cast<int>(op), n);
          LinkSpec links = custom(shape);
          const double every = make_collectives(links, library)->time(op, Bytes(1e6), n).value();
          links.latency_once = true;
          const double once = make_collectives(links, library)->time(op, Bytes(1e6), n).value();
          CHECK(make_collectives(links, library)->sent(op, Bytes(1e6), n) ==
                make_collectives(custom(shape), library)->sent(op, Bytes(1e6), n));
          links.latency = Seconds(0);
          const double none = make_collectives(links, library)->time(op, Bytes(1e6), n).value();
          CHECK(once == Approx(none + 2e-6));
          CHECK(once <= every * (1 + 1e-12));
        }
}

TEST_CASE("collectives: one shot wins small messages, two shots large ones, a tree many devices") {
  const LinkSpec links = custom(LinkShape::switched);
  const auto ring = make_collectives(links, ""), one = make_collectives(links, "one_shot"),
             two = make_collectives(links, "two_shot"), tree = make_collectives(links, "tree");
  const auto time = [](const auto& model, double bytes, int n) {
    return model->time(Collective::all_reduce, Bytes(bytes), n);
  };
  CHECK(time(one, 1e4, 8) < time(two, 1e4, 8));
  CHECK(time(two, 1e7, 8) < time(one, 1e7, 8));
  CHECK(time(tree, 1e4, 64) < time(ring, 1e4, 64));
  CHECK(time(ring, 1e9, 64) < time(tree, 1e9, 64));
  CHECK(one->sent(Collective::all_reduce, Bytes(1e6), 8) == Bytes(7e6));
}

TEST_CASE("collectives: vLLM's own kernels below its size limit, NCCL above") {
  const LinkSpec links = find_interconnect("nvlink4_switch");
  const auto vllm = make_collectives(links, "vllm"), nccl = make_collectives(links, "nccl");
  const double limit = 8 * 1048576;  // of 2 devices
  CHECK(vllm->time(Collective::all_reduce, Bytes(65536), 8) <
        0.5 * nccl->time(Collective::all_reduce, Bytes(65536), 8));
  CHECK(vllm->time(Collective::all_reduce, Bytes(limit - 1), 2) <
        nccl->time(Collective::all_reduce, Bytes(limit - 1), 2));
  CHECK(vllm->time(Collective::all_reduce, Bytes(limit), 2) ==
        nccl->time(Collective::all_reduce, Bytes(limit), 2));
  CHECK(vllm->time(Collective::all_gather, Bytes(65536), 4) ==
        nccl->time(Collective::all_gather, Bytes(65536), 4));
  CHECK(vllm->sent(Collective::all_reduce, Bytes(65536), 8) == Bytes(7 * 65536));
}

TEST_CASE("collectives: an engine has its own kernels, or vLLM's where its own were not measured") {
  const auto time = [](const std::string& links, const std::string& library, double mib, int devices) {
    return make_collectives(find_interconnect(links), library)
        ->time(Collective::all_reduce, Bytes(mib * 1048576), devices);
  };
  for (const std::string links : {"nvlink4_switch", "nvlink5_switch"}) {
    CHECK(time(links, "trtllm", 0.015, 8) < 0.9 * time(links, "vllm", 0.015, 8));
    CHECK(time(links, "trtllm", 4, 8) > 1.15 * time(links, "vllm", 4, 8));
    for (const std::string library : {"vllm", "trtllm", "sglang"})  // NCCL's from 16 MiB on
      CHECK(time(links, library, 16, 8) == time(links, "nccl", 16, 8));
  }
  CHECK(time("nvlink3_switch", "trtllm", 1, 4) == time("nvlink3_switch", "vllm", 1, 4));
  CHECK(time("nvlink4_switch", "vllm", 8, 8) == time("nvlink4_switch", "nccl", 8, 8));
}

TEST_CASE("collectives: between measured numbers of devices, times lie between theirs") {
  for (const std::string name : {"nvlink3_switch", "nvlink4_switch", "pcie5_x16"}) {
    const auto nccl = make_collectives(find_interconnect(name), "nccl");
    for (double bytes = 1e3; bytes < 1e9; bytes *= 10) {
      const auto time = [&](int n) { return nccl->time(Collective::all_reduce, Bytes(bytes), n); };
      CHECK(time(3) >= std::min(time(2), time(4)));
      CHECK(time(3) <= std::max(time(2), time(4)));
      // A switch that adds up takes as long for any number.
      CHECK((find_interconnect(name).in_network > BytesPerSecond(0) ? time(16) == time(8)
                                                                    : time(16) > time(8)));
    }
  }
}

TEST_CASE("interconnects: every number has a source") {
  for (const auto& [name, text] : interconnect_catalog) {
    const Json json = parse_json(std::string(text), std::string(name));
    INFO(name);
    CHECK(interconnect_summary(std::string(name)).size() > 5);
    for (const auto& [key, value] : json.items()) {
      if (key == "title" || key == "shape" || key == "sources" || key == "errors") continue;
      if (value.is_structured() && value.empty()) continue;
      INFO(key);
      REQUIRE(json["sources"].contains(key));
      CHECK(json["sources"][key].get<std::string>().size() > 3);
    }
  }
}

TEST_CASE("collectives: on a mesh of more devices a group has the links between its own ones alone") {
  LinkSpec mesh = custom(LinkShape::full_mesh);
  const auto time = [&](Collective op, int devices) {
    return make_collectives(mesh, "")->time(op, Bytes(1e9), devices) -
           make_collectives(mesh, "")->time(op, Bytes(0), devices);
  };
  for (const Collective op : {Collective::all_reduce, Collective::all_gather, Collective::all_to_all}) {
    mesh.links = 0;
    std::map<int, Seconds> whole;
    for (const int devices : {2, 4, 8}) whole[devices] = time(op, devices);
    mesh.links = 7;
    for (const int devices : {2, 4, 8})
      CHECK(time(op, devices) / whole[devices] == Approx(7. / (devices - 1)));
  }
  mesh.links = 7;
  CHECK(time(Collective::send_receive, 2).value() == Approx(time(Collective::send_receive, 8).value()));
  CHECK(find_interconnect("infinity_fabric_mesh").links == 7);
}

// nccl-tests on 8 H100: 480 GB/s of bus bandwidth with NVLink SHARP, 360 without.
TEST_CASE("collectives: a switch that adds up takes a payload once, whatever the number of devices") {
  LinkSpec links = custom(LinkShape::switched);
  links.bandwidth = BytesPerSecond(360e9);
  links.in_network = BytesPerSecond(480e9 / 1.75);
  for (const char* library : {"nccl", "vllm", "trtllm", "sglang"}) {
    const auto model = make_collectives(links, library);
    const double eight = model->time(Collective::all_reduce, Bytes(1e9), 8).value();
    CHECK(1e9 * 1.75 / (eight - 4e-6) == Approx(480e9));
    CHECK(model->time(Collective::all_reduce, Bytes(1e9), 72).value() == Approx(eight));
    CHECK(model->sent(Collective::all_reduce, Bytes(1e9), 8) == Bytes(1e9));
    // Between two a ring sends as little and has all of the link.
    const auto ring = make_collectives(links, "");
    CHECK(model->time(Collective::all_reduce, Bytes(1e9), 2) ==
          ring->time(Collective::all_reduce, Bytes(1e9), 2));
    for (const Collective other :
         {Collective::all_gather, Collective::reduce_scatter, Collective::all_to_all})
      CHECK(model->time(other, Bytes(1e9), 8) == ring->time(other, Bytes(1e9), 8));
    CHECK(1e9 * 1.75 / (ring->time(Collective::all_reduce, Bytes(1e9), 8).value() - 14 * 2e-6) ==
          Approx(360e9));
  }
}

TEST_CASE("collectives: measured NVLink switches reach what they add up, also for more than were measured") {
  for (const auto& [name, bus] : {std::pair("nvlink4_switch", 480e9), std::pair("nvlink5_switch", 722e9)}) {
    const LinkSpec links = find_interconnect(name);
    CHECK(links.in_network.value() * 1.75 == Approx(bus).epsilon(0.002));
    const auto nccl = make_collectives(links, "nccl");
    const double eight = nccl->time(Collective::all_reduce, Bytes(1e9), 8).value();
    CHECK(1e9 * 1.75 / eight == Approx(bus).epsilon(0.12));
    CHECK(nccl->time(Collective::all_reduce, Bytes(1e9), 16).value() == Approx(eight));
  }
}
