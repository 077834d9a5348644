#pragma once
// The runs behind NeuPIMs' figures: its models, datasets and machines as scenarios, every one simulated once.
#include <string>
#include <vector>

#include "sim/studies/study_runs.h"

namespace weir::neupims {

struct Model {  // Table 3
  const char* name;
  const char* title;
  int tensor, pipeline;
};
extern const std::vector<Model> models;

struct Machine {
  const char *device, *partitioning, *placement, *interleave;
};
// Figure 12's three, and the steps between the last two (Figure 13).
inline constexpr Machine npu_only{"npu_only", "npu_units", "round_robin", "off"},
    npu_pim{"npu_pim_blocked", "npu_pim", "round_robin", "off"},
    dual_buffers{"neupims_npu", "npu_pim", "round_robin", "off"},
    balanced{"neupims_npu", "npu_pim", "greedy_min_load", "off"},
    interleaved{"neupims_npu", "npu_pim", "greedy_min_load", "on"},
    neupims{"neupims_npu", "npu_pim", "greedy_min_load", "best"};

enum class Links { of_the_set, free, nvlink };
// One cause switched off, to see what it is worth: keys over those of the device and the partitioning.
struct Variant {
  std::string name;
  Json device = Json::object(), partitioning = Json::object();
  Links links = Links::of_the_set;
};

struct StudyPoint {
  Machine machine;
  std::string model;
  int tensor = 1, pipeline = 1;
  std::string dataset;  // sharegpt, alpaca
  int batch = 64;       // of a device
  Variant variant = {};
  bool paper_only = false;  // not simulated in the physical set
};

// The same in the paper's set with collectives over NVLink; a variant is left as it is.
StudyPoint over_nvlink(const StudyPoint& point);

inline constexpr int steps_of_a_batch = 8;
std::string name_of(const StudyPoint& point);
Json scenario_of(const StudyPoint& point, const std::string& assumptions);
using Runs = StudyRuns<StudyPoint>;

}  // namespace weir::neupims
