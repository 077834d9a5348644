#include "devices/profile_bundle.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <optional>

namespace weir {
namespace {

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> cells;
  for (std::size_t from = 0; from <= line.size();) {
    const std::size_t to = std::min(line.find(',', from), line.size());
    cells.push_back(line.substr(from, to - from));
    from = to + 1;
  }
  return cells;
}

std::optional<double> number(const std::string& cell) {
  double value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || end != cell.data() + cell.size() || !std::isfinite(value) || value < 0)
    return {};
  return value;
}

// Where each wanted column is in the file; npos for an optional one that is not there.
std::optional<std::vector<std::size_t>> find_columns(const std::vector<std::string>& header,
                                                     const std::vector<std::string>& columns,
                                                     std::string& missing) {
  std::vector<std::size_t> at;
  for (std::string wanted : columns) {
    const bool optional = wanted.ends_with('?');
    if (optional) wanted.pop_back();
    const auto it = std::find(header.begin(), header.end(), wanted);
    if (it == header.end() && !optional) {
      missing = wanted;
      return {};
    }
    at.push_back(it == header.end() ? std::string::npos : static_cast<std::size_t>(it - header.begin()));
  }
  return at;
}

// Calls `row` with the text of the first column (if it is `text`) and the values of the others. A column
// marked "?" at its end may be missing and reads as NaN; columns not named are ignored.
void read_table(const std::filesystem::path& file, const std::vector<std::string>& columns, bool text,
                const std::function<void(const std::string&, const std::vector<double>&)>& row,
                std::vector<Problem>& problems) {
  const auto problem = [&](std::size_t line, const std::string& what) {
    const std::string at = line > 0 ? fmt::format(":{}", line) : "";
    problems.push_back({"", fmt::format("{}{}: {}", file.string(), at, what)});
  };
  std::ifstream in(file);
  std::string line, missing;
  if (!in || !std::getline(in, line)) return problem(0, in.is_open() ? "is empty" : "cannot be opened");
  const auto trim = [](std::string& s) { s.erase(s.find_last_not_of(" \r\t") + 1); };
  trim(line);
  const std::vector<std::string> header = split(line);
  const auto at = find_columns(header, columns, missing);
  if (!at) return problem(1, fmt::format("no column {} (there are {})", missing, line.substr(0, 200)));
  std::vector<double> values;
  for (std::size_t n = 2; std::getline(in, line); ++n) {
    trim(line);
    if (line.empty()) continue;
    const std::vector<std::string> cells = split(line);
    if (cells.size() != header.size()) {
      problem(n, fmt::format("expected {} values, got {}", header.size(), cells.size()));
      continue;
    }
    values.clear();
    for (std::size_t i = text ? 1 : 0; i < at->size(); ++i) {
      const bool there = (*at)[i] != std::string::npos;
      const auto value = there ? number(cells[(*at)[i]]) : std::numeric_limits<double>::quiet_NaN();
      if (!value) {
        problem(n, fmt::format("{}: expected a number >= 0, got \"{}\"", header[(*at)[i]], cells[(*at)[i]]));
        break;
      }
      values.push_back(*value);
    }
    if (values.size() + (text ? 1 : 0) == at->size()) row(text ? cells[at->front()] : "", values);
  }
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
  const auto add = [&](const std::string&, const std::vector<double>& v) {
    const double chunk = v[0], decodes = v[1], length = v[2], time = 1e-6 * v[3], query = v[6];
    if (query > 1) return;
    const double context = std::isnan(v[4]) ? std::max(0.0, v[5] - chunk / 2) : v[4];
    DecodeTimes& at = chunk == 0 ? tables.decode : tables.mixed[chunk][context];
    at[decodes].add(length, time);
    tables.longest_decode = std::max(tables.longest_decode, length);
    tables.longest_context = std::max(tables.longest_context, context);
  };
  read_table(
      file,
      {"prefill_chunk", "n_decode", "kv_decode", "time_us", "kv_prefill?", "prefill_key?", "decode_q_len?"},
      false, add, problems);
  if (!sort_all(tables.decode) || !sort_all(tables.mixed))
    problems.push_back({"", fmt::format("{}: a point is measured twice", file.string())});
  if (tables.decode.knots.empty() || tables.mixed.knots.empty())
    problems.push_back(
        {"", fmt::format("{}: needs rows of decodes alone and rows with a prefill", file.string())});
}

void read_experts(const std::filesystem::path& file, ProfileBundle& tables, std::vector<Problem>& problems) {
  read_table(
      file, {"tokens", "activated_experts", "time_us", "ep?"}, false,
      [&](const std::string&, const std::vector<double>& v) {
        if (!(v[3] > 1)) tables.experts[v[0]].add(v[1], 1e-6 * v[2]);
      },
      problems);
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
