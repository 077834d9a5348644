#pragma once
// Comma-separated files with a header, read by the names of their columns: Weir's own (requests.csv,
// timeseries.csv, figures' data) and tables of measurements. Whatever is wrong throws ConfigError with its
// line.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

class CsvReader {  // line by line
 public:
  explicit CsvReader(const std::filesystem::path& file);
  bool next();  // is there another line? Empty ones are passed over
  const std::vector<std::string>& header() const { return header_; }
  std::size_t place(const std::string& column) const;  // among the cells
  const std::vector<std::string_view>& cells() const {
    return cells_;
  }  // of this line, as many as the header
  double number(std::size_t place) const;
  [[noreturn]] void fail(const std::string& what) const;  // in this line

 private:
  std::string file_;
  std::ifstream in_;
  std::string text_;
  int line_ = 1;
  std::vector<std::string> header_;
  std::vector<std::string_view> cells_;
};

// Whole columns of numbers, NaN where a cell is empty.
std::vector<std::vector<double>> read_columns(const std::filesystem::path& file,
                                              const std::vector<std::string>& names);

class Table {  // in memory, for small ones
 public:
  static Table read(const std::filesystem::path& path);
  std::size_t rows() const { return cells_.size(); }
  const std::string& text(std::size_t row, const std::string& column) const;
  double number(std::size_t row, const std::string& column) const;
  std::int64_t integer(std::size_t row, const std::string& column) const;

 private:
  std::string file_;
  std::map<std::string, std::size_t> columns_;
  std::vector<std::vector<std::string>> cells_;
};

}  // namespace weir
