#include <catch2/catch.hpp>

#include "policies/partitioning/partitioning.h"
#include "policies/prefetch/prefetch.h"
#include "test/models/llm/parts.h"
#include "test/policies/make_policy.h"
#include "test/policies/units.h"

using namespace weir;
using test::make_policy;

namespace {

Operator op(Kernel kernel) {
  return {.name = "op", .kernel = kernel, .unit = 7};  // rubbish, to be overwritten
}

OperatorGraph every_kind() {
  OperatorGraph graph;
  for (const Kernel& kernel :
       {Kernel(Gemm()), Kernel(Communication{.collective = Collective::all_reduce, .per_row = {}}),
        Kernel(GroupedGemm()), Kernel(Communication{.collective = Collective::all_to_all, .per_row = {}}),
        Kernel(Attention()), Kernel(Communication{.collective = Collective::all_gather, .per_row = {}}),
        Kernel(Elementwise())}) {
    const auto vertex = boost::add_vertex(op(kernel), graph);
    if (vertex > 0) boost::add_edge(vertex - 1, vertex, graph);
  }
  return graph;
}

}  // namespace

TEST_CASE("device_only: kernels run on the device's first unit, collectives on its link", "[partitioning]") {
  const std::vector<Unit> units = test::units({"gpu", "copy", "link"});
  const StageGraph stage = stage_of(every_kind(), every_kind(), every_kind(), 12);
  const StageGraph placed = make_policy(partitioning_policies(), "device_only")->place(stage, units);
  CHECK(layers_of(placed) == 12);
  for (const OperatorGraph* graph : graphs_of(placed)) {
    CHECK(boost::num_edges(*graph) == boost::num_edges(part(stage, "block")));
    REQUIRE(boost::num_vertices(*graph) == 7);
    for (const std::size_t vertex : {0u, 2u, 4u, 6u}) CHECK((*graph)[vertex].unit == 0);
    for (const std::size_t vertex : {1u, 3u, 5u}) CHECK((*graph)[vertex].unit == 2);
  }
}

TEST_CASE("device_only: a collective on a device without a link is refused, kernels alone are not",
          "[partitioning]") {
  const std::vector<Unit> units = test::units({"gpu"});
  const auto policy = make_policy(partitioning_policies(), "device_only");
  CHECK_THROWS_WITH(policy->place(stage_of(every_kind(), {}, {}, 1), units), Catch::Contains("link"));
  OperatorGraph kernels;
  boost::add_vertex(op(Gemm()), kernels);
  CHECK(part(policy->place(stage_of({}, kernels, {}, 1), units), "block")[0].unit == 0);
}

TEST_CASE("prefetch: none leaves the graph as it was placed", "[prefetch]") {
  const StageGraph same =
      make_policy(prefetch_policies(), "none")->add_prefetches(stage_of({}, every_kind(), {}, 3), {});
  CHECK(layers_of(same) == 3);
  CHECK(boost::num_vertices(part(same, "block")) == 7);
  CHECK(boost::num_edges(part(same, "block")) == 6);
}
