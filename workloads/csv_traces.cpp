#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "workloads/readers.h"

namespace weir {
namespace {

// The rows of a CSV file (RFC 4180, LF or CRLF, byte order mark allowed). A quoted field comes without its
// outer quotes; a doubled quote inside stays doubled, for the columns read here are numbers and times.
class CsvRows {
 public:
  CsvRows(std::string_view text, TraceBuilder& trace) : rest_(text), trace_(trace) {
    if (rest_.starts_with("\xEF\xBB\xBF")) rest_.remove_prefix(3);
  }
  std::size_t line() const { return line_; }

  bool next(std::vector<std::string_view>& fields) {  // the next row that is not blank
    do {
      if (rest_.empty()) return false;
      line_ = next_line_;
      fields.clear();
      while (field(fields)) {
      }
    } while (fields.size() == 1 && fields[0].empty());
    return true;
  }

 private:
  static std::string_view trimmed(std::string_view text) {
    const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
    while (!text.empty() && blank(text.back())) text.remove_suffix(1);
    while (!text.empty() && blank(text.front())) text.remove_prefix(1);
    return text;
  }

  // Takes one field off the rest; true if the row goes on.
  bool field(std::vector<std::string_view>& fields) {
    std::size_t from = 0;
    if (const auto first = rest_.find_first_not_of(" \t"); first != rest_.npos && rest_[first] == '"')
      from = quoted(first);
    const std::size_t end = std::min(rest_.find_first_of(",\n", from), rest_.size());
    std::string_view text = trimmed(rest_.substr(0, end));
    if (from > 0) {
      if (text.size() < 2 || text.back() != '"')
        trace_.problem(line_, "text after a closing quote, or no closing quote");
      text = text.substr(1, std::max<std::size_t>(text.size(), 2) - 2);
    }
    fields.push_back(text);
    const bool more = end < rest_.size() && rest_[end] == ',';
    if (!more) ++next_line_;
    const bool last_is_empty = more && end + 1 == rest_.size();
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    if (last_is_empty) fields.emplace_back();
    return more && !last_is_empty;
  }

  // The place after the closing quote of the field that opens at `open`; the end if there is none.
  std::size_t quoted(std::size_t open) {
    for (std::size_t i = open + 1; i < rest_.size(); ++i) {
      if (rest_[i] == '\n') ++next_line_;
      if (rest_[i] != '"') continue;
      if (i + 1 == rest_.size() || rest_[i + 1] != '"') return i + 1;
      ++i;
    }
    return rest_.size();
  }

  std::string_view rest_;
  TraceBuilder& trace_;
  std::size_t line_ = 0, next_line_ = 1;
};

struct Columns {
  std::vector<std::string_view> arrival, input, output;  // any one of these names
  bool failed_have_no_output = false;                    // a 0 there is a request that failed
  bool calendar = false;                                 // the arrival is a date and time of day
  std::vector<std::string_view> priority = {};           // need not be there
};

using Header = std::vector<std::string_view>;

std::optional<std::size_t> column(const Header& header, const std::vector<std::string_view>& names) {
  for (const std::string_view name : names)
    if (const auto it = std::find(header.begin(), header.end(), name); it != header.end())
      return static_cast<std::size_t>(it - header.begin());
  return {};
}

// "2023-11-16 18:15:46.6805900" with any number of digits, "T" for the space, and "Z" or "+00:00" behind (the
// files of 2024 have it), in seconds since `origin`, which the first call sets: a double holds no 100 ns
// since 1970.
std::optional<double> calendar_seconds(std::string_view text, std::optional<std::int64_t>& origin) {
  const auto digits = [&text](std::size_t n) -> std::int64_t {
    std::int64_t value = 0;
    if (text.size() < n) return -1;
    for (const char c : text.substr(0, n)) {
      if (c < '0' || c > '9') return -1;
      value = 10 * value + (c - '0');
    }
    text.remove_prefix(n);
    return value;
  };
  const auto skip = [&text](std::string_view any) {
    if (text.empty() || any.find(text.front()) == any.npos) return false;
    text.remove_prefix(1);
    return true;
  };
  const auto two = [&](std::string_view before, std::int64_t max) {
    const std::int64_t value = skip(before) ? digits(2) : -1;
    return value <= max ? value : -1;
  };
  const std::int64_t year = digits(4), month = two("-", 12), day = two("-", 31);
  const std::int64_t hour = two(" T", 23), minute = two(":", 59), second = two(":", 60);
  if (std::min({year, month, day, hour, minute, second}) < 0) return {};
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(year)),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return {};
  double fraction = 0;
  if (skip(".,"))
    for (double place = 0.1; !text.empty() && text[0] >= '0' && text[0] <= '9';
         place /= 10, text.remove_prefix(1))
      fraction += place * (text[0] - '0');
  std::int64_t offset = 0;
  if (const bool ahead = text.starts_with('+'); ahead || text.starts_with('-')) {
    const std::int64_t hours = two("+-", 23), minutes = two(":", 59);
    if (hours < 0 || minutes < 0) return {};
    offset = (ahead ? 60 : -60) * (60 * hours + minutes);
  } else {
    skip("Z");
  }
  if (!text.empty()) return {};
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  const std::int64_t whole = 86400 * days + 3600 * hour + 60 * minute + second - offset;
  if (!origin) origin = whole;
  return static_cast<double>(whole - *origin) + fraction;
}

// Columns about prefixes are not replayed: prefix_blocks, prefix_hit_blocks, cached_tokens, ...
bool speaks_of_prefixes(std::string_view column) {
  std::string name(column);
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name.find("prefix") != name.npos || name.find("hit") != name.npos ||
         name.find("cached") != name.npos || name == "shares_with" || name == "shared_tokens" ||
         name == "hash_ids";
}

// Reads a row, once the header is known.
class RowReader {
 public:
  RowReader(const Columns& columns, Header header, TraceBuilder& trace)
      : columns_(columns), header_(std::move(header)), trace_(trace) {
    arrival_ = column(header_, columns.arrival);
    input_ = column(header_, columns.input);
    output_ = column(header_, columns.output);
    priority_ = column(header_, columns.priority);
    if (!arrival_) no_column_ = missing("column", columns.arrival.front(), header_);
    for (const auto& used : {arrival_, input_, output_, priority_})
      if (used && std::ranges::count(header_, header_[*used]) > 1)
        trace_.problem(1, fmt::format("two columns {}", printable(header_[*used])));
    for (const std::string_view name : header_)
      if (speaks_of_prefixes(name))
        trace_.note_once(
            fmt::format("the column {} is not read: every prompt is computed, prefixes that requests share "
                        "are not found again",
                        printable(name)));
    for (const auto* names : {&columns.input, &columns.output})
      if (!column(header_, *names)) trace_.problem(1, missing("column", names->front(), header_));
  }
  bool usable() const { return input_ && output_; }

