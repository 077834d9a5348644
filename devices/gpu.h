#pragma once
// A GPU as the analytic models of models/latency see it. Its units: gpu, link and, where its L2's bandwidth
// is known, prefetch (a stream that reads memory into the L2, of no multiprocessor and without launches; only
// a prefetch policy places operators on it). Made by gpu_row.cpp; profiled.cpp stands on one.
#include <array>
#include <map>
#include <vector>

#include "devices/device.h"
#include "models/latency/attention.h"
#include "models/latency/matrix.h"
#include "sim/core/catalog_row.h"

namespace weir {

struct ElementwiseLayer {
  std::string name;  // of the operator; "" for any other
  ElementwiseEfficiency efficiency;
};

// Matrices by the numbers that they multiply, as libraries have kernels for.
enum class MatrixKind { sixteen_bit, eight_bit, fp8_block, fp4, four_bit_weights, four_by_eight_bit };
inline constexpr std::size_t matrix_kinds = 6;
MatrixKind matrix_kind(const Gemm& matrix);
// NAME in the keys gemm_NAME and experts_NAME.
const char* name_of(MatrixKind kind);
// A library without efficiencies of this kind takes those of the kind returned; the first two have their own.
MatrixKind stands_in_for(MatrixKind kind);

// A library's efficiencies by kind; null where it has none.
using MatrixEfficiencies = std::array<std::optional<GemmEfficiency>, matrix_kinds>;

// How well an engine's kernel library uses one generation of GPUs: devices/kernels/*.json.
struct KernelEfficiencies {
  std::string name;                   // "hopper", or "given" by a scenario
  std::string library;                // "vllm"; "" of an assumption, as generation
  std::string generation;             // "Hopper"
  MatrixEfficiencies gemms, experts;  // gemms of the first two kinds always
  // Keys of what nobody measured under this library, and the name of the set that it is from.
  std::map<std::string, std::string> taken_from;
  std::vector<ElementwiseLayer> elementwise;  // the last is for any other layer
  ExpertPadding expert_padding = {};
  AttentionEfficiency attention, attention_8bit_cache;  // of KV caches of 16 bits, and of 8
};

struct GpuShape {
  double multiprocessors = 0;
  Bytes l2;
  // Shares of the rate that the kernels' efficiencies were measured at, in 16 bits and more, and in fewer.
  double sustained_compute = 1, sustained_compute_8bit = 1;

  bool operator==(const GpuShape&) const = default;
};

// Where a library has no experts of a kind, they reach what its matrices of that kind do.
struct MatrixChoice {
  const GemmEfficiency* efficiency = nullptr;
  std::string key;  // gemm_16bit
};
MatrixChoice matrix_choice(const KernelEfficiencies& kernels, MatrixKind kind, bool grouped);

std::vector<std::string> kernel_names();
const RowFamily& kernel_rows();
Json kernel_row_schema();  // of a key that holds one
// The first: the efficiencies of a name, or of a whole row that kernel_rows() found right. Behind it those
// that stand in for it under engines of another library.
std::vector<KernelEfficiencies> kernels_of(const Json& name_or_row, const GpuShape& shape);

KernelEfficiencies reaching(KernelEfficiencies kernels, const KernelReach& reach);  // kernel_reach.cpp

// With the first of `kernels`, and the others for Device::with_library.
std::shared_ptr<const Device> make_gpu(DeviceSpec spec, GpuShape shape,
                                       std::vector<KernelEfficiencies> kernels);

}  // namespace weir
