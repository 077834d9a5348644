#pragma once
// Every kind of device reads these from kernels in the same way: shapes of matrices and heads, collectives.
#include <array>

#include "devices/device.h"
#include "models/latency/attention.h"
#include "models/latency/collectives.h"
#include "models/latency/expert_exchange.h"
#include "models/latency/matrix.h"

namespace weir {

// Accumulators leave an 8-bit GEMM as 16-bit numbers.
GemmShape gemm_shape(const Gemm& gemm, double rows);
AttentionShape attention_shape(const Attention& attention);
ExpertShape expert_shape(const GroupedGemm& experts);
// The load of the fullest rank, with so many tokens of all ranks.
RankLoad rank_load(const GroupedGemm& experts, double tokens);
// A kernel reads this share of what is stored for it (stored_bytes): nothing of experts that
// no row is routed to, nor where there are no rows (an LM head while no prompt ends).
double asked_for(const KernelWork& work);

// Communication over `links`, the interconnect of the group as the engine preset uses it. What comes in is
// written to memory, and what goes out is read from it. Throws std::bad_variant_access for other kernels.
KernelCost collective_cost(const KernelWork& work, const CollectiveModel& links, const DeviceSpec& device);

// A rank sends this where tokens, so many of all ranks, go to their experts, or come back
// (Communication::experts).
ExchangeCost exchanged(const Communication& call, double tokens, const ExpertExchange& exchange);
KernelCost exchange_cost(const KernelWork& work, const ExpertExchange& exchange, const DeviceSpec& device);

// Throws std::logic_error: nothing but what a device has no kernel for is left once it has sorted them out.
[[noreturn]] void no_kernel(const KernelWork& work, const DeviceSpec& device);

// Arithmetic in a type of twice the 16-bit rate costs half the energy.
KernelCost with_energy(const DeviceSpec& device, KernelCost cost, DataType type);
// A GPU's attention: the same, and what its bytes take beside.
KernelCost with_attention_energy(const DeviceSpec& device, KernelCost cost);

// The matrix of a GEMM or of each expert; null of other kernels.
const Gemm* matrix_of(const KernelWork& work);

// Null of other kernels, of parts of attention, and of a share of one.
const Attention* whole_attention(const KernelWork& work);

// Why hardware that is made for plain heads (is_plain) cannot attend as these do, or "".
std::string attends_otherwise(const std::string& who, std::span<const KernelWork> all);

// Device::cannot_run, of a device that runs matrices of every type that it has a peak of.
std::string lacks_a_peak(const DeviceSpec& device, std::span<const KernelWork> all);

}  // namespace weir
