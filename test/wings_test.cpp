// A wing is what one paper's system needs and no other: its memory, device, policies, plan and study. The
// core knows none of them, so that it fits in a head. Includes that join a wing to the rest are listed here.
#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <vector>

namespace fs = std::filesystem;
namespace {

// Beginnings of paths.
const std::map<std::string, std::vector<std::string>> wings = {
    {"L2 of an NPU", {"devices/l2_npu/"}},
    {"DIMMs that attend", {"models/memory/dimm_pim/", "policies/partitioning/gpu_pim", "sim/studies/l3/"}},
    {"neurons",
     {"devices/ndp_dimm/", "models/memory/ndp_dimm/", "models/neurons/", "policies/partitioning/neurons/",
      "policies/placement/neurons/", "sim/core/neurons/", "sim/plan/neurons/", "sim/serving/neurons/",
      "sim/studies/hermes/", "workloads/activity/"}},
    {"NPU with PIM", {"devices/npu/", "policies/partitioning/npu", "sim/studies/neupims/"}},
    {"training",
     {"devices/cpu/", "devices/hetero_pim/", "models/memory/stack/", "models/nn/", "policies/runtime/",
      "sim/app/output/training/", "sim/plan/read_training", "sim/plan/training", "sim/step/training/",
      "sim/studies/hetero_pim/", "sim/training/"}},
};

// Every include of a wing from outside it. The list may only get shorter.
const std::set<std::pair<std::string, std::string>> arrows = {
    // Sources that put all wings together.
    {"sim/plan/placement.cpp", "sim/plan/neurons/neuron_plan.h"},
    {"sim/serving/simulation_run.h", "sim/serving/neurons/neuron_starts.h"},
    {"sim/studies/studies.cpp", "sim/studies/hermes/study.h"},
    {"sim/studies/studies.cpp", "sim/studies/hetero_pim/study.h"},
    {"sim/studies/studies.cpp", "sim/studies/l3/study.h"},
    {"sim/studies/studies.cpp", "sim/studies/neupims/study.h"},
    {"workloads/workload.cpp", "workloads/activity/activity.h"},
    // A scenario has what any wing reads, and a command runs what it has.
    {"sim/app/check.cpp", "sim/step/training/training_step.h"},
    {"sim/app/list/subjects.cpp", "models/nn/net_catalog.h"},
    {"sim/app/list/subjects.cpp", "policies/placement/neurons/neuron_placement.h"},
    {"sim/app/output/summary_json.cpp", "sim/app/output/training/training_writers.h"},
    {"sim/app/output/summary_table.cpp", "sim/app/output/training/training_writers.h"},
    {"sim/app/play.cpp", "sim/training/trainers.h"},
    {"sim/app/play.h", "sim/training/train.h"},
    {"sim/app/run.cpp", "sim/app/output/training/training_writers.h"},
    {"sim/app/sweep/point_run.cpp", "sim/app/output/training/training_writers.h"},
    {"sim/app/sweep/time_estimate.cpp", "sim/training/train.h"},
    {"sim/plan/scenario.h", "sim/plan/training_spec.h"},
    {"sim/studies/matched_pair.h", "sim/plan/training_spec.h"},
    {"sim/studies/steady_step.h", "sim/training/train.h"},
    // DIMMs that compute neurons attend as well.
    {"devices/host_memory/dimm.h", "models/memory/dimm_pim/rank_attention.h"},
    {"models/memory/ndp_dimm/dimm_reads.cpp", "models/memory/dimm_pim/rank_timing.h"},
    {"models/memory/ndp_dimm/dimm_reads.h", "models/memory/dimm_pim/bus_stream.h"},
};

std::string wing_of(const std::string& path) {
  for (const auto& [wing, beginnings] : wings)
    for (const std::string& beginning : beginnings)
      if (path.starts_with(beginning)) return wing;
  return "";
}

std::set<std::pair<std::string, std::string>> arrows_into_wings() {
  static const std::regex include(R"re(^#include "([^"]+)")re");
  std::set<std::pair<std::string, std::string>> found;
  for (const char* room : {"devices", "models", "policies", "sim", "workloads"})
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(WEIR_SOURCE_DIR) / room)) {
      if (entry.path().extension() != ".h" && entry.path().extension() != ".cpp") continue;
      const std::string from = fs::relative(entry.path(), WEIR_SOURCE_DIR).string();
      std::ifstream in(entry.path());
      std::smatch match;
      for (std::string line; std::getline(in, line);)
        if (std::regex_search(line, match, include) && wing_of(match[1]) != "" &&
            wing_of(match[1]) != wing_of(from))
          found.emplace(from, match[1]);
    }
  return found;
}

}  // namespace

TEST_CASE("wings: each has sources, and nothing else includes them but what is listed") {
  for (const auto& [wing, beginnings] : wings)
    for (const std::string& beginning : beginnings) {
      INFO(wing << ": " << beginning);
      const fs::path folder = (fs::path(WEIR_SOURCE_DIR) / beginning).parent_path();
      CHECK(std::any_of(fs::directory_iterator(folder), fs::directory_iterator(), [&](const auto& entry) {
        return (fs::relative(entry.path(), WEIR_SOURCE_DIR).string()).starts_with(beginning);
      }));
    }
  const auto found = arrows_into_wings();
  for (const auto& [from, to] : found) {
    INFO(from << " includes " << to);
    CHECK(arrows.contains({from, to}));
  }
  for (const auto& [from, to] : arrows) {
    INFO("no longer: " << from << " includes " << to);
    CHECK(found.contains({from, to}));
  }
}
