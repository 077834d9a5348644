// Where a runtime lets each operator run.
#include <catch2/catch.hpp>
#include <set>

#include "models/nn/net_catalog.h"
#include "models/nn/operations.h"
#include "policies/runtime/pair_work.h"
#include "test/policies/make_policy.h"
#include "test/policies/runtime/random_snapshot.h"

using namespace weir;
using namespace weir::test;

namespace {

using Place = OperatorPlace;

bool uses_only(Place place, Place rest, RuntimeUnits units) {
  switch (place) {
    case Place::cpu:
      return true;
    case Place::gpu:
      return units.gpu;
    case Place::programmable:
      return units.programmable;
    case Place::fixed_function:
      return units.fixed_function;
    default:
      return units.fixed_function &&
             (rest == Place::cpu || (rest == Place::programmable && units.programmable));
  }
}

}  // namespace

TEST_CASE("runtime: every policy has places for every operator, on units that it needs", "[runtime]") {
  for (const auto& entry : runtime_policies()) {
    const auto runtime = make_policy(runtime_policies(), entry.name);
    Dice dice(1);
    for (int round = 0; round < 500; ++round) {
      const TensorOperation op = random_operation(dice);
      for (const bool candidate : {false, true}) {
        INFO(entry.name << ", round " << round);
        const std::vector<Place> places = runtime->places(op, candidate);
        REQUIRE_FALSE(places.empty());
        for (const Place place : places)
          REQUIRE(uses_only(place, runtime->rest_of_split(), runtime->needs()));
        REQUIRE(std::set<Place>(places.begin(), places.end()).size() == places.size());
        REQUIRE(runtime->places(op, candidate) == places);
        if (!runtime->profiles()) REQUIRE(runtime->places(op, !candidate) == places);
      }
    }
  }
}

TEST_CASE("runtime: baselines never choose, profile or pipeline, and each has its places", "[runtime]") {
  Dice dice(3);
  for (int round = 0; round < 500; ++round) {
    const TensorOperation op = random_operation(dice);
    const auto only = [&](const char* kind) {
      const auto runtime = make_runtime({{"kind", kind}});
      CHECK_FALSE((runtime->profiles() || runtime->recursive_kernels() || runtime->operation_pipeline()));
      CHECK(runtime->candidates({{OperatorType::conv2d, 1, Seconds(1), 1}}).empty());
      const std::vector<Place> places = runtime->places(op, true);
      REQUIRE(places.size() == 1);
      return places.front();
    };
    REQUIRE(only("cpu_only") == Place::cpu);
    REQUIRE(only("gpu_only") == Place::gpu);
    REQUIRE(only("progr_pim") == Place::programmable);
    const PairsDo pairs = pairs_do(op);
    REQUIRE(only("fixed_pim") == (pairs == PairsDo::all    ? Place::fixed_function
                                  : pairs == PairsDo::most ? Place::split
                                                           : Place::cpu));
  }
  CHECK(make_runtime({{"kind", "fixed_pim"}})->rest_of_split() == Place::cpu);
}

TEST_CASE("runtime: with candidates the CPU has what is none, and pairs come before cores", "[runtime]") {
  const auto runtime = make_runtime({{"kind", "hetero_pim"}});
  CHECK(runtime->rest_of_split() == Place::programmable);
  for (const char* net : {"vgg19", "dcgan", "resnet50"}) {
    const TrainingGraph graph = build_training_graph(catalog_net(net));
    for (std::size_t v = 0; v < boost::num_vertices(graph.operators); ++v) {
      const TensorOperation op = operation_of(graph, v);
      INFO(graph.operators[v].name);
      CHECK(runtime->places(op, false) == std::vector<Place>{Place::cpu});
      const std::vector<Place> places = runtime->places(op, true);
      REQUIRE(places.size() == 2);
      CHECK(places.back() == Place::cpu);
      const PairsDo pairs = pairs_do(op);
      CHECK(places.front() == (pairs == PairsDo::all    ? Place::fixed_function
                               : pairs == PairsDo::most ? Place::split
                                                        : Place::programmable));
    }
  }
}
