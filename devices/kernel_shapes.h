#pragma once
// What every kind of device reads from an operator in the same way: shapes of matrices and heads,
// collectives.
#include "devices/device.h"
#include "models/latency/attention.h"
#include "models/latency/matrix.h"

namespace weir {

// Accumulators leave an 8-bit GEMM as 16-bit numbers.
GemmShape gemm_shape(const Operator& op, double rows);
AttentionShape attention_shape(const Operator& op);
ExpertShape expert_shape(const Operator& op);

// Rows of the operator in this batch.
double rows_of(const Operator& op, const BatchShape& batch);

// Of what an operator would read that is stored (models/llm/stored_bytes.h), the share that it does: nothing
// of experts that no token is routed to, nor where there are no rows (an LM head while no prompt ends).
double asked_for(const Operator& op, const BatchShape& batch);

// What comes in over a link is written to memory, and what goes out is read from it. Throws std::logic_error
// for what is no collective: nothing but one is left once a device has sorted out its kernels.
KernelCost collective_cost(const Operator& op, double rows, const CollectiveModel& links,
                           const DeviceSpec& device);

// Arithmetic in a type of twice the 16-bit rate costs half the energy.
KernelCost with_energy(const DeviceSpec& device, KernelCost cost, DataType type);

// bf16 and fp16: what PIM calculates in.
bool sixteen_bits(DataType type);

// Device::cannot_run, of a device that runs matrices of every type that it has a peak of.
std::string lacks_a_peak(const DeviceSpec& device, const StageGraph& stage);

}  // namespace weir
