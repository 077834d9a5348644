#pragma once
// Groups of measured servers that Weir was held against: one model, GPU, engine, number format and layout
// each, with the errors that `weir reproduce validation` found. For what a run or a plan says of its own
// accuracy. measured/cells.json is what that command writes as cells.json with every measured row, copied
// here.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/llm/architecture.h"
#include "sim/core/params.h"

namespace weir {

struct MeasuredRange {
  double least = 0, most = 0;

  void add(double value);
};

struct MeasuredCell {
  std::string device, engine, model;  // as a scenario names them
  std::string weights;                // number_format(); "mxfp4 experts" where these alone are quantised
  int tensor = 1;
  bool experts = false;  // the model is a mixture of experts
  std::int64_t points = 0;
  double tpot_error_percent = 0;             // mean absolute, of means
  std::optional<double> ttft_error_percent;  // none where TTFT cannot be judged
  // As the first of its servers was simulated, without its workload. `varies` has every value of the keys
  // that others had otherwise, by pointer; null: its default.
  Json scenario = {};
  std::map<std::string, std::vector<Json>> varies = {};
  MeasuredRange input_tokens = {}, output_tokens = {};  // tokens of one request
  MeasuredRange in_flight = {};                         // requests at one replica

  void add(const Json& scenario_of_server);
  std::string words() const;  // qwen3-32b fp8 on h100_sxm, trtllm, TP2
};

// Servers of a kind, whatever their model and layout: what is said of one that is like no cell.
struct MeasuredClass {
  std::string name;  // dense, experts, prompts apart
  std::int64_t points = 0;
  double tpot_error_percent = 0;  // mean absolute, of means
  std::optional<double> ttft_error_percent;

  std::string words() const { return name == "dense" ? "a dense model" : name; }
};

const std::vector<MeasuredCell>& measured_cells();
const MeasuredClass& measured_class(bool experts, bool apart);
// The number format of a scenario's `precision`, in a cell's words.
std::string number_format(const Precision& precision);
Json cells_json(const std::vector<MeasuredCell>& cells, const std::vector<MeasuredClass>& classes,
                const std::string& source);

}  // namespace weir
