#include "sim/app/evidence/measured_cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sim/core/embedded.h"

namespace weir {

extern const EmbeddedFiles evidence_files;

namespace {

constexpr const char* cells_file = "cells";

struct Measured {
  std::vector<MeasuredCell> cells;
  std::vector<MeasuredClass> classes;
};

MeasuredRange read_range(Params& row, Key key) {
  const std::vector<double> ends = row.numbers(key, 2, not_negative);
  return ends.size() == 2 ? MeasuredRange{ends[0], ends[1]} : MeasuredRange{};
}

Measured read_measured() {
  const Json document = embedded_json(*text_of(evidence_files, cells_file), cells_file);
  Reading reading("sim/app/evidence/measured/cells.json");
  Params table(reading, document);
  table.text({"source", "What measured them."});
  Measured all;
  std::vector<MeasuredCell>& cells = all.cells;
  for (Params& row : table.list({"cells", "One a model, GPU, engine, number format and layout."}, 1)) {
    MeasuredCell cell;
    cell.device = row.text({"device", "Kind."});
    cell.engine = row.text({"engine", "engine.kind of a scenario."});
    cell.model = row.text({"model", "Catalog name."});
    cell.weights = row.text({"weights", "Number format."});
    cell.tensor = static_cast<int>(row.integer({"tensor", "Tensor-parallel ranks."}, {1, 1024}));
    cell.experts = row.flag({"experts", "The model is a mixture of experts."}, false);
    cell.points = row.integer({"points", "Measured servers."}, {1});
    cell.tpot_error_percent = row.number({"tpot_error_percent", "Mean absolute error."}, not_negative);
    cell.ttft_error_percent = row.number_or_null({"ttft_error_percent", "Likewise."}, not_negative);
    cell.scenario = *row.value({"scenario", "Of one of them, without its workload."}, Json());
    cell.varies = row.value({"varies", "Values of its keys."}, Json())->get<decltype(cell.varies)>();
    cell.input_tokens = read_range(row, {"input_tokens", "Least and most of a request."});
    cell.output_tokens = read_range(row, {"output_tokens", "Likewise."});
    cell.in_flight = read_range(row, {"in_flight", "Requests, likewise."});
    row.close();
    cells.push_back(std::move(cell));
  }
  for (Params& row : table.list({"classes", "Servers of a kind, whatever their model."}, 3)) {
    MeasuredClass of;
    of.name = row.text({"name", "Kind."});
    of.points = row.integer({"points", "Measured servers."}, {1});
    of.tpot_error_percent = row.number({"tpot_error_percent", "Mean absolute error."}, not_negative);
    of.ttft_error_percent = row.number_or_null({"ttft_error_percent", "Likewise."}, not_negative);
    row.close();
    all.classes.push_back(std::move(of));
  }
  table.close();
  reading.finish();
  return all;
}

const Measured& measured() {
  static const Measured all = read_measured();
  return all;
}

double tenths(double percent) {
  return std::round(10 * percent) / 10;
}

Json tenths_or_null(const std::optional<double>& percent) {
  return percent ? Json(tenths(*percent)) : Json();
}

}  // namespace

void MeasuredRange::add(double value) {
  const bool first = most == 0;
  least = first ? value : std::min(least, value);
  most = first ? value : std::max(most, value);
}

void MeasuredCell::add(const Json& scenario_of_server) {
  const Json mine = scenario.flatten(), its = scenario_of_server.flatten();
  std::set<std::string> pointers;
  for (const Json* one : {&mine, &its})
    for (const auto& [pointer, value] : one->items()) pointers.insert(pointer);
  for (const std::string& pointer : pointers) {
    const Json value = its.value(pointer, Json()), first = mine.value(pointer, Json());
    const auto known = varies.find(pointer);
    if (known == varies.end() && value == first) continue;
    std::vector<Json>& values = varies.try_emplace(pointer, std::vector{first}).first->second;
    if (std::ranges::find(values, value) == values.end()) values.push_back(value);
  }
}

std::string MeasuredCell::words() const {
  return fmt::format("{} {} on {}, {}, TP{}", model, weights, device, engine, tensor);
}

const std::vector<MeasuredCell>& measured_cells() {
  return measured().cells;
}

const MeasuredClass& measured_class(bool experts, bool apart) {
  const std::string name = apart ? "prompts apart" : experts ? "experts" : "dense";
  return *std::ranges::find(measured().classes, name, &MeasuredClass::name);
}

std::string number_format(const Precision& precision) {
  return precision.expert_weights ? to_string(precision.expert_weights->number) + " experts"
                                  : to_string(precision.weights.number);
}

Json cells_json(const std::vector<MeasuredCell>& cells, const std::vector<MeasuredClass>& classes,
                const std::string& source) {
  Json rows = Json::array(), kinds = Json::array();
  const auto range = [](const MeasuredRange& r) { return Json{r.least, r.most}; };
  for (const MeasuredCell& cell : cells)
    rows.push_back({{"device", cell.device},
                    {"engine", cell.engine},
                    {"model", cell.model},
                    {"weights", cell.weights},
                    {"tensor", cell.tensor},
                    {"experts", cell.experts},
                    {"points", cell.points},
                    {"tpot_error_percent", tenths(cell.tpot_error_percent)},
                    {"ttft_error_percent", tenths_or_null(cell.ttft_error_percent)},
                    {"scenario", cell.scenario},
                    {"varies", cell.varies},
                    {"input_tokens", range(cell.input_tokens)},
                    {"output_tokens", range(cell.output_tokens)},
                    {"in_flight", range(cell.in_flight)}});
  for (const MeasuredClass& of : classes)
    kinds.push_back({{"name", of.name},
                     {"points", of.points},
                     {"tpot_error_percent", tenths(of.tpot_error_percent)},
                     {"ttft_error_percent", tenths_or_null(of.ttft_error_percent)}});
  return {{"source", source}, {"cells", rows}, {"classes", kinds}};
}

}  // namespace weir
