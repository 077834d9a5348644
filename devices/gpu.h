#pragma once
// A GPU as the analytic models of models/latency see it. Its units: gpu, link and, where its L2's bandwidth
// is known, prefetch (a stream that reads memory into the L2, of no multiprocessor and without launches; only
// a prefetch policy places operators on it). Made by gpu_row.cpp; profiled.cpp stands on one.
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

// How well an engine's kernel library uses one generation of GPUs: devices/kernels/*.json.
struct KernelEfficiencies {
  std::string name;        // "hopper", or "given" by a scenario
  std::string library;     // "vllm"; "" of an assumption, as generation
  std::string generation;  // "Hopper"
  GemmEfficiency gemm_16bit, gemm_8bit;
  std::vector<ElementwiseLayer> elementwise;  // the last is for any other layer
  AttentionEfficiency attention;
};

struct GpuShape {
  double multiprocessors = 0;
  Bytes l2;
  double sustained_compute = 1;  // of the rate that the kernels' efficiencies were measured at
};

std::vector<std::string> kernel_names();
const RowFamily& kernel_rows();
Json kernel_row_schema();  // of a key that holds one
// The first: the efficiencies of a name, or of a whole row that kernel_rows() found right. Behind it those
// that stand in for it under engines of another library.
std::vector<KernelEfficiencies> kernels_of(const Json& name_or_row, const GpuShape& shape);

// With the first of `kernels`, and the others for Device::with_library.
std::shared_ptr<const Device> make_gpu(DeviceSpec spec, GpuShape shape,
                                       std::vector<KernelEfficiencies> kernels);

}  // namespace weir
