#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>

#include "workloads/traces/csv_rows.h"
#include "workloads/traces/readers.h"

namespace weir {
namespace {

struct Columns {
  std::vector<std::string_view> arrival, input, output;  // any one of these names
  bool failed_have_no_output = false;                    // a 0 there is a request that failed
  bool calendar = false;                                 // the arrival is a date and time of day
  std::vector<std::string_view> priority = {};           // need not be there
  bool chosen = false;                                   // by the user: all that are named must be there
  double unit_s = 1;                                     // of an arrival that is a number
  bool from_first = false;                               // such an arrival counts from the first one
  char separator = ',';
};

std::string undoubled(std::string_view quoted) {  // the text of a field whose quotes are doubled
  std::string text;
  for (std::size_t i = 0; i < quoted.size(); ++i) {
    text += quoted[i];
    if (quoted.substr(i, 2) == "\"\"") ++i;
  }
  return text;
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

// Columns about prefixes that do not say whose: prefix_blocks, prefix_hit_blocks, cached_tokens, ...
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
  RowReader(const Columns& columns, const std::vector<std::string_view>& header, TraceBuilder& trace,
            BlockIdLines* ids)
      : columns_(columns), trace_(trace), ids_(ids) {
    for (const std::string_view field : header) names_.push_back(undoubled(field));
    for (const std::string& name : names_) shown_.push_back(shortened(name, 60));
    header_.assign(names_.begin(), names_.end());
    arrival_ = column(header_, columns.arrival);
    input_ = column(header_, columns.input);
    output_ = column(header_, columns.output);
    priority_ = column(header_, columns.priority);
    if (!arrival_)
      no_column_ = columns.arrival.empty() ? "columns.arrival is null"
                                           : missing("column", columns.arrival.front(), header_);
    const std::initializer_list<std::optional<std::size_t>> all = {arrival_, input_, output_, priority_};
    for (const auto& used : all)
      if (used && std::ranges::count(header_, header_[*used]) > 1)
        trace_.problem(1, fmt::format("two columns {} ({})", printable(header_[*used]), listed(header_)));
    for (std::size_t i = 0; i < header_.size(); ++i)
      if (!ids && speaks_of_prefixes(header_[i]) && std::ranges::count(all, std::optional(i)) == 0)
        trace_.note_once(
            fmt::format("the column {} is not read: which prompts begin alike is read from sessions "
                        "or hash_ids",
                        printable(header_[i])));
    must_be_there(input_, columns.input);
    must_be_there(output_, columns.output);
    if (columns.chosen) must_be_there(arrival_, columns.arrival);
    if (columns.chosen) must_be_there(priority_, columns.priority);
    if (!usable() && header_.size() == 1) hint_at_separator();
  }
  bool usable() const { return input_ && output_; }

  void read(std::size_t line, const std::vector<std::string_view>& fields) {
    if (fields.size() != header_.size())
      return trace_.problem(line, fmt::format("expected {} fields, got {}", header_.size(), fields.size()));
    if (columns_.failed_have_no_output && fields[*output_] == "0")
      return trace_.drop(fmt::format("that failed ({} is 0)", header_[*output_]), tokens_in(fields[*input_]));
    if (columns_.failed_have_no_output && fields[*input_] == "0")
      return trace_.drop(fmt::format("without a prompt ({} is 0)", header_[*input_]), 0);
    const auto input = trace_.tokens(line, name(input_), fields[*input_]);
    const auto output = trace_.tokens(line, name(output_), fields[*output_]);
    const auto arrival = when(line, fields);
    const auto priority =
        priority_ ? trace_.priority(line, name(priority_), fields[*priority_]) : std::optional(0);
    if (input && output && priority) trace_.add(arrival, *input, *output, *priority);
    if (ids_) trace_.begins_with(ids_->next(input.value_or(max_tokens)));
  }

 private:
  std::string_view name(std::optional<std::size_t> column) const { return shown_[*column]; }

  // The request is left out, so that its field may hold anything.
  static std::int64_t tokens_in(std::string_view text) {
    std::int64_t tokens = 0;
    std::from_chars(text.data(), text.data() + text.size(), tokens);
    return std::clamp<std::int64_t>(tokens, 0, max_tokens);
  }

  void must_be_there(std::optional<std::size_t> found, const std::vector<std::string_view>& names) {
    if (found || names.empty()) return;
    const std::string name(names.front());
    trace_.problem_once(1, name, missing("column", name, header_));
  }

  void hint_at_separator() {
    for (const auto& [word, sign] : csv_separators())
      if (sign != columns_.separator && header_[0].find(sign) != std::string_view::npos)
        trace_.problem(
            1, fmt::format("is one column, with a {0} in its name: if {0}s stand between columns, requests "
                           "of kind \"columns\" with \"separator\": \"{0}\" read it",
                           word));
  }

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
    if (!columns_.calendar) {
      const auto seconds = trace_.seconds(line, name(arrival_), text, columns_.unit_s);
      return seconds && columns_.from_first ? since_first(text) : seconds;
    }
    const auto time = calendar_seconds(text, origin_);
    if (!time)
      trace_.problem(line, fmt::format("{}: expected a time such as 2023-11-16 18:15:46.6805900, got {}",
                                       name(arrival_), printable(text)));
    return time;
  }

