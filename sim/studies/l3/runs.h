#pragma once
// The runs behind L3's figures: its models, traces and systems as scenarios, every one simulated once in each
// set. A set of the GPU's and the DIMMs' constants (`assumptions`) takes the place of `paper`: ideal for
// Figures 8 to 10, eff for Figure 11, whose decode attention is fitted to it; paper_gpu beside them.
// L3 is the same in every figure, as Section 5.3 has it: two sub-batches always, times learned from the run.
#include <string>
#include <vector>

#include "sim/studies/study_runs.h"

namespace weir::l3 {

struct ServedModel {  // Table 3
  const char *name, *id, *title;
  int tensor, data;
};
extern const std::vector<ServedModel> models;
const ServedModel& model_of(const std::string& id);

struct Lengths {
  double mean, deviation;
};
struct TraceLengths {  // Table 4
  const char *id, *title;
  Lengths input, output;
};
extern const std::vector<TraceLengths> traces;
const TraceLengths& trace_of(const std::string& id);

// Eight GPUs, and what holds their KV cache: nullptr, themselves. Another system is another row of
// `systems`. CPU attends to all decodes, as FastDecode has it; NEO keeps in the GPUs what they hold, and has
// the processor attend to what their time hides.
struct System {
  const char *id, *title;
  const char *gpu, *memory, *partitioning, *placement, *batching;
  bool spare_memory = false;
};
inline constexpr System gpu_only{"gpu",         "GPU",   "a100_sxm_80gb",  nullptr,
                                 "device_only", nullptr, "chunked_prefill"},
    hbm_pim{"hbmpim", "HBM-PIM", "a100_hbm_pim", nullptr, "gpu_pim", nullptr, "sub_batch_interleaving"},
    cpu_offload{"cpu", "CPU", "a100_sxm_80gb", "host_dimm", "gpu_pim", nullptr, "prefill_first"},
    neo{"neo", "NEO", "a100_sxm_80gb", "host_dimm", "gpu_pim", nullptr, "asymmetric_pipelining", true},
    rank_pim{"rpim", "R-PIM", "a100_sxm_80gb", "dimm_pim_rank", "gpu_pim", "layer_wise", "prefill_first"},
    l3_system{
        "l3", "L3", "a100_sxm_80gb", "dimm_pim", "gpu_pim", "layer_wise", "adaptive_chunk_interleaving"};
inline const std::vector<System> baselines = {gpu_only, hbm_pim, cpu_offload, rank_pim};

struct SystemRun {
  System system = l3_system;
  std::string model = {}, trace = {};  // ids
  int seed = 1;
  std::string profile = "ideal";   // in the place of `paper`
  Json memory = Json::object();    // keys over those of the memory of the KV cache
  Json batching = Json::object();  // of the batching policy
  Json gpu = Json::object();       // and of the GPUs
  bool overlapped = true;          // transfers beside each other and beside the GPU (Section 5.1)
  // Not a trace but steps of one batch of so many requests in the middle of their generation (Section 6.3).
  int batch = 0;
  bool paper_only = false;  // not in the physical set: bars of a figure between judged ones
};
inline constexpr int batch_tokens = 6000, batch_steps = 9;

std::string name_of(const SystemRun& run);
Json scenario_of(const SystemRun& run, const std::string& assumptions);
using Runs = StudyRuns<SystemRun>;

}  // namespace weir::l3
