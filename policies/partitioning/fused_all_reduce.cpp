// The baseline of PRESERVE, Section 4 (Figure 5): Ascend's npu_mm_all_reduce_base. That one cuts the rows,
// into no chunk of less than 384 (CANN, ops-transformer, mc2, matmul_performance: 3 x 128), and reads the
// weights for each, from its L2 where they fit. Here columns are cut, so that weights are read once on every
// device, and what is read again is a chunk's input.
#include "policies/partitioning/fused_all_reduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/range/iterator_range.hpp>
#include <optional>

#include "models/llm/parts/rewrite.h"

namespace weir {
namespace {

constexpr const char* key = "fused_all_reduce_chunks";

// The all-reduce waits for this one last, if it is a GEMM whose output nobody else reads. Whatever else it
// adds up (beside it in a parallel block) is there before, and each chunk waits for it as a whole.
std::optional<std::size_t> fused_gemm(const OperatorGraph& graph, std::size_t reduce) {
  std::optional<std::size_t> last;
  const auto* sum = graph[reduce].as<Communication>();
  if (!sum || sum->collective != Collective::all_reduce) return last;
  for (const auto edge : boost::make_iterator_range(boost::in_edges(reduce, graph)))
    last = std::max(last, std::optional(boost::source(edge, graph)));
  const bool fuses = last && graph[*last].as<Gemm>() && boost::out_degree(*last, graph) == 1;
  return fuses ? last : std::nullopt;
}

class FusedAllReduce final : public PartitioningPolicy {
 public:
  FusedAllReduce(std::shared_ptr<const PartitioningPolicy> policy, std::int64_t chunks)
      : policy_(std::move(policy)), chunks_(chunks) {}

  StageGraph place(StageGraph stage, std::span<const Unit> units) const override {
    if (unit_running(units, KernelKind::communication) < 0)
      throw UnfitKey(key,
                     "a unit for collectives is needed beside which GEMMs can run, and the device has none");
    return rewrite(policy_->place(std::move(stage), units),
                   [this](const OperatorGraph& from, std::size_t v) { return in_chunks(from, v); });
  }

  HostMemoryUse host_memory() const override { return policy_->host_memory(); }

 private:
  // Chunks take the place of what they are cut from, so that the order of vertices stays topological and the
  // GEMM's, ready at once, run without another operator between them.
  Replacement in_chunks(const OperatorGraph& from, std::size_t v) const {
    std::optional<std::size_t> gemm = fused_gemm(from, v);
    if (!gemm && boost::out_degree(v, from) == 1 &&
        fused_gemm(from, boost::target(*boost::out_edges(v, from).first, from)) == v)
      gemm = v;
    if (!gemm) return from[v];
    Replacement chunks;
    chunks.lanes = static_cast<int>(*gemm);
    for (std::int64_t i = 0; i < chunks_; ++i)
      chunks.operators.push_back(chunk(from[v], columns_of(from[*gemm]), i));
    return chunks;
  }

  std::int64_t columns_of(const Operator& gemm) const {
    const std::int64_t columns = std::get<Gemm>(gemm.kernel).out;
    if (columns < chunks_)
      throw UnfitKey(key,
                     fmt::format("{} has {} columns, too few for {} chunks", gemm.name, columns, chunks_));
    return columns;
  }

  // Cuts a GEMM that many columns wide, or the all-reduce of its output; the last chunk takes the rest.
  Operator chunk(Operator op, std::int64_t columns, std::int64_t number) const {
    const std::int64_t begin = number * (columns / chunks_),
                       end = number + 1 < chunks_ ? begin + columns / chunks_ : columns;
    op.name = fmt::format("{} {}/{}", op.name, number + 1, chunks_);
    op.begin = static_cast<double>(begin) / static_cast<double>(columns);
    op.end = static_cast<double>(end) / static_cast<double>(columns);
    if (auto* gemm = std::get_if<Gemm>(&op.kernel)) gemm->out = end - begin;
    return op;
  }

  std::shared_ptr<const PartitioningPolicy> policy_;
  std::int64_t chunks_;
};

}  // namespace

std::shared_ptr<const PartitioningPolicy> with_fused_all_reduce(
    Params& params, std::shared_ptr<const PartitioningPolicy> policy) {
  const std::int64_t chunks =
      params.integer({key,
                      "A GEMM and the all-reduce of its output as one kernel in so many chunks, one "
                      "multiplied while the one before is added up over the ranks. 1: one after the other."},
                     {1, 64}, 1);
  if (chunks == 1 || !policy) return policy;
  return std::make_shared<FusedAllReduce>(std::move(policy), chunks);
}

}  // namespace weir
