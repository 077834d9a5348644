// Sessions in CSV, a row a request: readers.h says which columns. A row waits for others (`after`), and its
// prompt begins as another's prompt and answer (`shares_with`); rows may name rows anywhere in the file, as
// long as no way along these comes back to where it began.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "workloads/traces/csv_rows.h"
#include "workloads/traces/readers.h"

namespace weir {
namespace {

constexpr std::int64_t most_turns = 1'000'000'000;

struct SessionColumns {
  std::optional<std::size_t> session, turn, start, after, gap, input, output, shares_with, shared_tokens,
      measured;
};

struct Row {
  std::size_t line = 0;
  std::int32_t name = -1;  // -1: the row does not say which turn it is
  std::int64_t turn = 0;
  std::optional<double> start_s;
  double gap_s = 0;
  std::int64_t input = 0, output = 0;  // 0: that was no number
  std::string_view after, shares_with;
  std::optional<std::int64_t> shared_tokens;
  bool measured = true;
  std::int32_t previous = -1;  // the turn before
  Origin origin = {};
};

using Edges = std::vector<std::pair<std::int32_t, std::int32_t>>;

class SessionReader {
 public:
  SessionReader(CsvHeader header, TraceBuilder& trace) : header_(std::move(header)), trace_(trace) {
    const std::pair<const char*, std::optional<std::size_t>*> columns[] = {
        {"session_id", &at_.session},
        {"turn", &at_.turn},
        {"start_s", &at_.start},
        {"after", &at_.after},
        {"gap_s", &at_.gap},
        {"input_tokens", &at_.input},
        {"output_tokens", &at_.output},
        {"shares_with", &at_.shares_with},
        {"measured", &at_.measured},
        {"shared_tokens", &at_.shared_tokens}};
    for (const auto& [name, index] : columns) {
      *index = column(header_, {name});
      if (std::ranges::count(header_, name) > 1)
        trace_.problem(1, fmt::format("two columns {}", printable(name)));
    }
    for (const auto& [name, index] : {columns[0], columns[5], columns[6]})
      if (!*index) trace_.problem(1, missing("column", name, header_));
  }
  bool usable() const { return at_.session && at_.input && at_.output; }

  void read(std::size_t line, const std::vector<std::string_view>& fields) {
    if (fields.size() != header_.size()) {
      all_named_ = false;
      return trace_.problem(line, fmt::format("expected {} fields, got {}", header_.size(), fields.size()));
    }
    const auto field = [&](std::optional<std::size_t> i) { return i ? fields[*i] : std::string_view(); };
    Row row;
    row.line = line;
    row.after = field(at_.after);
    row.shares_with = field(at_.shares_with);
    name(row, fields[*at_.session], field(at_.turn));
    row.input = trace_.tokens(line, "input_tokens", fields[*at_.input]).value_or(0);
    row.output = trace_.tokens(line, "output_tokens", fields[*at_.output]).value_or(0);
    if (const auto text = field(at_.start); !text.empty())
      row.start_s = trace_.seconds(line, "start_s", text, 1);
    if (const auto text = field(at_.gap); !text.empty())
      row.gap_s = trace_.seconds(line, "gap_s", text, 1).value_or(0);
    if (const auto text = field(at_.shared_tokens); !text.empty())
      row.shared_tokens = trace_.count(line, "shared_tokens", text, max_tokens);
    if (const auto text = field(at_.measured); !text.empty())
      row.measured = trace_.count(line, "measured", text, 1).value_or(1) == 1;
    rows_.push_back(row);
  }

  Trace finish() {
    find_previous();
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      wait(static_cast<std::int32_t>(i));
      share(static_cast<std::int32_t>(i));
    }
    const std::vector<std::int32_t> order = ordered();
    check_starts();
    if (trace_.failed()) return trace_.finish();  // which throws
    Trace trace = built();
    rearrange(trace, order);
    return trace;
  }

 private:
  static std::size_t slot(std::int32_t row) { return static_cast<std::size_t>(row); }
  // One number for both: neither is beyond 31 bits.
  static std::int64_t key(std::int32_t name, std::int64_t turn) {
    return (static_cast<std::int64_t>(name) << 31) + turn;
  }
  std::string shown(const Row& row) const {
    return fmt::format("turn {} of session {}", row.turn, printable(names_[slot(row.name)]));
  }

