#include "sim/app/memory/trace_csv.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "sim/app/output/output_file.h"
#include "sim/core/params.h"
#include "workloads/traces/trace.h"

namespace weir {
namespace {

constexpr Cycles last_arrival = 1'000'000'000'000;  // beyond, it is another unit
constexpr std::size_t listed_problems = 10;
constexpr std::string_view names[] = {"arrival", "op", "addr_hex"};

template <class Number>
std::optional<Number> number(std::string_view text, int base) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  return text;
}

// Reads one file, line by line.
class Reader {
 public:
  Reader(std::string file, const MemorySpec& memory)
      : file_(std::move(file)), capacity_(static_cast<std::uint64_t>(memory.organisation.capacity())) {}

  std::vector<MemoryRequest> read(std::string_view text) {
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      ++line_;
      split(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
      if (fields_.size() == 1 && fields_[0].empty()) continue;
      if (width_ == 0 && fields_.size() == 1) foreign_ = foreign_ || foreign_row(fields_[0], true);
      if (foreign_)
        foreign_row(fields_[0], false);
      else if (width_ == 0)
        header();
      else
        row();
    }
    if (width_ == 0 && !foreign_)
      problem("expected a header with arrival, op and addr_hex, the file is empty");
    if (problems_.empty() && requests_.empty()) problem("expected at least one request below the header");
    if (count_ > problems_.size())
      problems_.push_back({"", fmt::format("{} problems more", count_ - problems_.size())});
    if (!problems_.empty()) throw ConfigError(file_, std::move(problems_));
    return std::move(requests_);
  }

 private:
  void problem(std::string what) {
    if (++count_ <= listed_problems) problems_.push_back({fmt::format("line {}", line_), std::move(what)});
  }

  void split(std::string_view line) {
    fields_.clear();
    for (std::size_t from = 0; from <= line.size();) {
      const std::size_t end = std::min(line.find(',', from), line.size());
      fields_.push_back(trimmed(line.substr(from, end - from)));
      from = end + 1;
    }
  }

  // A row of DRAMsim3's traces, `0x40 READ 12`, or of Ramulator's, which have no cycles and are offered as
  // fast as the channel takes them: `LD 0x40`, `0x40 R`. `probe`: tells whether it is one, and no more.
  bool foreign_row(std::string_view line, bool probe) {
    std::vector<std::string_view> words;
    for (std::size_t at = 0; (at = line.find_first_not_of(" \t", at)) != line.npos;) {
      const std::size_t end = std::min(line.find_first_of(" \t", at), line.size());
      words.push_back(line.substr(at, end - at));
      at = end;
    }
    const auto is_write = [](std::string_view word) -> std::optional<bool> {
      for (const std::string_view write : {"WRITE", "W", "ST", "P_MEM_WR", "BOFF"})
        if (word == write) return true;
      for (const std::string_view read : {"READ", "R", "LD", "P_MEM_RD"})
        if (word == read) return false;
      return {};
    };
    const bool op_first = words.size() == 2 && is_write(words[0]).has_value();
    const auto op = words.size() == 2 || words.size() == 3 ? is_write(words[op_first ? 0 : 1]) : std::nullopt;
    const std::string_view given = op ? words[op_first ? 1 : 0] : line;
    std::string_view hex = given;
    const bool prefixed = hex.starts_with("0x") || hex.starts_with("0X");
    if (prefixed) hex.remove_prefix(2);
    const auto address =
        op ? number<std::uint64_t>(hex, prefixed || words.size() == 3 ? 16 : 10) : std::nullopt;
    const auto cycle = words.size() == 3 ? number<Cycles>(words[2], 10) : std::optional<Cycles>(last_);
    if (probe) return op && address && cycle;
    if (!op || !address || *address >= capacity_)
      problem(fmt::format(
          "expected `ADDRESS READ CYCLE` as DRAMsim3 or `LD ADDRESS` as Ramulator has it, below the "
          "channel's {:#x} bytes, got {}",
          capacity_, printable(line)));
    else if (!cycle || *cycle < last_ || *cycle > last_arrival)
      problem(fmt::format("expected a cycle from {}, that of the row above, to {}, got {}", last_,
                          last_arrival, printable(words[2])));
    last_ = std::max(last_, cycle.value_or(0));
    requests_.push_back({last_, address.value_or(0), op.value_or(false)});
    return true;
  }

  void header() {
    width_ = fields_.size();
    for (std::size_t i = 0; i < std::size(names); ++i) {
      const auto at = std::find(fields_.begin(), fields_.end(), names[i]);
      if (at == fields_.end()) problem(missing("column", names[i], fields_));
      if (std::ranges::count(fields_, names[i]) > 1) problem(fmt::format("two columns \"{}\"", names[i]));
      columns_[i] = static_cast<std::size_t>(at - fields_.begin());
    }
    if (!problems_.empty()) throw ConfigError(file_, std::move(problems_));  // rows would mean nothing
  }

  void row() {
    if (fields_.size() != width_)
      return problem(fmt::format("expected {} columns as in the header, got {}", width_, fields_.size()));
    const std::string_view arrival = fields_[columns_[0]], op = fields_[columns_[1]];
    std::string_view hex = fields_[columns_[2]];
    const auto cycle = number<Cycles>(arrival, 10);
    if (!cycle || *cycle < 0 || *cycle > last_arrival)
      problem(
          fmt::format("arrival: expected a cycle from 0 to {}, got {}", last_arrival, printable(arrival)));
    else if (*cycle < last_)
      problem(fmt::format("arrival: expected at least {}, that of the row above, got {}", last_, *cycle));
    if (op != "R" && op != "W") problem(fmt::format("op: expected R or W, got {}", printable(op)));
    const std::string_view given = hex;
    if (hex.starts_with("0x") || hex.starts_with("0X")) hex.remove_prefix(2);
    const auto address = number<std::uint64_t>(hex, 16);
    if (!address || *address >= capacity_)
      problem(fmt::format("addr_hex: expected a hexadecimal address below the channel's {:#x} bytes, got {}",
                          capacity_, printable(given)));
    last_ = std::max(last_, cycle.value_or(0));
    requests_.push_back({cycle.value_or(0), address.value_or(0), op == "W"});
  }

  std::string file_;
  std::uint64_t capacity_;
  std::size_t line_ = 0, width_ = 0, count_ = 0;
  bool foreign_ = false;  // rows of DRAMsim3 or Ramulator, without a header
  std::array<std::size_t, std::size(names)> columns_{};
  std::vector<std::string_view> fields_;
  Cycles last_ = 0;
  std::vector<Problem> problems_;
  std::vector<MemoryRequest> requests_;
};

}  // namespace

std::vector<MemoryRequest> read_memory_trace(const std::filesystem::path& file, const MemorySpec& memory) {
  return Reader(file.string(), memory).read(read_text_file(file));
}

void append_row(fmt::memory_buffer& buffer, const MemoryRequest& request, const ServedRequest& served) {
  append_integer(buffer, request.arrival);
  fmt::format_to(std::back_inserter(buffer), ",{},{:#x},", request.is_write ? 'W' : 'R', request.address);
  append_integer(buffer, served.accept);
  buffer.push_back(',');
  append_integer(buffer, served.complete);
  buffer.push_back(',');
  append_integer(buffer, served.data_end);
}

}  // namespace weir
