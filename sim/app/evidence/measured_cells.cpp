#include "sim/app/evidence/measured_cells.h"

#include <fmt/format.h>

#include "sim/core/embedded.h"

namespace weir {

extern const EmbeddedFiles evidence_files;

namespace {

constexpr const char* cells_file = "cells";

std::vector<MeasuredCell> read_cells() {
  const Json document = embedded_json(*text_of(evidence_files, cells_file), cells_file);
  Reading reading("sim/app/evidence/measured/cells.json");
  Params table(reading, document);
  table.text({"source", "What measured them."});
  std::vector<MeasuredCell> cells;
  for (Params& row : table.list({"cells", "One a model, GPU, engine, number format and layout."}, 1)) {
    MeasuredCell cell;
    cell.device = row.text({"device", "Kind."});
    cell.engine = row.text({"engine", "Preset."});
    cell.model = row.text({"model", "Catalog name."});
    cell.weights = row.text({"weights", "Number format."});
    cell.tensor = static_cast<int>(row.integer({"tensor", "Tensor-parallel ranks."}, {1, 1024}));
    cell.experts = row.flag({"experts", "The model is a mixture of experts."}, false);
    cell.points = row.integer({"points", "Measured servers."}, {1});
    cell.tpot_error_percent = row.number({"tpot_error_percent", "Mean absolute error."}, not_negative);
    cell.ttft_error_percent = row.number_or_null({"ttft_error_percent", "Likewise."}, not_negative);
    row.close();
    cells.push_back(std::move(cell));
  }
  table.close();
  reading.finish();
  return cells;
}

double tenths(double percent) {
  return std::round(10 * percent) / 10;
}

}  // namespace

std::string MeasuredCell::words() const {
  return fmt::format("{} {} on {}, {}, TP{}", model, weights, device, engine, tensor);
}

const std::vector<MeasuredCell>& measured_cells() {
  static const std::vector<MeasuredCell> cells = read_cells();
  return cells;
}

std::string number_format(const Precision& precision) {
  return precision.expert_weights ? to_string(precision.expert_weights->number) + " experts"
                                  : to_string(precision.weights.number);
}

Json cells_json(const std::vector<MeasuredCell>& cells, const std::string& source) {
  Json rows = Json::array();
  for (const MeasuredCell& cell : cells)
    rows.push_back(
        {{"device", cell.device},
         {"engine", cell.engine},
         {"model", cell.model},
         {"weights", cell.weights},
         {"tensor", cell.tensor},
         {"experts", cell.experts},
         {"points", cell.points},
         {"tpot_error_percent", tenths(cell.tpot_error_percent)},
         {"ttft_error_percent", cell.ttft_error_percent ? Json(tenths(*cell.ttft_error_percent)) : Json()}});
  return {{"source", source}, {"cells", rows}};
}

}  // namespace weir
