#include "models/latency/collectives.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "models/latency/measured_collectives.h"

namespace weir {
namespace {

double rounds_of(Collective op, double ring, double half) {
  return op == Collective::all_reduce ? ring : op == Collective::send_receive ? 1 : half;
}

// Each rank sends this when nothing is sent twice: bandwidth-optimal algorithms.
double least_sent(Collective op, double bytes, double n) {
  return rounds_of(op, 2 * (n - 1) / n, (n - 1) / n) * bytes;
}

class PlainCollectives : public CollectiveModel {
 public:
  explicit PlainCollectives(LinkSpec links) : links_(std::move(links)) {}
  Seconds time(Collective op, Bytes bytes, int devices) const final {
    if (devices <= 1) return Seconds(0);
    if (links_.bandwidth <= BytesPerSecond(0)) return Seconds(std::numeric_limits<double>::infinity());
    const Seconds once = links_.latency_once ? links_.latency : Seconds(0);
    return once + Seconds(seconds(op, bytes.value(), devices));
  }
  Bytes sent(Collective op, Bytes bytes, int devices) const override {
    return Bytes(devices <= 1 ? 0 : least_sent(op, bytes.value(), devices));
  }

 protected:
  virtual double seconds(Collective op, double bytes, double n) const = 0;
  double latency() const { return links_.latency_once ? 0 : links_.latency.value(); }  // of a round
  double transfer(double bytes) const { return bytes / links_.bandwidth.value(); }
  LinkShape shape() const { return links_.shape; }
  // The share of the bandwidth that a group of n has on a full mesh of more devices.
  double share(double n) const { return links_.links > 0 ? std::min(1., (n - 1) / links_.links) : 1; }

 private:
  LinkSpec links_;
};

// Rounds of 1/n of the payload to the next device. In an all-to-all, round r sends to the r-th next device:
// on a wire ring it takes the shorter way round and shares each wire with the others under way.
class Ring final : public PlainCollectives {
  using PlainCollectives::PlainCollectives;
  double seconds(Collective op, double bytes, double n) const override {
    if (op == Collective::send_receive) return latency() + transfer(bytes);
    if (op != Collective::all_to_all || shape() != LinkShape::ring)
      return rounds_of(op, 2 * (n - 1), n - 1) * (latency() + transfer(bytes / n));
    double sum = 0;
    for (double round = 1; round < n; ++round)
      sum += std::min(round, n - round) * (latency() + transfer(bytes / n));
    return sum;
  }
};

// Everyone to everyone at once: a reduce-scatter, then an all-gather, a hop each.
class TwoShot final : public PlainCollectives {
  using PlainCollectives::PlainCollectives;
  double seconds(Collective op, double bytes, double n) const override {
    if (op == Collective::send_receive && shape() == LinkShape::full_mesh)
      return latency() + transfer(bytes * (n - 1)) / share(n);  // one of the n - 1 links
    return rounds_of(op, 2, 1) * latency() + transfer(least_sent(op, bytes, n)) / share(n);
  }
};

// An all-reduce in one hop: everyone sends everything to everyone. The others as in two shots.
class OneShot final : public PlainCollectives {
  using PlainCollectives::PlainCollectives;
  double seconds(Collective op, double bytes, double n) const override {
    return latency() + transfer(op == Collective::all_reduce ? (n - 1) * bytes : least_sent(op, bytes, n));
  }
  Bytes sent(Collective op, Bytes bytes, int devices) const override {
    return op == Collective::all_reduce ? (devices - 1) * bytes : PlainCollectives::sent(op, bytes, devices);
  }
};

// Up and down a binary tree, pipelined: the latency of its depth, twice the payload over an inner node's
// link.
class Tree final : public PlainCollectives {
  using PlainCollectives::PlainCollectives;
  double seconds(Collective op, double bytes, double n) const override {
    const double depth = std::ceil(std::log2(n));
    if (op == Collective::all_reduce) return 2 * depth * latency() + transfer(2 * bytes);
    return (op == Collective::send_receive ? 1 : depth) * latency() + transfer(least_sent(op, bytes, n));
  }
};

// A ring, or what the switch adds up by itself: everyone sends its payload once and gets the sum.
class InNetwork final : public CollectiveModel {
 public:
  explicit InNetwork(const LinkSpec& links) : links_(links), ring_(links) {}
  Seconds time(Collective op, Bytes bytes, int devices) const override {
    return adds_up(op, bytes, devices) ? in_switch(bytes) : ring_.time(op, bytes, devices);
  }
  Bytes sent(Collective op, Bytes bytes, int devices) const override {
    return adds_up(op, bytes, devices) ? bytes : ring_.sent(op, bytes, devices);
  }