  // A double rounds the nanoseconds since 1970 to 256 ns; what is between two of them it holds.
  double since_first(std::string_view number) {
    long double value = 0;
    std::from_chars(number.data(), number.data() + number.size(), value);
    if (!first_) first_ = value;
    return static_cast<double>((value - *first_) * columns_.unit_s);
  }

  const Columns& columns_;
  std::vector<std::string> names_, shown_;  // whole, and short for messages
  CsvHeader header_;                        // views of names_
  TraceBuilder& trace_;
  std::optional<std::size_t> arrival_, input_, output_, priority_;
  BlockIdLines* ids_;  // null: nobody says how prompts begin
  std::string no_column_;
  std::optional<std::int64_t> origin_;
  std::optional<long double> first_;  // arrival that was read
};

Trace read_columns(std::string_view text, const std::string& file, const Columns& columns,
                   BlockIdLines* ids = nullptr) {
  TraceBuilder trace(file);
  CsvRows rows(text, trace, columns.separator);
  std::vector<std::string_view> fields;
  if (!rows.next(fields)) throw ConfigError(file, "", "is empty");
  RowReader reader(columns, fields, trace, ids);
  while (reader.usable() && rows.next(fields)) reader.read(rows.line(), fields);
  if (ids && !trace.failed()) ids->finish();
  return trace.finish(columns.calendar || columns.from_first);
}

Columns own_columns() {
  return {.arrival = {"arrival_s"},
          .input = {"input_tokens"},
          .output = {"output_tokens"},
          .priority = {"priority"}};
}

}  // namespace

Trace read_csv(std::string_view text, const std::string& file) {
  return read_columns(text, file, own_columns());
}

Trace read_csv_with_ids(std::string_view text, const std::string& file, BlockIdLines ids) {
  return read_columns(text, file, own_columns(), &ids);
}

Trace read_mapped(std::string_view text, const std::string& file, const ColumnMap& map) {
  const auto named = [](const std::optional<std::string>& name) {
    return name ? std::vector<std::string_view>{*name} : std::vector<std::string_view>{};
  };
  Trace trace = read_columns(text, file,
                             {.arrival = named(map.arrival),
                              .input = {map.input_tokens},
                              .output = {map.output_tokens},
                              .calendar = !map.unit_s,
                              .priority = named(map.priority),
                              .chosen = true,
                              .unit_s = map.unit_s.value_or(1),
                              .from_first = map.from_first,
                              .separator = map.separator});
  constexpr Seconds years(1e8);  // three: no service was started to be idle so long
  if (const Seconds first = trace.requests.front().arrival; trace.missing_arrivals.empty() && first > years)
    trace.notes.push_back(
        fmt::format("the first request comes at {:.0f} s: if times are since 1970, from_first: true makes it "
                    "0 s",
                    first.value()));
  return trace;
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

// The output of generate_workload of alibaba/ServeGen, in seconds: the fields of a Request
// (servegen/construct.py: timestamp, and data with input_tokens and output_tokens), which it leaves to its
// user to write.
Trace read_servegen(std::string_view text, const std::string& file) {
  return read_columns(text, file, {{"timestamp", "arrival_time"}, {"input_tokens"}, {"output_tokens"}});
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
