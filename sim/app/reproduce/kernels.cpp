// Kernel rows of the validation study: the mean |error| of each group of measured kernels.
#include "sim/app/reproduce/kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>

#include "sim/app/output/output_file.h"
#include "sim/app/reproduce/measured.h"
#include "sim/app/reproduce/validation.h"

namespace weir {

const std::vector<KernelGroup>& kernel_groups() {
  static const std::vector<KernelGroup> table = {
      {"gemm_a100_sxm_80gb_bf16", "GEMM A100 bf16", 0, {}, ""},
      {"gemm_h100_sxm_bf16", "GEMM H100 bf16", 0, {}, ""},
      {"gemm_h100_sxm_fp8", "GEMM H100 fp8", 0, {}, ""},
      {"gemm_l40s_bf16", "GEMM L40S bf16", 0, {}, ""},
      {"gemm_l40s_fp8", "GEMM L40S fp8", 0, {}, ""},
      {"gemm_rtx4090_bf16", "GEMM RTX 4090 bf16", 0, {}, ""},
      {"gemm_rtx_pro_6000_bf16", "GEMM RTX PRO 6000 bf16", 0, {}, ""},
      {"gemm_a100_sxm_80gb_bf16_vidur", "GEMM A100 (Vidur)", 0, {}, ""},
      {"gemm_layer_a100_sxm_80gb_bf16_vidur", "4 GEMMs A100 (Vidur)", 0, {}, ""},
      {"gemm_a100_sxm_80gb_bf16_measured_twice", "GEMM A100 vLLM/Vidur", 0, {}, ""},
      {"gemm_h100_sxm_bf16_vidur", "GEMM H100 (Vidur)", 0, {}, ""},
      {"gemm_layer_h100_sxm_bf16_vidur", "4 GEMMs H100 (Vidur)", 0, {}, ""},
      {"gemm_h100_sxm_bf16_measured_twice", "GEMM H100 vLLM/Vidur", 0, {}, ""},
      {"decode_attention_a100_sxm_80gb", "Decode attn. A100", 0, {}, ""},
      {"decode_attention_h100_sxm", "Decode attn. H100", 0, {}, ""},
      {"decode_attention_h100_sxm_beyond_l2", "  KV beyond L2", 0, {}, ""},
      {"decode_attention_rtx4090", "Decode attn. RTX 4090", 0, {}, ""},
      {"decode_attention_rtx_pro_6000", "Decode attn. RTX PRO 6000", 0, {}, ""},
      {"prefill_attention_a100_sxm_80gb", "Prefill attn. A100", 0, {}, ""},
      {"prefill_attention_h100_sxm", "Prefill attn. H100", 0, {}, ""},
      {"prefill_attention_rtx4090", "Prefill attn. RTX 4090", 0, {}, ""},
      {"prefill_attention_rtx_pro_6000", "Prefill attn. RTX PRO 6000", 0, {}, ""},
      {"mixed_attention_rtx4090", "Mixed attn. RTX 4090", 0, {}, ""},
      {"mixed_attention_rtx_pro_6000", "Mixed attn. RTX PRO 6000", 0, {}, ""},
      {"elementwise_a100_sxm_80gb", "Elementwise A100", 0, {}, ""},
      {"elementwise_rtx4090", "Elementwise RTX 4090", 0, {}, ""},
      {"elementwise_rtx_pro_6000", "Elementwise RTX PRO 6000", 0, {}, ""},
      {"all_reduce_nvlink3_switch_nccl", "All-reduce NVLink 3 nccl", 0, {}, ""},
      {"all_reduce_nvlink3_switch_vllm", "All-reduce NVLink 3 vllm", 0, {}, ""},
      {"all_reduce_nvlink4_switch_nccl", "All-reduce NVLink 4 nccl", 0, {}, ""},
      {"all_reduce_nvlink4_switch_vllm", "All-reduce NVLink 4 vllm", 0, {}, ""},
      {"all_reduce_pcie4_x16_nccl", "All-reduce PCIe 4 nccl", 0, {}, ""},
      {"all_reduce_pcie4_x16_vllm", "All-reduce PCIe 4 vllm", 0, {}, ""},
      {"all_reduce_pcie5_x16_nccl", "All-reduce PCIe 5 nccl", 0, {}, ""},
      {"all_gather_nvlink3_switch_nccl", "All-gather NVLink 3 nccl", 0, {}, ""},
      {"all_gather_nvlink4_switch_nccl", "All-gather NVLink 4 nccl", 0, {}, ""},
      {"all_gather_pcie4_x16_nccl", "All-gather PCIe 4 nccl", 0, {}, ""},
      {"all_gather_pcie5_x16_nccl", "All-gather PCIe 5 nccl", 0, {}, ""},
      {"reduce_scatter_nvlink3_switch_nccl", "Reduce-scatter NVLink 3 nccl", 0, {}, ""},
      {"reduce_scatter_nvlink4_switch_nccl", "Reduce-scatter NVLink 4 nccl", 0, {}, ""},
      {"reduce_scatter_pcie4_x16_nccl", "Reduce-scatter PCIe 4 nccl", 0, {}, ""},
      {"reduce_scatter_pcie5_x16_nccl", "Reduce-scatter PCIe 5 nccl", 0, {}, ""},
      {"alltoall_nvlink3_switch_nccl", "All-to-all NVLink 3 nccl", 0, {}, ""},
      {"alltoall_nvlink4_switch_nccl", "All-to-all NVLink 4 nccl", 0, {}, ""},
      {"alltoall_pcie4_x16_nccl", "All-to-all PCIe 4 nccl", 0, {}, ""},
      {"alltoall_pcie5_x16_nccl", "All-to-all PCIe 5 nccl", 0, {}, ""},
      {"send_receive_nvlink3_switch", "Send NVLink 3", 0, {}, ""},
      {"send_receive_nvlink4_switch", "Send NVLink 4", 0, {}, ""},
  };
  return table;
}

namespace {

struct GroupError {
  int rows = 0;
  double weight = 0, absolute = 0, signed_sum = 0;
  void add(const KernelSample& s) {
    const double error = 100 * (s.simulated / s.measured - 1);
    ++rows;
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
  for (const auto& [group, error] : errors)
    if (std::none_of(kernel_groups().begin(), kernel_groups().end(),
                     [&](const KernelGroup& g) { return g.name == group; }))
      throw std::logic_error("no row of kernel_groups() for " + group);
  OutputFile points(options.files / "kernels.csv");
  points.text("group,title,rows,error_percent,bias_percent,accept_max_percent\n");
  for (const KernelGroup& group : kernel_groups()) {
    const auto found = errors.find(group.name);
    if (found == errors.end()) continue;
    const GroupError& e = found->second;
    ReproducedRow row;
    row.id = "kernel_" + group.name;
    row.metric = "mean |error| of kernel time, %";
    row.simulated = e.mean();
    row.accept_max = group.accept_max;
    row.note = fmt::format("{} rows, bias {:+.1f} %; docs/calibration has {} %{}{}", e.rows, e.bias(),
                           group.calibrated, group.note.empty() ? "" : "; ", group.note);
    rows.push_back(row);
    points.print("{},{},{},{:.3f},{:.3f},{}\n", group.name, group.title, e.rows, e.mean(), e.bias(),
                 group.accept_max ? fmt::format("{}", *group.accept_max) : "");
  }
  points.close();
}

}  // namespace weir
