#include "devices/profile_bundle.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <tuple>

#include "sim/core/params.h"

namespace weir {
namespace {

constexpr std::size_t listed_problems = 10;  // of one file; more of the same do not help

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> cells;
  for (std::size_t from = 0; from <= line.size();) {
    const std::size_t to = std::min(line.find(',', from), line.size());
    cells.push_back(line.substr(from, to - from));
    from = to + 1;
  }
  return cells;
}

double number(const std::string& cell) {  // NaN where it is none
  double value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  const bool whole = error == std::errc() && end == cell.data() + cell.size();
  return whole ? value : std::numeric_limits<double>::quiet_NaN();
}

// A kernel that takes no time was not measured.
Range<double> range_of(const std::string& column) {
  return column == "time_us" ? positive : not_negative;
}

// Where each wanted column is in the file; npos for an optional one that is not there.
std::optional<std::vector<std::size_t>> find_columns(const std::vector<std::string>& header,
                                                     const std::vector<std::string>& columns,
                                                     std::string& wrong) {
  std::vector<std::size_t> at;
  for (std::string wanted : columns) {
    const bool optional = wanted.ends_with('?');
    if (optional) wanted.pop_back();
    const auto it = std::find(header.begin(), header.end(), wanted);
    const bool twice = it != header.end() && std::find(it + 1, header.end(), wanted) != header.end();
    if (twice || (it == header.end() && !optional)) {
      wrong = (twice ? "two columns " : "no column ") + wanted;
      return {};
    }
    at.push_back(it == header.end() ? std::string::npos : static_cast<std::size_t>(it - header.begin()));
  }
  return at;
}

// Calls `row` with the text of the first column (if that is a name) and the values of the others. A column
// marked "?" at its end may be missing and reads as NaN; columns not named are ignored.
void read_table(const std::filesystem::path& file, const std::vector<std::string>& columns, bool named,
                const std::function<void(const std::string&, const std::vector<double>&)>& row,
                std::vector<Problem>& problems) {
  std::size_t count = 0;
  const auto problem = [&](std::size_t line, const std::string& what) {
    const std::string at = line > 0 ? fmt::format(":{}", line) : "";
    if (++count <= listed_problems)
      problems.push_back({"", fmt::format("{}{}: {}", shortened(file.string()), at, what)});
  };
  std::string text;
  try {
    text = read_text_file(file, most_document_bytes);
  } catch (const ConfigError& e) {
    return problem(0, e.problems()[0].what);
  }
  std::string_view rest = text;
  const auto next_line = [&rest] {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string line(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    line.erase(line.find_last_not_of(" \r\t") + 1);
    return line;
  };
  if (rest.empty()) return problem(0, "is empty");
  const std::string titles = next_line();
  const std::vector<std::string> header = split(titles);
  std::string wrong;
  const auto at = find_columns(header, columns, wrong);
  if (!at) return problem(1, fmt::format("{} (there are {})", wrong, shortened(titles)));
  std::vector<double> values;
  for (std::size_t n = 2; !rest.empty(); ++n) {
    const std::string line = next_line();
    if (line.empty()) continue;
    const std::vector<std::string> cells = split(line);
    if (cells.size() != header.size()) {
      problem(n, fmt::format("expected {} values, got {}", header.size(), cells.size()));
      continue;
    }
    values.clear();
    for (std::size_t i = named ? 1 : 0; i < at->size(); ++i) {
      const std::size_t column = (*at)[i];
      const bool there = column != std::string::npos;
      values.push_back(there ? number(cells[column]) : std::numeric_limits<double>::quiet_NaN());
      if (!there) continue;
      const std::string expected = missed(values.back(), range_of(header[column]));
      if (expected.empty()) continue;
      problem(n,
              fmt::format("{}: expected {}, got \"{}\"", header[column], expected, shortened(cells[column])));
      values.clear();
      break;
    }
    if (values.size() + (named ? 1 : 0) == at->size()) row(named ? cells[at->front()] : "", values);
  }
  if (count > listed_problems)
    problems.push_back(
        {"", fmt::format("{}: and {} more such lines", shortened(file.string()), count - listed_problems)});
}

void read_layers(const std::filesystem::path& file, const char* rows, LayerTimes& layers,
                 std::vector<Problem>& problems) {
  read_table(
      file, {"layer", rows, "time_us"}, true,
      [&](const std::string& layer, const std::vector<double>& v) { layers[layer].add(v[0], 1e-6 * v[1]); },
      problems);
  for (auto& [layer, curve] : layers)
    if (!curve.sort())
      problems.push_back({"", fmt::format("{}: {} is measured twice", file.string(), layer)});
}

template <class Below>
bool sort_all(Axis<Below>& axis) {
  bool unique = true;
  for (auto& below : axis.below)
    if constexpr (std::is_same_v<Below, Curve>)
      unique = below.sort() && unique;
    else
      unique = sort_all(below) && unique;
  return unique;
}

// Newer bundles hold several kernels and decodes of several query tokens in one file, and give the mean
// number of keys a prompt token looks back on instead of the tokens before the chunk.
void read_attention(const std::filesystem::path& file, ProfileBundle& tables,
                    std::vector<Problem>& problems) {
  struct Row {
    double chunk, context, decodes, length, time;
  };
  const std::size_t before = problems.size();
  std::vector<Row> rows;
  const auto add = [&](const std::string&, const std::vector<double>& v) {
    const double chunk = v[0], query = v[6];
    const double context = std::isnan(v[4]) ? std::max(0.0, v[5] - chunk / 2) : v[4];
    if (!(query > 1)) rows.push_back({chunk, context, v[1], v[2], 1e-6 * v[3]});
  };
  read_table(
      file,
      {"prefill_chunk", "n_decode", "kv_decode", "time_us", "kv_prefill?", "prefill_key?", "decode_q_len?"},
      false, add, problems);
  std::ranges::sort(rows, {}, [](const Row& r) { return std::tuple(r.chunk, r.context, r.decodes); });
  for (const Row& r : rows) {  // in ascending order a knot goes behind those before
    DecodeTimes& at = r.chunk == 0 ? tables.decode : tables.mixed[r.chunk][r.context];
    at[r.decodes].add(r.length, r.time);
    tables.longest_decode = std::max(tables.longest_decode, r.length);
    tables.longest_context = std::max(tables.longest_context, r.context);
  }
  if (!sort_all(tables.decode) || !sort_all(tables.mixed))
    problems.push_back({"", fmt::format("{}: a point is measured twice", file.string())});
  const bool whole = problems.size() == before;
  if (whole && (tables.decode.knots.empty() || tables.mixed.knots.empty()))
    problems.push_back(
        {"", fmt::format("{}: needs rows of decodes alone and rows with a prefill", file.string())});
}

void read_experts(const std::filesystem::path& file, ProfileBundle& tables, std::vector<Problem>& problems) {
  std::vector<std::array<double, 3>> rows;
  read_table(
      file, {"tokens", "activated_experts", "time_us", "ep?"}, false,
      [&](const std::string&, const std::vector<double>& v) {
        if (!(v[3] > 1)) rows.push_back({v[0], v[1], 1e-6 * v[2]});
      },
      problems);
  std::ranges::sort(rows);
  for (const auto& [tokens, experts, time] : rows) tables.experts[tokens].add(experts, time);
  if (!sort_all(tables.experts))
    problems.push_back({"", fmt::format("{}: a point is measured twice", file.string())});
}

}  // namespace

ProfileBundle read_bundle(const std::filesystem::path& folder, std::vector<Problem>& problems) {
  ProfileBundle tables;
  read_layers(folder / "dense.csv", "tokens", tables.dense, problems);
  read_layers(folder / "per_sequence.csv", "sequences", tables.per_sequence, problems);
  read_attention(folder / "attention.csv", tables, problems);
  if (std::filesystem::exists(folder / "moe.csv")) read_experts(folder / "moe.csv", tables, problems);
  return tables;
}

}  // namespace weir
