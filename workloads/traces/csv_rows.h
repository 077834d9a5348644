#pragma once
// Rows of a trace in CSV, for csv_traces.cpp and session_trace.cpp.
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "workloads/traces/trace.h"

namespace weir {

// The rows of a CSV file (RFC 4180, LF or CRLF, byte order mark allowed). A quoted field comes without its
// outer quotes; a doubled quote inside stays doubled, for the columns read here are numbers, times and names.
class CsvRows {
 public:
  CsvRows(std::string_view text, TraceBuilder& trace, char separator = ',');
  std::size_t line() const { return line_; }
  bool next(std::vector<std::string_view>& fields);  // the next row that is not blank

 private:
  bool field(std::vector<std::string_view>& fields);
  std::size_t quoted(std::size_t open);

  std::string_view rest_;
  TraceBuilder& trace_;
  std::string ends_;         // of a field: the separator and the line feed
  std::string_view blanks_;  // that may stand before a quote
  std::size_t line_ = 0, next_line_ = 1;
};

// The signs that may stand between fields, by their words in a scenario.
const std::vector<std::pair<std::string, char>>& csv_separators();

using CsvHeader = std::vector<std::string_view>;

// The column of any of these names.
std::optional<std::size_t> column(const CsvHeader& header, const std::vector<std::string_view>& names);

}  // namespace weir