  void read(std::size_t line, const std::vector<std::string_view>& fields) {
    if (fields.size() != header_.size())
      return trace_.problem(line, fmt::format("expected {} fields, got {}", header_.size(), fields.size()));
    if (columns_.failed_have_no_output && fields[*output_] == "0")
      return trace_.drop(fmt::format("that failed ({} is 0)", header_[*output_]));
    if (columns_.failed_have_no_output && fields[*input_] == "0")
      return trace_.drop(fmt::format("without a prompt ({} is 0)", header_[*input_]));
    const auto input = trace_.tokens(line, header_[*input_], fields[*input_]);
    const auto output = trace_.tokens(line, header_[*output_], fields[*output_]);
    const auto arrival = when(line, fields);
    const auto priority =
        priority_ ? trace_.priority(line, header_[*priority_], fields[*priority_]) : std::optional(0);
    if (input && output && priority) trace_.add(arrival, *input, *output, *priority);
  }

 private:
  std::optional<double> when(std::size_t line, const std::vector<std::string_view>& fields) {
    if (!arrival_) {
      trace_.no_arrival(0, no_column_);
      return {};
    }
    const std::string_view text = fields[*arrival_];
    if (text.empty()) {
      trace_.no_arrival(line, "the arrival is empty");
      return {};
    }
    if (!columns_.calendar) return trace_.seconds(line, header_[*arrival_], text, 1);
    const auto time = calendar_seconds(text, origin_);
    if (!time)
      trace_.problem(line, fmt::format("{}: expected a time such as 2023-11-16 18:15:46.6805900, got {}",
                                       header_[*arrival_], printable(text)));
    return time;
  }

  const Columns& columns_;
  Header header_;
  TraceBuilder& trace_;
  std::optional<std::size_t> arrival_, input_, output_, priority_;
  std::string no_column_;
  std::optional<std::int64_t> origin_;
};

Trace read_columns(std::string_view text, const std::string& file, const Columns& columns) {
  TraceBuilder trace(file);
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
    trace.problem(0, "is UTF-16; expected UTF-8");
  CsvRows rows(text, trace);
  std::vector<std::string_view> fields;
  if (!rows.next(fields)) throw ConfigError(file, "", "is empty");
  RowReader reader(columns, fields, trace);
  while (reader.usable() && rows.next(fields)) reader.read(rows.line(), fields);
  return trace.finish(columns.calendar);
}

}  // namespace

Trace read_csv(std::string_view text, const std::string& file) {
  return read_columns(text, file,
                      {.arrival = {"arrival_s"},
                       .input = {"input_tokens"},
                       .output = {"output_tokens"},
                       .priority = {"priority"}});
}

// AzureLLMInferenceDataset2023.md of Azure/AzurePublicDataset; 2024 has the same columns.
Trace read_azure(std::string_view text, const std::string& file) {
  return read_columns(text, file, {{"TIMESTAMP"}, {"ContextTokens"}, {"GeneratedTokens"}, false, true});
}

// README.md of HPMLL/BurstGPT: "Timestamp" in seconds, "Response tokens" 0 where the request failed. v3 adds
// columns.
Trace read_burstgpt(std::string_view text, const std::string& file) {
  return read_columns(text, file, {{"Timestamp"}, {"Request tokens"}, {"Response tokens"}, true});
}

// data/processed_traces of microsoft/vidur (lengths only), and what its own runs write.
Trace read_vidur(std::string_view text, const std::string& file) {
  return read_columns(text, file,
                      {{"arrived_at", "arrived_at_s"}, {"num_prefill_tokens"}, {"num_decode_tokens"}});
}

// traces/ of Mutinifni/splitwise-sim; "token_size" is the generated tokens.
Trace read_splitwise(std::string_view text, const std::string& file) {
  return read_columns(text, file, {{"arrival_timestamp"}, {"prompt_size"}, {"token_size"}});
}

}  // namespace weir
