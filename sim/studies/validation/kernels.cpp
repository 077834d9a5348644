// Kernel rows of the validation study: the mean |error| of each group of measured kernels.
#include "sim/studies/validation/kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

#include "sim/app/output/output_file.h"
#include "sim/studies/validation/measured.h"
#include "sim/studies/validation/validation.h"

namespace weir {

namespace {
constexpr const char* a100_twice =
    "measured twice, by vLLM and by Vidur, who differ by what kernel_gemm_a100_sxm_80gb_bf16_measured_twice "
    "says; "
    "the constants are fitted to both alike";
constexpr const char* h100_twice =
    "measured twice, by vLLM and by Vidur, who differ by what kernel_gemm_h100_sxm_bf16_measured_twice says; "
    "the constants are fitted to vLLM's larger table (docs/calibration/engines.py) and, with 0.65 of the "
    "weight, to Vidur's";
constexpr const char* measured_twice =
    "no simulation: vLLM's measurement of the GEMMs that both sets have against Vidur's";
// The file has the predictions of the figures' own formulas beside the measurements.
constexpr const char* a100_decode =
    "the bound is the figure of a straight line in bytes; that of waves and splits, 8.5 %, is over other "
    "rows: its "
    "predictions (column model_D3_ms) have 14.0 % on these";
constexpr const char* a100_prefill =
    "the figure's own predictions (column model_P4_ms) have 7.9 % on these rows";
constexpr const char* warm_cache =
    "measured over and over on one KV cache, which stays in the 50 MB L2 cache where it fits; a model's "
    "other "
    "layers replace it, so the model charges memory for it (see beyond_l2)";
}  // namespace

const std::vector<KernelGroup>& kernel_groups() {
  static const std::vector<KernelGroup> table = {
      {"gemm_a100_sxm_80gb_bf16", "GEMM bf16", "A100", 9.4, {}, a100_twice},
      {"gemm_h100_sxm_bf16", "GEMM bf16", "H100", 7.7, {}, h100_twice},
      {"gemm_l40s_bf16", "GEMM bf16", "L40S", 10.8, {}, ""},
      {"gemm_rtx4090_bf16", "GEMM bf16", "RTX 4090", 3.7, {}, ""},
      {"gemm_rtx_pro_6000_bf16", "GEMM bf16", "RTX PRO 6000", 6.4, {}, ""},
      {"gemm_h100_sxm_fp8", "GEMM fp8", "H100", 7.3, {}, ""},
      {"gemm_l40s_fp8", "GEMM fp8", "L40S", 17.1, {}, ""},
      {"gemm_a100_sxm_80gb_bf16_vidur", "GEMM (Vidur's)", "A100", 5.9, 6.1, a100_twice},
      {"gemm_layer_a100_sxm_80gb_bf16_vidur", "4 GEMMs (Vidur's)", "A100", 3.8, 4.4, a100_twice},
      {"gemm_h100_sxm_bf16_vidur", "GEMM (Vidur's)", "H100", 7.6, 7.7, h100_twice},
      {"gemm_layer_h100_sxm_bf16_vidur", "4 GEMMs (Vidur's)", "H100", 5.0, 6.6, h100_twice},
      {"gemm_a100_sxm_80gb_bf16_measured_twice", "", "A100", 8.5, {}, measured_twice},
      {"gemm_h100_sxm_bf16_measured_twice", "", "H100", 10.0, {}, measured_twice},
      {"decode_attention_a100_sxm_80gb", "decode attention", "A100", 10.4, 10.9, a100_decode},
      {"decode_attention_h100_sxm", "decode attention", "H100", 8.4, {}, warm_cache},
      {"decode_attention_rtx4090", "decode attention", "RTX 4090", 8.1, {}, ""},
      {"decode_attention_rtx_pro_6000", "decode attention", "RTX PRO 6000", 4.6, {}, ""},
      {"decode_attention_h100_sxm_beyond_l2", "decode beyond L2", "H100", 3.3, {}, ""},
      {"prefill_attention_a100_sxm_80gb", "prefill attention", "A100", 4.8, 5, a100_prefill},
      {"prefill_attention_h100_sxm", "prefill attention", "H100", 5.3, {}, ""},
      {"prefill_attention_rtx4090", "prefill attention", "RTX 4090", 5.2, {}, ""},
      {"prefill_attention_rtx_pro_6000", "prefill attention", "RTX PRO 6000", 3.7, {}, ""},
      {"mixed_attention_rtx4090", "mixed attention", "RTX 4090", 12.5, {}, "none of them fitted"},
      {"mixed_attention_rtx_pro_6000", "mixed attention", "RTX PRO 6000", 12.2, {}, "none of them fitted"},
      {"elementwise_a100_sxm_80gb", "elementwise", "A100", 17.2, {}, "measured times are rounded to 1 us"},
      {"elementwise_rtx4090", "elementwise", "RTX 4090", 16.4, {}, ""},
      {"elementwise_rtx_pro_6000", "elementwise", "RTX PRO 6000", 12.0, {}, ""},
      {"all_reduce_nvlink3_switch_nccl", "all-reduce (NCCL)", "A100", 3.0, {}, ""},
      {"all_reduce_nvlink4_switch_nccl", "all-reduce (NCCL)", "H100", 2.5, {}, ""},
      {"all_reduce_pcie4_x16_nccl", "all-reduce (NCCL)", "L40S", 6.1, {}, ""},
      {"all_reduce_pcie5_x16_nccl", "all-reduce (NCCL)", "RTX PRO 6000", 3.7, {}, ""},
      {"all_reduce_nvlink3_switch_vllm", "all-reduce (vLLM)", "A100", 3.5, {}, ""},
      {"all_reduce_nvlink4_switch_vllm", "all-reduce (vLLM)", "H100", 1.4, {}, ""},
      {"all_reduce_pcie4_x16_vllm", "all-reduce (vLLM)", "L40S", 3.4, {}, ""},
      {"all_gather_nvlink3_switch_nccl", "all-gather", "A100", 3.4, {}, ""},
      {"all_gather_nvlink4_switch_nccl", "all-gather", "H100", 2.8, {}, ""},
      {"all_gather_pcie4_x16_nccl", "all-gather", "L40S", 8.0, {}, ""},
      {"all_gather_pcie5_x16_nccl", "all-gather", "RTX PRO 6000", 3.0, {}, ""},
      {"reduce_scatter_nvlink3_switch_nccl", "reduce-scatter", "A100", 3.4, {}, ""},
      {"reduce_scatter_nvlink4_switch_nccl", "reduce-scatter", "H100", 3.0, {}, ""},
      {"reduce_scatter_pcie4_x16_nccl", "reduce-scatter", "L40S", 6.3, {}, ""},
      {"reduce_scatter_pcie5_x16_nccl", "reduce-scatter", "RTX PRO 6000", 3.9, {}, ""},
      {"alltoall_nvlink3_switch_nccl", "all-to-all", "A100", 3.7, {}, ""},
      {"alltoall_nvlink4_switch_nccl", "all-to-all", "H100", 3.4, {}, ""},
      {"alltoall_pcie4_x16_nccl", "all-to-all", "L40S", 9.7, {}, ""},
      {"alltoall_pcie5_x16_nccl", "all-to-all", "RTX PRO 6000", 5.1, {}, ""},
      {"send_receive_nvlink3_switch", "send and receive", "A100", 16.3, {}, ""},
      {"send_receive_nvlink4_switch", "send and receive", "H100", 7.0, {}, ""},
  };
  return table;
}

namespace {

struct GroupError {
  int rows = 0;
  bool weighted = false;
  double weight = 0, absolute = 0, signed_sum = 0;
  void add(const KernelSample& s) {
    const double error = 100 * (s.simulated / s.measured - 1);
    ++rows;
    weighted = weighted || s.weight != 1;
    weight += s.weight;
    absolute += s.weight * std::abs(error);
    signed_sum += s.weight * error;
  }
  double mean() const { return absolute / weight; }
  double bias() const { return signed_sum / weight; }
};

}  // namespace

void add_kernels(const ReproduceOptions& options, std::vector<ReproducedRow>& rows) {
  std::map<std::string, GroupError> errors;
  for (const KernelSample& s : options.reference ? reference_kernels(*options.reference) : shipped_kernels())
    errors[s.group].add(s);
  for (const auto& named : errors)
    if (std::ranges::find(kernel_groups(), named.first, &KernelGroup::name) == kernel_groups().end())
      throw std::logic_error("no row of kernel_groups() for " + named.first);
  OutputFile points(options.files / "kernels.csv");
  points.text("group,kernel,machine,rows,error_percent,bias_percent,accept_max_percent\n");
  for (const KernelGroup& group : kernel_groups()) {
    const auto found = errors.find(group.name);
    if (found == errors.end()) continue;
    const GroupError& e = found->second;
    ReproducedRow row;
    row.id = "kernel_" + group.name;
    row.metric = fmt::format("mean |{}| of kernel time{}, %", group.kernel.empty() ? "difference" : "error",
                             e.weighted ? " over log tokens" : "");
    row.simulated = e.mean();
    row.accept_max = group.accept_max;
    row.note = fmt::format("{} rows, bias {:+.1f} %; docs/calibration has {:.1f} %{}{}{}", e.rows, e.bias(),
                           group.calibrated, options.reference ? "" : " over all of which these are a sample",
                           group.note.empty() ? "" : "; ", group.note);
    rows.push_back(row);
    points.print("{},{},{},{},{:.3f},{:.3f},{}\n", group.name, group.kernel, group.machine, e.rows, e.mean(),
                 e.bias(), group.accept_max ? fmt::format("{}", *group.accept_max) : "");
  }
  points.close();
}

}  // namespace weir
