#pragma once
// A neural processing unit: systolic arrays for matrices, vector units for what lies between them, a memory
// of several channels and, in some, PIM in every channel that takes the attention of decodes (NeuPIMs,
// ASPLOS 2024). Its units: systolic, vector, pim (with single row buffers: pim_blocked), link; what runs
// where is a partitioning policy's. Made by catalog_row.cpp.
#include "devices/device.h"
#include "devices/npu/pim_gemvs.h"
#include "models/latency/systolic.h"

namespace weir {

// The `paper` assumptions have plain rooflines in the place of the arrays' tiles.
struct FittedNpu {
  double kv_reads;  // share of the bandwidth that the arrays read K and V with
};

struct NpuShape {
  SystolicArrays arrays;
  double vector_lanes = 1;    // of all vector units
  double softmax_cycles = 1;  // of a lane, an element
  std::optional<FittedNpu> fitted;
  std::shared_ptr<PimGemvs> pim;  // null: memory without PIM
};

std::shared_ptr<const Device> make_npu(DeviceSpec spec, NpuShape shape);

// Decode attention on the arrays, a GEMV a request and query head, those of one KV head together: linear in
// `decodes` and `tokens`. `share`: of all GEMVs, what the busiest array does.
struct DecodeWork {
  Seconds arrays, vectors, traffic;
  Flops flops;
  Bytes memory;
};
DecodeWork decode_work(const NpuShape& shape, const Attention& op, double share, double decodes,
                       double tokens);

// The matrices and the softmax of prefill chunks; K and V cross the bus once a KV head.
KernelCost prefill_attention_cost(const NpuShape& shape, const Attention& op, const BatchShape& batch);
KernelCost npu_gemm_cost(const NpuShape& shape, const GemmShape& gemm, std::int64_t count = 1);
// Experts' tiles are many: dealt out evenly over the arrays.
KernelCost npu_grouped_gemm_cost(const NpuShape& shape, const GemmShape& gemm, const RankLoad& load);

}  // namespace weir
