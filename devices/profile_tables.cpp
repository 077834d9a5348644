#include "devices/profile_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <limits>
#include <numeric>
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
  if (error != std::errc() || end != cell.data() + cell.size() || !std::isfinite(value) || value < 0) return {};
  return value;
}

// Where each wanted column is in the file; npos for an optional one that is not there.
std::optional<std::vector<std::size_t>> find_columns(const std::vector<std::string>& header,
                                                     const std::vector<std::string>& columns, std::string& missing) {
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

}  // namespace

void Curve::add(double at, double value) {
  x.push_back(at);
  y.push_back(value);
}

bool Curve::sort() {
  std::vector<std::size_t> order(x.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) { return x[a] < x[b]; });
  Curve sorted;
  for (const std::size_t i : order) sorted.add(x[i], y[i]);
  *this = std::move(sorted);
  return std::adjacent_find(x.begin(), x.end()) == x.end();
}

Curve::Point Curve::at(double wanted) const {
  if (x.size() == 1) return {y[0], 0, std::numeric_limits<double>::infinity()};
  if (wanted < x.front()) return {y.front(), 0, x.front()};
  auto i = static_cast<std::size_t>(std::upper_bound(x.begin(), x.end(), wanted) - x.begin());
  const double next = i == x.size() ? std::numeric_limits<double>::infinity() : x[i];
  i = std::min(i, x.size() - 1);
  const double slope = (y[i] - y[i - 1]) / (x[i] - x[i - 1]);
  return {y[i - 1] + slope * (wanted - x[i - 1]), slope, next};
}

Bracket bracket(const std::vector<double>& knots, double wanted) {
  if (wanted <= knots.front() || knots.size() == 1) return {0, 0, 0};
  const auto above = std::lower_bound(knots.begin(), knots.end(), wanted) - knots.begin();
  const std::size_t high = std::min(static_cast<std::size_t>(above), knots.size() - 1), low = high - 1;
  return {low, high, (wanted - knots[low]) / (knots[high] - knots[low])};
}

namespace {

// Blends what lies below two neighbouring knots, asking below a knot only if it has a share.
template <class Axis, class Evaluate>
TimePair blend(const Axis& axis, double wanted, const Evaluate& evaluate) {
  const auto [low, high, share] = bracket(axis.knots, wanted);
  if (share == 0) return evaluate(axis.below[low]);
  if (share == 1) return evaluate(axis.below[high]);
  const TimePair a = evaluate(axis.below[low]), b = evaluate(axis.below[high]);
  return {a.mean + share * (b.mean - a.mean), a.longest + share * (b.longest - a.longest)};
}

}  // namespace

TimePair interpolate(const DecodeTimes& times, double decodes, double mean, double longest) {
  return blend(times, decodes, [&](const Curve& curve) {
    return TimePair{curve.at(mean).value, curve.at(longest).value};
  });
}

TimePair interpolate(const MixedTimes& times, double chunk, double context, double decodes, double mean,
                     double longest) {
  return blend(times, chunk, [&](const Axis<DecodeTimes>& contexts) {
    return blend(contexts, context,
                 [&](const DecodeTimes& below) { return interpolate(below, decodes, mean, longest); });
  });
}

void read_table(const std::filesystem::path& file, const std::vector<std::string>& columns, bool text,
                const std::function<void(const std::string&, const std::vector<double>&)>& row,
                std::vector<Problem>& problems) {
  const auto problem = [&](std::size_t line, const std::string& what) {
    problems.push_back({"", fmt::format("{}:{}: {}", file.string(), line, what)});
  };
  std::ifstream in(file);
  std::string line, missing;
  if (!in || !std::getline(in, line)) return problem(0, "cannot be read");
  const auto trim = [](std::string& s) { s.erase(s.find_last_not_of(" \r\t") + 1); };
  trim(line);
  const std::vector<std::string> header = split(line);
  const auto at = find_columns(header, columns, missing);
  if (!at) return problem(1, fmt::format("no column {} (there are {})", missing, line));
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

}  // namespace weir
