#include "workloads/traces/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace weir {
namespace {

constexpr std::size_t listed_problems = 10;  // of one file; more of the same do not help

std::string at_line(std::size_t line) {
  return line ? fmt::format("line {}", line) : "";
}

template <class Number>
std::optional<Number> parsed(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

// Bytes of the character that the text begins with; 0 if it is a control character, one that changes the
// direction of what is behind it, or no UTF-8.
std::size_t visible_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) -> std::uint32_t { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return text[0] >= ' ' && text[0] <= '~';
  const std::size_t bytes = byte(0) >= 0xF0 ? 4 : byte(0) >= 0xE0 ? 3 : 2;
  if (byte(0) < 0xC2 || byte(0) > 0xF4 || text.size() < bytes) return 0;
  std::uint32_t code = byte(0) & (0xFFu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3F);
  }
  constexpr std::uint32_t first_of_length[] = {0, 0, 0xA0, 0x800, 0x10000};  // after the control characters
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  const bool turns = (code >= 0x200B && code <= 0x200F) || (code >= 0x2028 && code <= 0x202E) ||
                     (code >= 0x2066 && code <= 0x2069);
  return code < first_of_length[bytes] || code > 0x10FFFF || surrogate || turns ? 0 : bytes;
}

void count_from_first(Trace& trace) {
  std::vector<char> waits(trace.requests.size());
  for (const auto& [request, awaited] : trace.turns.awaits) waits[static_cast<std::size_t>(request)] = 1;
  Seconds first(max_arrival_s);
  for (std::size_t i = 0; i < waits.size(); ++i)
    if (!waits[i]) first = std::min(first, trace.requests[i].arrival);
  for (std::size_t i = 0; i < waits.size(); ++i)
    if (!waits[i]) trace.requests[i].arrival -= first;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string shown = "\"";
  for (std::size_t longest = 40; longest > 0 && !text.empty(); --longest) {
    const std::size_t bytes = visible_bytes(text);
    if (bytes > 0)
      shown += text.substr(0, bytes);
    else
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return shown + (text.empty() ? "\"" : "...\"");
}

std::string listed(const std::vector<std::string_view>& found) {
  constexpr std::size_t most = 20;
  std::string list = found.empty() ? "none" : "";
  for (std::size_t i = 0; i < std::min(found.size(), most); ++i)
    list += (i ? ", " : "") + printable(found[i]);
  return "found: " + list + (found.size() > most ? ", ..." : "");
}

std::string missing(std::string_view what, std::string_view name,
                    const std::vector<std::string_view>& found) {
  return fmt::format("no {} {} ({})", what, printable(name), listed(found));
}

void LineProblems::add(std::size_t line, std::string what) {
  if (count_++ < listed_problems) listed_.push_back({at_line(line), std::move(what)});
}

void LineProblems::add_once(std::size_t line, const std::string& kind, std::string what) {
  const auto [known, is_new] = repeated_.try_emplace(kind, Repeated{listed_.size(), 1});
  if (!is_new) {
    ++known->second.lines;
    return;
  }
  add(line, std::move(what));
}

void LineProblems::finish(const std::string& file) {
  for (const auto& [kind, repeated] : repeated_)
    if (repeated.lines > 1 && repeated.listed < listed_.size())
      listed_[repeated.listed].what += fmt::format("; {} such lines", repeated.lines);
  if (count_ > listed_problems)
    listed_.push_back({"", fmt::format("and {} more such lines", count_ - listed_problems)});
  if (!repeated_.empty()) throw WrongFields(file, listed_);
  if (!listed_.empty()) throw ConfigError(file, listed_);
}

std::vector<Problem> problems_at(const std::string& key, const ConfigError& of_file) {
  std::vector<Problem> problems;
  for (const Problem& p : of_file.problems())
    problems.push_back({key, fmt::format("{}: {}{}{}", shortened(of_file.file()), p.pointer,
                                         p.pointer.empty() ? "" : ": ", p.what)});
  return problems;
}

std::optional<std::int64_t> TraceBuilder::tokens(std::size_t line, std::string_view name,
                                                 std::string_view text) {
  auto value = parsed<std::int64_t>(text);
  if (!value) {  // pandas writes 2048.0 in a column that has a gap anywhere
    const auto real = parsed<double>(text);
    if (real && *real >= 1 && *real <= max_tokens && *real == std::floor(*real))
      value = static_cast<std::int64_t>(*real);
  }
  if (value && *value >= 1 && *value <= max_tokens) return value;
  problem(line, fmt::format("{}: expected a whole number of tokens from 1 to {}, got {}", name, max_tokens,
                            printable(text)));
  return {};
}

std::optional<double> TraceBuilder::seconds(std::size_t line, std::string_view name, std::string_view text,
                                            double unit_s) {
  const auto value = parsed<double>(text);
  if (value && std::isfinite(*value) && *value >= 0 && *value * unit_s <= max_arrival_s)
    return *value * unit_s;
  problem(line, fmt::format("{}: expected a time >= 0 (at most {} s), got {}", name, max_arrival_s,
                            printable(text)));
  return {};
}

std::optional<std::int64_t> TraceBuilder::count(std::size_t line, std::string_view name,
                                                std::string_view text, std::int64_t max) {
  const auto value = parsed<std::int64_t>(text);
  if (value && *value >= 0 && *value <= max) return value;
  problem(line, fmt::format("{}: expected a whole number from 0 to {}, got {}", name, max, printable(text)));
  return {};
}

std::optional<std::int32_t> TraceBuilder::priority(std::size_t line, std::string_view name,
                                                   std::string_view text) {
  const auto value = parsed<std::int32_t>(text);
  using Limits = std::numeric_limits<std::int32_t>;
  if (!value)
    problem(line, fmt::format("{}: expected a whole number from {} to {} (lower: more urgent), got {}", name,
                              Limits::min(), Limits::max(), printable(text)));
  return value;
}

void TraceBuilder::add(std::optional<double> arrival_s, std::int64_t input_tokens, std::int64_t output_tokens,
                       std::int32_t priority) {
  trace_.requests.push_back({Seconds(arrival_s.value_or(0)), input_tokens, output_tokens, priority});
}

void TraceBuilder::begins_with(Origin origin) {
  if (origin.tokens == 0) return;
  trace_.origins.resize(trace_.requests.size());
  trace_.origins.back() = origin;
}

void TraceBuilder::drop(std::string_view why, std::int64_t input_tokens) {
  auto known = std::ranges::find(dropped_, why, &Dropped::why);
  if (known == dropped_.end()) known = dropped_.insert(known, {std::string(why)});
  ++known->requests;
  known->input_tokens += input_tokens;
}

void TraceBuilder::note_once(std::string note) {
  if (std::find(trace_.notes.begin(), trace_.notes.end(), note) == trace_.notes.end())
    trace_.notes.push_back(std::move(note));
}

void TraceBuilder::no_arrival(std::size_t line, std::string_view why) {
  if (without_arrival_++ == 0)
    trace_.missing_arrivals = at_line(line) + (line ? ": " : "") + std::string(why);
}

Trace TraceBuilder::finish(bool from_first) {
  problems_.finish(file_);
  for (const auto& [why, count, tokens] : dropped_)
    trace_.notes.push_back(fmt::format("dropped {} of {} requests {}{}", count,
                                       count + std::ssize(trace_.requests), why,
                                       tokens > 0 ? fmt::format(" ({} prompt tokens)", tokens) : ""));
  auto& requests = trace_.requests;
  if (requests.empty()) {
    std::string what = "holds no request";
    for (const auto& [why, count, tokens] : dropped_) what += fmt::format("; {} were dropped {}", count, why);
    throw ConfigError(file_, "", what);
  }
  if (without_arrival_ > 1)
    trace_.missing_arrivals += fmt::format(" ({} of {} requests)", without_arrival_, requests.size());
  if (!trace_.origins.empty()) trace_.origins.resize(requests.size());
  if (!trace_.missing_arrivals.empty()) return std::move(trace_);

  if (from_first) count_from_first(trace_);
  if (!trace_.turns.empty()) return std::move(trace_);
  std::int64_t earlier = 0;
  for (std::size_t i = 1; i < requests.size(); ++i) earlier += requests[i].arrival < requests[i - 1].arrival;
  if (earlier > 0) {
    trace_.notes.push_back(
        fmt::format("{} requests came before the one above them: sorted by arrival", earlier));
    sort_by_arrival(trace_);
  }
  return std::move(trace_);
}

}  // namespace weir