  void name(Row& row, std::string_view session, std::string_view turn) {
    if (session.empty() || session.find_first_of(" \t") != session.npos) {
      trace_.problem(row.line,
                     fmt::format("session_id: expected a name without blanks, got {}", printable(session)));
      all_named_ = false;
      return;
    }
    const auto [known, fresh] = name_of_.try_emplace(session, static_cast<std::int32_t>(names_.size()));
    if (fresh) {
      names_.push_back(session);
      next_turn_.push_back(0);
    }
    const std::int32_t name = known->second;
    const auto number =
        at_.turn ? trace_.count(row.line, "turn", turn, most_turns) : next_turn_[slot(name)]++;
    if (!number) {
      all_named_ = false;
      return;
    }
    row.name = name;
    row.turn = *number;
    numbered_.emplace_back(key(name, *number), static_cast<std::int32_t>(rows_.size()));
  }

  void find_previous() {
    std::ranges::sort(numbered_);
    for (std::size_t i = 1, first = 0; i < numbered_.size(); ++i) {  // first: of those of one turn
      Row& row = rows_[slot(numbered_[i].second)];
      if (numbered_[i].first != numbered_[first].first)
        first = i;
      else
        trace_.problem(row.line, fmt::format("turn: {} is in line {} already", shown(row),
                                             rows_[slot(numbered_[first].second)].line));
      if (rows_[slot(numbered_[i - 1].second)].name == row.name) row.previous = numbered_[i - 1].second;
    }
  }

  // The row that a text "session:turn" names; -1 where there is none, which is told.
  std::int32_t named(const Row& row, const char* column, std::string_view text) {
    const std::size_t colon = text.rfind(':');
    const auto wrong = [&](const std::string& what) {
      trace_.problem(row.line, fmt::format("{}: {}", column, what));
      return -1;
    };
    const std::string_view digits = colon == text.npos ? std::string_view() : text.substr(colon + 1);
    std::int64_t turn = 0;
    for (const char c : digits)
      turn = c >= '0' && c <= '9' && turn <= most_turns ? 10 * turn + (c - '0') : most_turns + 1;
    if (digits.empty() || turn > most_turns)
      return wrong(fmt::format("expected session:turn, got {}", printable(text)));
    const std::string_view session = text.substr(0, colon);
    // The turn before is what most name: no search then.
    if (row.previous >= 0 && rows_[slot(row.previous)].turn == turn && session == names_[slot(row.name)])
      return row.previous;
    const auto name = name_of_.find(session);
    const std::int64_t wanted = name == name_of_.end() ? -1 : key(name->second, turn);
    const auto found = std::ranges::lower_bound(numbered_, std::pair(wanted, 0));
    if (found == numbered_.end() || found->first != wanted)  // unless it is one that could not be read
      return all_named_ ? wrong(fmt::format("there is no request {}", printable(text))) : -1;
    if (&rows_[slot(found->second)] == &row) return wrong("names its own row");
    return found->second;
  }

  void wait(std::int32_t i) {
    const Row& row = rows_[slot(i)];
    const std::size_t before = awaits_.size();
    constexpr std::string_view blanks = " \t";
    for (std::string_view rest = row.after; rest.find_first_not_of(blanks) != rest.npos;) {
      rest.remove_prefix(rest.find_first_not_of(blanks));
      const std::size_t length = std::min(rest.find_first_of(blanks), rest.size());
      if (const std::int32_t awaited = named(row, "after", rest.substr(0, length)); awaited >= 0)
        awaits_.emplace_back(i, awaited);
      rest.remove_prefix(length);
    }
    if (row.after.empty() && !row.start_s && row.previous >= 0) awaits_.emplace_back(i, row.previous);
    if (!row.after.empty() && row.start_s)
      trace_.problem(row.line, "start_s: expected none beside after: gap_s says how long it waits then");
    if (row.after.empty() && awaits_.size() == before && row.gap_s > 0)
      trace_.problem(row.line, "gap_s: expected none of a request that waits for no other");
  }

