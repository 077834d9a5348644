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
constexpr std::size_t listed_problems = 100;
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
      if (width_ == 0)
        header();
      else
        row();
    }
    if (width_ == 0) problem("expected a header with arrival, op and addr_hex, the file is empty");
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
    MemoryRequest request;
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