 private:
  Seconds in_switch(Bytes bytes) const {
    return (links_.latency_once ? 1 : 2) * links_.latency + bytes / links_.in_network;
  }
  bool adds_up(Collective op, Bytes bytes, int devices) const {
    return op == Collective::all_reduce && devices > 1 && in_switch(bytes) < ring_.time(op, bytes, devices);
  }

  LinkSpec links_;
  Ring ring_;
};

std::shared_ptr<const CollectiveModel> plain(const LinkSpec& links) {
  if (links.shape == LinkShape::full_mesh) return std::make_shared<TwoShot>(links);
  return std::make_shared<Ring>(links);
}

class MeasuredCollectives final : public CollectiveModel {
 public:
  MeasuredCollectives(const LinkSpec& links, MeasuredLibrary library, bool own_kernels)
      : measured_(std::move(library)),
        own_kernels_(own_kernels),
        in_network_(links.in_network > BytesPerSecond(0)),
        plain_(plain(links)) {}

  Seconds time(Collective op, Bytes bytes, int devices) const override {
    if (devices <= 1) return Seconds(0);
    if (op == Collective::send_receive && measured_.send_receive)
      return Seconds((*measured_.send_receive)(bytes.value()));
    if (const ProtocolTimes* own = own_kernel(measured_.one_shot, op, bytes, devices))
      return Seconds((*own)(bytes.value()));
    if (const ProtocolTimes* own = own_kernel(measured_.two_shot, op, bytes, devices))
      return Seconds((*own)(bytes.value()));
    const auto* times = measured_.of(op);
    if (!times) return plain_->time(op, bytes, devices);
    // ESTIMATE: what a switch adds up takes as long for more devices as for the most that were measured.
    const bool adds_up = in_network_ && op == Collective::all_reduce;
    const int counted = adds_up ? std::min(devices, times->back().devices) : devices;
    return Seconds(interpolated(*times, bytes.value(), counted));
  }
  Bytes sent(Collective op, Bytes bytes, int devices) const override {
    return own_kernel(measured_.one_shot, op, bytes, devices) ? (devices - 1) * bytes
                                                              : plain_->sent(op, bytes, devices);
  }

 private:
  // Engines have their own all-reduce for 2, 4, 6 and 8 devices; used here where it was measured.
  const ProtocolTimes* own_kernel(const std::vector<ProtocolTimes>& kernels, Collective op, Bytes bytes,
                                  int devices) const {
    if (!own_kernels_ || op != Collective::all_reduce) return nullptr;
    for (const ProtocolTimes& k : kernels)
      if (k.devices == devices && bytes.value() < k.below_bytes) return &k;
    return nullptr;
  }

  MeasuredLibrary measured_;
  bool own_kernels_, in_network_;
  std::shared_ptr<const CollectiveModel> plain_;
};

// A library that knows the switch adds up in it wherever no measurement says otherwise.
std::shared_ptr<const CollectiveModel> of_library(const LinkSpec& links) {
  if (links.in_network > BytesPerSecond(0)) return std::make_shared<InNetwork>(links);
  return plain(links);
}

}  // namespace

// Everyone sends a part to everyone at once; or in round r each to the r-th next device (all-to-all), or each
// to the next (the others).
std::vector<std::vector<Message>> plain_rounds(Collective op, Bytes bytes, int n, LinkShape shape) {
  if (n <= 1) return {};
  if (op == Collective::send_receive) return {{{0, 1, bytes}}};
  const Bytes part = bytes / n;
  const int phases = op == Collective::all_reduce ? 2 : 1;  // a reduce-scatter, then an all-gather
  std::vector<std::vector<Message>> rounds;
  for (int phase = 0; phase < phases; ++phase) {
    if (shape == LinkShape::full_mesh) rounds.emplace_back();
    for (int round = 1; round < n; ++round) {
      if (shape != LinkShape::full_mesh) rounds.emplace_back();
      const bool far = op == Collective::all_to_all || shape == LinkShape::full_mesh;
      for (int rank = 0; rank < n; ++rank)
        rounds.back().push_back({rank, (rank + (far ? round : 1)) % n, part});
    }
  }
  return rounds;
}

std::shared_ptr<const CollectiveModel> make_collectives(const LinkSpec& links, const std::string& library) {
  if (library == "tree") return std::make_shared<Tree>(links);
  if (library == "one_shot") return std::make_shared<OneShot>(links);
  if (library == "two_shot") return std::make_shared<TwoShot>(links);
  if (library != "" && library != "nccl" && library != "vllm" && library != "trtllm" && library != "sglang")
    throw std::out_of_range("no collective library " + library);
  if (library.empty()) return plain(links);
  if (!links.measured) return of_library(links);
  return std::make_shared<MeasuredCollectives>(links, links.measured->under(library), library != "nccl");
}

}  // namespace weir
