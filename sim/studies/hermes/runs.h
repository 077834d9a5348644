#pragma once
// The runs behind Hermes' figures: its models and systems as scenarios, every one simulated once in each set.
// `paper` is what the paper states of PCIe, the GPUs and the room for weights; `physical` is the catalog.
// Neither is fitted to a figure. Inputs that the paper does not give are the same in both (densities, drift,
// synchronisation).
#include <string>
#include <vector>

#include "sim/studies/study_runs.h"

namespace weir::hermes {

struct SparseModel {  // Section V-A 3
  const char *id, *name, *title;
  // Share of neurons that a token activates: ESTIMATE, of the published 10 to 30 % the middle, for models
  // whose activation was replaced by ReLU, and the end, for OPT, which was trained with it.
  double density;
  bool opt;  // FlexGen and Deja Vu run no other
};
extern const std::vector<SparseModel> models;
const SparseModel& model_of(const std::string& id);

// One GPU and what lies on its host. Another system is another row of `systems`.
struct OffloadSystem {
  const char *id, *title;
  const char* host;          // beside the GPU
  const char* partitioning;  // with `policy`
  Json policy;
  bool sparse;        // computes active neurons alone
  bool has_room_key;  // on_device_gb
};
extern const OffloadSystem hermes_system, base_system, host_system, accelerate, flexgen, deja_vu;

struct HermesRun {
  const OffloadSystem* system = &hermes_system;
  std::string model = {};  // its id
  int batch = 1;
  std::string gpu = "rtx4090";
  Json policy = Json::object();    // keys over those of the system's partitioning
  Json host = Json::object();      // and over those of its host memory
  Json activity = Json::object();  // and over those of the activity of neurons
  int output_tokens = 128;
  bool paper_only = false;
};

// TensorRT-LLM on A100s (Section V-F): so many of them one after the other, or side by side.
struct ServerRun {
  int tensor = 1, pipeline = 1, batch = 1;
};

// StudyRuns takes either.
struct AnyRun {
  AnyRun(HermesRun hermes) : paper_only(hermes.paper_only), hermes(std::move(hermes)) {}
  AnyRun(ServerRun run) : paper_only(true), server(run) {}  // no set has other A100s

  bool paper_only;
  HermesRun hermes = {};
  std::optional<ServerRun> server = {};
};

std::string name_of(const AnyRun& run);
Json scenario_of(const AnyRun& run, const std::string& assumptions);
double gpu_room_gb(const std::string& gpu, const std::string& assumptions);  // of a GPU, for weights
using Runs = StudyRuns<AnyRun>;

inline constexpr int input_tokens = 128, output_tokens = 128;  // Section V-A 4
inline constexpr int batches[] = {1, 2, 4, 8, 16};
inline constexpr double drift = 0.3;  // ESTIMATE, see docs/accuracy.md
inline constexpr int followed_layers = 8;

}  // namespace weir::hermes
