// The vaults of the stack slow streams, and patches that are gathered and written.
#include "devices/hetero_pim/stack_streams.h"

#include <catch2/catch.hpp>

#include "sim/studies/validation/kernels.h"
#include "test/devices/tensor_operations.h"

namespace weir::test {
namespace {

const VaultStreams& one_vault() {
  return *VaultStreams::shared(find_memory("hmc2_vault"));
}

const StackStreams& stack_of_32() {
  static const StackStreams streams(find_memory("hmc2_vault"), 32);
  return streams;
}

// The window is side x side, over a map so wide; in 32 vaults a second's worth of one vault's peak each.
TensorOperation gathered(std::int64_t side, std::int64_t map_width, std::int64_t channels,
                         std::int64_t stride = 1) {
  TensorOperation operation;
  operation.patches = {32 * 10e9 / 4, side, side, stride, map_width, channels};
  return operation;
}

}  // namespace

TEST_CASE("stack streams: between the mixes that are played times are on a line, 3 % from a play") {
  for (const double writes : {0., 0.05, 0.1, 0.15, 0.2, 0.25, 1. / 3, 0.4, 0.5, 2. / 3, 0.75, 0.9, 1.}) {
    INFO(writes);
    const Seconds time = stack_of_32().time(Bytes((1 - writes) * 32e9), Bytes(writes * 32e9));
    CHECK(time.value() == Approx(1e9 / one_vault().mixed(writes).value()).epsilon(0.03));
  }
  CHECK(stack_of_32().time(Bytes(0), Bytes(0)) == Seconds(0));
  CHECK(stack_of_32().reads() == 32 * one_vault().reads());
}

TEST_CASE("stack streams: patches take the gather of their shape and the writes") {
  const PatchGather first{.run_bytes = 36, .stride_bytes = 2688, .runs = 3, .step_bytes = 12};
  const double writes = 10e9 / one_vault().writes().value();
  CHECK(stack_of_32().patches(gathered(3, 224, 3), Seconds(0)).value() ==
        Approx(10e9 / one_vault().gathers(first).value() + writes));
  // Half of the blocks that a run of 36 B needs lie over a border, at most.
  CHECK(one_vault().gathers(first) < 0.4 * one_vault().vault().peak());
  CHECK(stack_of_32().patches(gathered(3, 56, 256), Seconds(0)).value() ==
        Approx(10e9 / one_vault().reads().value() + writes).epsilon(0.01));
}

TEST_CASE("stack streams: what is not played because it cannot bind changes no time") {
  Dice dice(41);
  for (int i = 0; i < 60; ++i) {
    const TensorOperation operation =
        gathered(2 * dice(0, 5) + 1, 14 << dice(0, 2), std::int64_t{1} << 2 * dice(0, 4), dice(1, 2));
    const Seconds all = stack_of_32().patches(operation, Seconds(0));
    for (const double part : {0.5, 0.99, 1.01, 2., 20.})
      CHECK(std::max(part * all, stack_of_32().patches(operation, part * all)) == std::max(part * all, all));
    CHECK(stack_of_32().patches(operation, 1000 * all) == Seconds(0));
  }
}

TEST_CASE("stack streams: a window beyond its map, patches beyond a vault and unknown ones can be asked") {
  const double streams = 10e9 / one_vault().reads().value() + 10e9 / one_vault().writes().value();
  for (const TensorOperation& operation :
       {gathered(7, 3, 64), gathered(1, 1, 1), gathered(3, 1 << 30, 1 << 20), gathered(3, 0, 0)}) {
    const Seconds time = stack_of_32().patches(operation, Seconds(0));
    CHECK(time.value() >= streams * 0.99);
    CHECK(std::isfinite(time.value()));
  }
  CHECK(stack_of_32().patches(gathered(3, 1 << 30, 1 << 20), Seconds(0)).value() == Approx(streams));
  CHECK(stack_of_32().patches({}, Seconds(0)) == Seconds(0));
}

// Four cores move 16 GB/s each way; what vaults give of gathers is more, even of runs of 20 B.
TEST_CASE("stack streams: four ARM cores move patches slower than the vaults give them, 32 need not") {
  const auto binding = [](int cores, const char* net) {
    const auto stack = catalog_device("hetero_pim", {{"arm_cores", cores}, {"pairs_per_arm_core", 3.4}});
    const TrainingGraph graph = build_training_graph(catalog_net(net));
    std::vector<std::string> bound;
    for (std::size_t v = 0; v < boost::num_vertices(graph.operators); ++v) {
      const TensorOperation rest = split(operation_of(graph, v)).rest;
      if (!(rest.patches.elements > 0)) continue;
      const KernelCost cost = priced(*stack, rest, 1);
      if (cost.traffic > cost.compute) bound.push_back(graph.operators[v].name);
    }
    return bound;
  };
  for (const char* net : {"vgg19", "alexnet", "dcgan", "resnet50", "inception3"}) {
    INFO(net);
    CHECK(binding(4, net).empty());
  }
  CHECK(binding(32, "vgg19") == std::vector<std::string>{"gradients/conv1_1/Conv2DBackpropFilter"});
}

TEST_CASE("stack streams by hand: a sixth of writes is a mean of two plays, and a played share is itself") {
  const auto time = [](double share) {
    return stack_of_32().time(Bytes((1 - share) * 32e9), Bytes(share * 32e9)).value();
  };
  const auto played = [](double share) { return 1e9 / one_vault().mixed(share).value(); };
  for (const double share : {0.25, 0.5, 1.}) CHECK(time(share) == Approx(played(share)));
  CHECK(time(0.15) == Approx(2 / 3. * played(0.1) + 1 / 3. * played(0.25)));
  CHECK(time(0.025) == Approx(0.75 * played(0) + 0.25 * played(0.1)));
  CHECK(time(0.875) == Approx(0.25 * played(0.5) + 0.75 * played(1)));
}

TEST_CASE("stack streams by hand: patches apart by their stride, with rows of the map between their runs") {
  TensorOperation operation;  // a window of 2 x 5 over a map of 21 points of 6 numbers, three apart
  operation.patches = {32 * 2.5e9, 2, 5, 3, 21, 6};
  const PatchGather shape{.run_bytes = 120, .stride_bytes = 504, .runs = 2, .step_bytes = 72};
  CHECK(stack_of_32().patches(operation, Seconds(0)).value() ==
        Approx(10e9 / one_vault().gathers(shape).value() + 10e9 / one_vault().writes().value()));
}

}  // namespace weir::test
