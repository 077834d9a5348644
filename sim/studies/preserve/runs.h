#pragma once
// The runs behind PRESERVE's figures: its models, accelerators and batches as scenarios.
#include <optional>
#include <string>
#include <vector>

#include "sim/studies/study_runs.h"

namespace weir::preserve {

// Models of the design space exploration (Section 5), and of Figure 4.
extern const std::vector<std::string> explored_models, largest_models;

enum class Measure {
  request,    // two thirds of the length as prompts, then the rest is generated
  last_step,  // the last token alone
};

struct Run {
  std::string model, device = "l2_npu";
  int devices = 32;  // tensor parallel
  int batch = 8;
  std::int64_t length = 2048;         // of prompt and output
  std::optional<double> l2_mb = {};   // the device's own
  double gbit_per_s = 200;            // of its ring
  std::string prefetch = "preserve";  // none, oracle, or window_aware, which is preserve too
  int fused_chunks = 1;
  double strided_kv = 1;  // of a 910B
  std::string type = "int8";
  Measure measure = Measure::request;
};

Run on_910b(const std::string& model, int devices, int batch, std::int64_t length, const char* prefetch);
// The paper says that strided reads are why speed-ups are largest on four devices, and gives no number.
Run strided(Run run);
inline constexpr const char* note_on_strides =
    "strided_kv_efficiency 0.5, of 1, 0.5, 0.25 and 0.1 the nearest to Table 1's mean: FITTED to that alone";

std::string name_of(const Run& run);
// Without the memory for all of its requests at once such a scenario is refused.
Json scenario_of(const Run& run, const std::string& assumptions);
using Runs = StudyRuns<Run>;

}  // namespace weir::preserve
