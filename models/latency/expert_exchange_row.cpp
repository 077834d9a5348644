// The object "expert_exchange" of an interconnect's JSON.
#include "models/latency/expert_exchange.h"
#include "sim/core/params.h"

namespace weir {
namespace {

constexpr Range<double> share{0.01, 1.5};

ExchangeKernel read_kernel(Params& kernels, const char* name) {
  Params row = kernels.object({name, "One direction: to the experts, or back."});
  ExchangeKernel kernel;
  kernel.start = row.quantity<Seconds>({"start_us", "With hardly any tokens."}, positive);
  kernel.start_between = row.quantity<Seconds>(
      {"start_between_us", "More, where ranks are in other nodes; times their share."}, not_negative, 0);
  kernel.inside_share = row.number({"inside_share", "Of the links' bandwidth in the node."}, share, 1);
  kernel.between_share = row.number({"between_share", "Of the NICs' bandwidth."}, share, 1);
  kernel.per_sm = row.quantity<BytesPerSecond>(
      {"per_sm_gb_per_s", "What a multiprocessor handles in a node; 0: never the bound."}, not_negative, 0);
  kernel.per_sm_between =
      row.quantity<BytesPerSecond>({"per_sm_between_gb_per_s", "The same across nodes."}, not_negative, 0);
  row.close();
  return kernel;
}

ExchangeKernels read_kernels(Params& library, const char* name) {
  if (!library.has(name) && !library.describing()) return {};
  Params kernels = library.object({name, "A kind of kernel."});
  ExchangeKernels both{read_kernel(kernels, "dispatch"), read_kernel(kernels, "combine")};
  kernels.close();
  return both;
}

}  // namespace

ExchangeLibrary read_exchange_library(Params& params) {
  ExchangeLibrary library;
  library.low_latency = read_kernels(params, "deepep_low_latency");
  library.normal = read_kernels(params, "deepep_normal");
  library.nvlink_all_to_all = read_kernels(params, "nvlink_all_to_all");
  params.close();
  return library;
}

}  // namespace weir
