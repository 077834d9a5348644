#include "test/step/random_stage.h"
#include "test/models/llm/parts.h"

#include "test/step/timeline/random_step.h"

namespace weir::test {
namespace {

Operator all_reduce(int kib, int devices) {
  return {.name = "all_reduce", .kernel = Communication{Collective::all_reduce, Bytes(1024. * kib), devices}};
}

Operator random_operator(std::mt19937_64& random, const Operator& reduce) {
  constexpr DataType type = DataType::int8;
  switch (uniform_int(random, 0, 6)) {
    case 0:
      return {.name = "norm", .kernel = Elementwise{Bytes(1024. * uniform_int(random, 1, 256))}};
    case 1: {
      Attention heads{.head_dim = 128, .activations = type, .kv_cache = type};
      heads.kv_heads = uniform_int(random, 1, 4);
      heads.query_heads = heads.kv_heads * uniform_int(random, 1, 8);
      return {.name = "attention", .kernel = heads};
    }
    case 2:
    case 3:
      return reduce;
    default: {
      const std::int64_t in = 256 * uniform_int(random, 1, 32);
      return {.name = "gemm", .kernel = Gemm{in, 256 * uniform_int(random, 1, 32), type, type}};
    }
  }
}

OperatorGraph random_graph(std::mt19937_64& random, int operators, const Operator& reduce) {
  OperatorGraph graph;
  const bool chain = random() % 2;  // with residuals; otherwise branches side by side
  for (int v = 0; v < operators; ++v) {
    const auto added = boost::add_vertex(random_operator(random, reduce), graph);
    if (v == 0) continue;
    if (chain) boost::add_edge(added - 1, added, graph);
    for (int edges = uniform_int(random, 0, chain ? 1 : 2); edges > 0; --edges) {
      const auto from = static_cast<std::size_t>(uniform_int(random, 0, v - 1));
      if (!boost::edge(from, added, graph).second) boost::add_edge(from, added, graph);
    }
  }
  return graph;
}

}  // namespace

StageGraph random_stage(std::mt19937_64& random, int most_operators, int devices) {
  StageGraph stage;
  const Operator reduce = all_reduce(uniform_int(random, 1, 64), devices);
  if (random() % 2) {
    part(stage, "prologue") = random_graph(random, uniform_int(random, 3, most_operators), reduce);
    return stage;
  }
  const Operator embedding{.name = "embedding", .kernel = Elementwise{Bytes(1024)}};
  const auto first = boost::add_vertex(embedding, part(stage, "prologue"));
  boost::add_edge(first, boost::add_vertex(reduce, part(stage, "prologue")), part(stage, "prologue"));
  part(stage, "block") = random_graph(random, uniform_int(random, 2, most_operators - 2), reduce);
  set_layers(stage, uniform_int(random, 2, 3));
  return stage;
}

}  // namespace weir::test
