// How near the analytic kernels are to measured ones: figures of systems/gpu_and_network.md as bounds.
// Skipped where the reference folder is absent.
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "test/devices/reference.h"

namespace weir::test {
namespace {

struct Bound {
  std::string group;
  double mean_absolute;
};

void check(const std::vector<Comparison>& comparisons, const std::vector<Bound>& bounds) {
  if (reference_folder().empty()) {
    WARN("skipped: WEIR_REFERENCE names no folder of measurements");
    return;
  }
  const auto errors = errors_by_group(comparisons);
  std::string table;
  for (const auto& [group, e] : errors)
    table += fmt::format("\n  {:<55} {:5.1f} %  bias {:+5.1f} %  {:5} rows", group, 100 * e.mean_absolute,
                         100 * e.bias, e.rows);
  WARN("mean absolute error of simulated against measured time" << table);
  for (const auto& [group, bound] : bounds) {
    INFO(group);
    REQUIRE(errors.contains(group));
    CHECK(errors.at(group).mean_absolute < bound);
  }
}

}  // namespace

TEST_CASE("kernel accuracy: GEMMs are within the figures of the measurements") {
  check(reference_folder().empty() ? std::vector<Comparison>{} : compare_gemms(),
        {{"gemm a100_sxm_80gb bf16", 0.08},
         {"gemm h100_sxm bf16", 0.06},
         {"gemm h100_sxm fp8", 0.07},
         {"gemm l40s bf16", 0.11},
         {"gemm l40s fp8", 0.18},
         {"gemm rtx4090 bf16", 0.05},
         {"gemm rtx_pro_6000 bf16", 0.07},
         {"gemm a100_sxm_80gb bf16, Vidur's older profile", 0.105},
         {"gemm h100_sxm bf16, Vidur's older profile", 0.115}});
}

TEST_CASE("kernel accuracy: attention is within the figures of the measurements") {
  check(reference_folder().empty() ? std::vector<Comparison>{} : compare_attention(),
        {{"decode attention h100_sxm", 0.09},
         {"decode attention h100_sxm, KV beyond the L2 cache", 0.04},
         {"prefill attention h100_sxm", 0.06},
         {"decode attention a100_sxm_80gb", 0.11},
         {"prefill attention a100_sxm_80gb", 0.06},
         {"decode attention rtx4090", 0.09},
         {"prefill attention rtx4090", 0.06},
         {"mixed attention rtx4090", 0.13},
         {"decode attention rtx_pro_6000", 0.06},
         {"prefill attention rtx_pro_6000", 0.05},
         {"mixed attention rtx_pro_6000", 0.13}});
}

TEST_CASE("kernel accuracy: elementwise layers are within a fifth of the measurements") {
  check(reference_folder().empty() ? std::vector<Comparison>{} : compare_elementwise(),
        {{"elementwise rtx4090", 0.2}, {"elementwise rtx_pro_6000", 0.15}});
}

TEST_CASE("kernel accuracy: collectives over NVLink are within a few percent of the measurements") {
  check(reference_folder().empty() ? std::vector<Comparison>{} : compare_collectives(),
        {{"all_reduce nvlink3_switch nccl", 0.05},
         {"all_reduce nvlink4_switch nccl", 0.04},
         {"all_reduce nvlink3_switch vllm", 0.06},
         {"all_reduce nvlink4_switch vllm", 0.05},
         {"all_gather nvlink4_switch nccl", 0.05},
         {"reduce_scatter nvlink4_switch nccl", 0.05},
         {"alltoall nvlink4_switch nccl", 0.05},
         {"all_reduce pcie4_x16 nccl", 0.1},
         {"all_reduce pcie5_x16 nccl", 0.06}});
}

}  // namespace weir::test
