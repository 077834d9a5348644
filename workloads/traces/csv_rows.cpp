#include "workloads/traces/csv_rows.h"

#include <algorithm>

namespace weir {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  return text;
}

}  // namespace

CsvRows::CsvRows(std::string_view text, TraceBuilder& trace, char separator)
    : rest_(text), trace_(trace), ends_{separator, '\n'}, blanks_(separator == '\t' ? " " : " \t") {
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
    trace.problem(0, "is UTF-16; expected UTF-8");
  if (rest_.starts_with("\xEF\xBB\xBF")) rest_.remove_prefix(3);
}

bool CsvRows::next(std::vector<std::string_view>& fields) {  // the next row that is not blank
  do {
    if (rest_.empty()) return false;
    line_ = next_line_;
    fields.clear();
    while (field(fields)) {
    }
  } while (fields.size() == 1 && fields[0].empty());
  return true;
}

// Takes one field off the rest; true if the row goes on.
bool CsvRows::field(std::vector<std::string_view>& fields) {
  std::size_t from = 0;
  if (const auto first = rest_.find_first_not_of(blanks_); first != rest_.npos && rest_[first] == '"')
    from = quoted(first);
  const std::size_t end = std::min(rest_.find_first_of(ends_, from), rest_.size());
  std::string_view text = trimmed(rest_.substr(0, end));
  if (from > 0) {
    if (text.size() < 2 || text.back() != '"')
      trace_.problem(line_, "text after a closing quote, or no closing quote");
    text = text.substr(1, std::max<std::size_t>(text.size(), 2) - 2);
  }
  fields.push_back(text);
  const bool more = end < rest_.size() && rest_[end] == ends_[0];
  if (!more) ++next_line_;
  const bool last_is_empty = more && end + 1 == rest_.size();
  rest_.remove_prefix(std::min(end + 1, rest_.size()));
  if (last_is_empty) fields.emplace_back();
  return more && !last_is_empty;
}

// The place after the closing quote of the field that opens at `open`; the end if there is none.
std::size_t CsvRows::quoted(std::size_t open) {
  for (std::size_t i = open + 1; i < rest_.size(); ++i) {
    if (rest_[i] == '\n') ++next_line_;
    if (rest_[i] != '"') continue;
    if (i + 1 == rest_.size() || rest_[i + 1] != '"') return i + 1;
    ++i;
  }
  return rest_.size();
}

const std::vector<std::pair<std::string, char>>& csv_separators() {
  static const std::vector<std::pair<std::string, char>> table = {
      {"comma", ','}, {"semicolon", ';'}, {"tab", '\t'}};
  return table;
}

std::optional<std::size_t> column(const CsvHeader& header, const std::vector<std::string_view>& names) {
  for (const std::string_view name : names)
    if (const auto it = std::find(header.begin(), header.end(), name); it != header.end())
      return static_cast<std::size_t>(it - header.begin());
  return {};
}

}  // namespace weir
