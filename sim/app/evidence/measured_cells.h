#pragma once
// Groups of measured servers that Weir was held against: one model, GPU, engine, number format and layout
// each, with the errors that `weir reproduce validation` found. For what a run or a plan says of its own
// accuracy. measured/cells.json is what that command writes as cells.json with every measured row, copied
// here.
#include <optional>
#include <string>
#include <vector>

#include "models/llm/architecture.h"
#include "sim/core/params.h"

namespace weir {

struct MeasuredCell {
  std::string device, engine, model;  // as a scenario names them
  std::string weights;                // likewise; "mxfp4 experts" where these alone are quantised
  int tensor = 1;
  bool experts = false;  // the model is a mixture of experts
  std::int64_t points = 0;
  double tpot_error_percent = 0;             // mean absolute, of means
  std::optional<double> ttft_error_percent;  // likewise; none where TTFT cannot be judged

  std::string words() const;  // qwen3-32b fp8 on h100_sxm, trtllm, TP2
};

const std::vector<MeasuredCell>& measured_cells();
// The number format of a scenario's `precision`, in a cell's words.
std::string number_format(const Precision& precision);
Json cells_json(const std::vector<MeasuredCell>& cells, const std::string& source);

}  // namespace weir
