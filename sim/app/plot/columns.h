#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace weir {

// The columns of a CSV file of Weir's (requests.csv, timeseries.csv) by their names, NaN where a cell is
// empty. Throws ConfigError if a column is missing or a cell is no number.
std::vector<std::vector<double>> read_columns(const std::filesystem::path& file,
                                              const std::vector<std::string>& names);

std::string csv_text(const std::string& text);  // as a cell in quotes

}  // namespace weir
