#pragma once
// Measured figures that Weir is held against: the project's own small table (measured/*.json, embedded, each
// with its source) or, with --reference, the folder they were taken from. Used by the validation study alone.
#include <filesystem>
#include <string>
#include <vector>

#include "sim/app/results/csv.h"
#include "sim/core/params.h"

namespace weir {

// A server measured in a closed loop with requests of fixed lengths.
struct MeasuredServer {
  std::string device, engine, model, weights;  // in Weir's names
  int tensor = 1;
  std::int64_t input_tokens = 0, output_tokens = 0, concurrency = 0;
  double ttft_ms = 0, tpot_ms = 0;
  std::string source;

  std::string group() const;  // h100_sxm_trtllm_qwen3-32b_fp8_tp2
};

Json shipped_table(const std::string& stem);  // measured/STEM.json
std::vector<MeasuredServer> shipped_servers();
std::vector<MeasuredServer> reference_servers(const std::filesystem::path& reference);

}  // namespace weir