  void share(std::int32_t i) {
    Row& row = rows_[slot(i)];
    std::int32_t of = row.previous;
    if (!row.shares_with.empty()) of = named(row, "shares_with", row.shares_with);
    if (of < 0) {
      if (row.shares_with.empty() && row.shared_tokens.value_or(0) > 0 && all_named_)
        trace_.problem(row.line, "shared_tokens: there is neither shares_with nor a turn before");
      return;
    }
    const Row& other = rows_[slot(of)];
    if (row.input == 0 || other.input == 0 || other.output == 0) return;  // which was told
    const std::int64_t text = other.input + other.output;
    const std::int64_t tokens = row.shared_tokens.value_or(std::min(text, row.input));
    if (tokens > row.input)
      trace_.problem(row.line, fmt::format("shared_tokens: expected at most the {} of input_tokens, got {}",
                                           row.input, tokens));
    if (tokens > text)
      trace_.problem(
          row.line,
          fmt::format("shared_tokens: expected at most the {} of prompt and answer in line {}, got {}", text,
                      other.line, tokens));
    if (tokens > 0) row.origin = {of, tokens};
  }

  std::vector<std::int32_t> ordered() {
    Edges before = awaits_;
    for (std::size_t i = 0; i < rows_.size(); ++i)
      if (rows_[i].origin.request >= 0)
        before.emplace_back(static_cast<std::int32_t>(i), rows_[i].origin.request);
    std::vector<std::int32_t> order = in_order(rows_.size(), before);
    if (order.size() == rows_.size()) return order;
    // Whoever is in a circle is left out from either end.
    std::vector<char> free(rows_.size());
    for (const std::int32_t i : order) free[slot(i)] = 1;
    for (auto& [later, earlier] : before) std::swap(later, earlier);
    for (const std::int32_t i : in_order(rows_.size(), before)) free[slot(i)] = 1;
    for (std::size_t i = 0; i < rows_.size(); ++i)
      if (!free[i])
        trace_.problem(rows_[i].line,
                       "after, shares_with: the request waits for itself, or shares with itself, "
                       "by way of others");
    return order;
  }

  // Requests that wait for no other come when they say, or none of them says when.
  void check_starts() {
    std::vector<char> waits(rows_.size());
    for (const auto& [later, earlier] : awaits_) waits[slot(later)] = 1;
    const auto with_start =
        std::ranges::find_if(rows_, [](const Row& row) { return row.start_s.has_value(); });
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const Row& row = rows_[i];
      if (waits[i] || row.start_s || !row.after.empty() || row.name < 0) continue;
      trace_.no_arrival(row.line, "it waits for no other and has no start_s");
      if (with_start != rows_.end())
        trace_.problem(row.line,
                       fmt::format("start_s: expected one of a request that waits for no other, as in "
                                   "line {}",
                                   with_start->line));
    }
  }

  // A log has a start for each of its requests; whoever keeps them gets what they say.
  void note_starts() {
    const auto later = std::ranges::count_if(
        rows_, [](const Row& row) { return row.start_s && row.previous >= 0 && row.after.empty(); });
    if (later > 0)
      trace_.note_once(
          fmt::format("{} requests behind the first of their session have a start_s: they come then, "
                      "whether the turn before has been answered or not",
                      later));
  }

  Trace built() {
    note_starts();
    for (const std::string_view name : names_) trace_.turns().names.emplace_back(name);
    for (const Row& row : rows_) {
      trace_.add({Seconds(row.start_s.value_or(0)), row.input, row.output, 0, row.measured});
      trace_.begins_with(row.origin);
      trace_.turns().add(row.name, row.turn, Seconds(row.gap_s));
    }
    trace_.turns().awaits = std::move(awaits_);
    return trace_.finish();
  }

  CsvHeader header_;
  TraceBuilder& trace_;
  SessionColumns at_;
  std::vector<Row> rows_;
  std::vector<std::string_view> names_;
  std::vector<std::int64_t> next_turn_;  // of each, where the file numbers none
  std::unordered_map<std::string_view, std::int32_t> name_of_;
  std::vector<std::pair<std::int64_t, std::int32_t>> numbered_;  // rows by key, once all are read
  bool all_named_ = true;
  Edges awaits_;
};

}  // namespace

Trace read_sessions(std::string_view text, const std::string& file) {
  TraceBuilder trace(file);
  CsvRows rows(text, trace);
  std::vector<std::string_view> fields;
  if (!rows.next(fields)) throw ConfigError(file, "", "is empty");
  SessionReader reader(fields, trace);
  while (reader.usable() && rows.next(fields)) reader.read(rows.line(), fields);
  return reader.finish();
}

}  // namespace weir
