// The comparison as text. Wider than 100 columns, the sets are shown a few at a time, each beside the first.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/app/compare/comparison.h"
#include "sim/app/results/labels.h"

namespace weir {
namespace {

constexpr std::size_t terminal = 100;

std::string letter(std::size_t set) {  // A, B, ... Z, A1, ...
  return std::string(1, static_cast<char>('A' + set % 26)) + (set < 26 ? "" : std::to_string(set / 26));
}

std::string number(double value, int digits) {
  if (!std::isfinite(value)) return "-";
  const double size = std::abs(value);
  if (size < std::min(1000.0, std::pow(10, digits)) - 0.5 || size >= 1e12)
    return fmt::format("{:.{}g}", value, digits);
  std::string text = fmt::format("{:.0f}", value);
  for (std::size_t i = text.size(); i > 3 + (value < 0); text.insert(i, ",")) i -= 3;
  return text;
}

std::string shown(const Estimate& e) {
  if (!(e.half_width > 0)) return number(e.mean, 4);
  return number(e.mean, 4) + " ±" + number(e.half_width, 2);
}

std::string shown_ratio(const ComparedMetric& metric, std::size_t set) {
  const double ratio = metric.ratio(set);
  if (!std::isfinite(ratio)) return "-";
  const Verdict verdict = metric.verdict(set);
  const char* mark = ratio == 1 || verdict == Verdict::unknown ? " " : verdict == Verdict::noise ? "~" : "*";
  return fmt::format("{:.3f}{}", ratio, mark);
}

// Cut in the middle: both ends of a pointer or a path say more than that.
std::string cut(const std::string& text, std::size_t width) {
  if (text.size() <= width) return text;
  const std::size_t tail = (width - 2) * 2 / 3;
  return text.substr(0, width - 2 - tail) + ".." + text.substr(text.size() - tail);
}

std::size_t width_of(const std::string& text) {  // ± is two bytes and one column
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string padded_left(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, width_of(text)), ' ') + text;
}

struct Grid {  // first column to the left, the rest to the right; as wide as its cells, at least
  std::vector<std::vector<std::string>> rows;

  void print(std::string& out) const {
    std::vector<std::size_t> widths;
    for (const auto& row : rows)
      for (std::size_t i = 0; i < row.size(); ++i) {
        if (widths.size() <= i) widths.push_back(0);
        widths[i] = std::max(widths[i], width_of(row[i]));
      }
    for (const auto& row : rows) {
      std::string line = "  " + row[0] + std::string(widths[0] - width_of(row[0]), ' ');
      for (std::size_t i = 1; i < row.size(); ++i) line += "  " + padded_left(row[i], widths[i]);
      out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
  }
};

// Sets 1.. in lots that fit beside set 0.
std::vector<std::vector<std::size_t>> lots(std::size_t sets, std::size_t name, std::size_t first,
                                           std::size_t other) {
  const std::size_t room = terminal > 2 + name + first ? terminal - 2 - name - first : 0;
  const std::size_t per_lot = std::max<std::size_t>(1, room / std::max<std::size_t>(1, other));
  std::vector<std::vector<std::size_t>> all;
  for (std::size_t set = 1; set < sets; ++set) {
    if (all.empty() || all.back().size() == per_lot) all.emplace_back();
    all.back().push_back(set);
  }
  return all;
}

void heading(std::string& out, const Comparison& c) {
  for (std::size_t set = 0; set < c.sets.size(); ++set) {
    const ResultSet& s = c.sets[set];
    const auto failed = std::count_if(s.points.begin(), s.points.end(),
                                      [](const PointResult& p) { return p.status != "done"; });
    const std::string size = !s.sweep ? "run"
                                      : fmt::format("sweep of {} points{}", s.points.size(),
                                                    failed ? fmt::format(", {} failed", failed) : "");
    out += fmt::format("{}  {}: {} ({})\n", letter(set), s.directory.string(), s.name, size);
  }
}

void differences(std::string& out, const Comparison& c) {
  if (c.differences.empty()) {
    out += "\nThe scenarios are the same.\n";
    return;
  }
  constexpr std::size_t pointer = 48, value = 22;
  for (const auto& lot : lots(c.sets.size(), pointer, value + 2, value + 2)) {
    Grid grid{{{"What differs", "A"}}};
    for (const std::size_t set : lot) grid.rows[0].push_back(letter(set));
    for (const Difference& d : c.differences) {
      std::vector<std::string> row{cut(d.pointer, pointer), cut(value_text(d.values[0]), value)};
      for (const std::size_t set : lot) row.push_back(cut(value_text(d.values[set]), value));
      for (std::string& cell : row)
        if (cell == "null") cell = "-";
      grid.rows.push_back(std::move(row));
    }
    out += "\n";
    grid.print(out);
  }
}

std::string cell(const ComparedPoint& point, const ComparedMetric* metric, std::size_t set) {
  if (point.results[set]->done().empty()) return "failed";
  return metric ? shown(metric->values[set]) : "-";
}

const ComparedMetric* find(const ComparedPoint& point, const std::string& name) {
  for (const ComparedMetric& metric : point.metrics)
    if (metric.name == name) return &metric;
  return nullptr;
}

std::vector<std::string> header(const std::string& title, const std::vector<std::size_t>& lot) {
  std::vector<std::string> row{title, "A"};
  for (const std::size_t set : lot) row.insert(row.end(), {letter(set), letter(set) + "/A "});
  return row;
}

std::vector<std::string> line(const std::string& name, const ComparedPoint& point,
                              const ComparedMetric* metric, const std::vector<std::size_t>& lot) {
  std::vector<std::string> row{name, cell(point, metric, 0)};
  for (const std::size_t set : lot) {
    row.push_back(cell(point, metric, set));
    row.push_back(metric ? shown_ratio(*metric, set) : "-");
  }
  return row;
}

void one_point(std::string& out, const Comparison& c) {
  const ComparedPoint& point = c.points[0];
  const std::size_t value = c.repetitions() ? 19 : 11;
  for (const auto& lot : lots(c.sets.size(), 38, value, value + 11)) {
    Grid grid{{header("Metric", lot)}};
    for (const ComparedMetric& metric : point.metrics)
      grid.rows.push_back(line(metric.name, point, &metric, lot));
    if (point.metrics.empty()) grid.rows.push_back(line("status", point, nullptr, lot));
    out += "\n";
    grid.print(out);
  }
}

// Of set / first over all points that both define: geometric mean, least and most.
std::vector<std::string> spread(const Comparison& c, const std::string& name, std::size_t set) {
  double logs = 0, least = 1e300, most = 0;
  int count = 0, real = 0, known = 0;
  for (const ComparedPoint& point : c.points) {
    const ComparedMetric* metric = find(point, name);
    if (!metric) continue;
    const double ratio = metric->ratio(set);
    if (!(ratio > 0) || !std::isfinite(ratio)) continue;
    logs += std::log(ratio), ++count;
    least = std::min(least, ratio), most = std::max(most, ratio);
    known += metric->verdict(set) != Verdict::unknown;
    real += metric->verdict(set) == Verdict::real;
  }
  if (count == 0) return {"-", "-", "-", "0", "-"};
  return {fmt::format("{:.3f}", std::exp(logs / count)), fmt::format("{:.3f}", least),
          fmt::format("{:.3f}", most), std::to_string(count),
          known ? fmt::format("{} of {}", real, known) : "-"};
}

// The points' names; where they would be too long, their keys are told once, above.
std::vector<std::string> point_labels(const Comparison& c, std::size_t most, std::string& out) {
  std::vector<std::string> labels, brief, pointers;
  std::string keys;
  for (const auto& [pointer, value] : c.points[0].varied) {
    pointers.push_back(pointer);
    if (!is_layout(pointer)) keys += (keys.empty() ? "" : ", ") + short_name(pointer);
  }
  bool too_long = false;
  for (const ComparedPoint& point : c.points) {
    labels.push_back(label_of(point.varied));
    brief.push_back(cut(brief_label_of(point.varied, pointers), most));
    too_long |= labels.back().size() > most;
  }
  if (!too_long) return labels;
  out += "\n  Points by " + keys + "\n";
  return brief;
}

void many_points(std::string& out, const Comparison& c, const std::vector<std::string>& metrics) {
  std::vector<std::string> names;
  for (const ComparedPoint& point : c.points)
    if (names.empty())
      for (const ComparedMetric& metric : point.metrics) names.push_back(metric.name);
  for (std::size_t set = 1; set < c.sets.size(); ++set) {
    Grid grid{{{fmt::format("{}/A over {} points", letter(set), c.points.size()), "geo. mean", "least",
                "most", "points"}}};
    if (c.repetitions()) grid.rows[0].push_back("not noise");
    for (const std::string& name : names) {
      std::vector<std::string> row{name};
      for (std::string& text : spread(c, name, set)) row.push_back(std::move(text));
      row.resize(grid.rows[0].size());
      grid.rows.push_back(std::move(row));
    }
    out += "\n";
    grid.print(out);
  }
  constexpr std::size_t most = 44;
  std::vector<std::string> labels = point_labels(c, most, out);
  std::size_t label = 12;
  for (const std::string& text : labels) label = std::max(label, text.size());
  const std::size_t value = c.repetitions() ? 19 : 11;
  for (const std::string& name : metrics)
    for (const auto& lot : lots(c.sets.size(), label, value, value + 11)) {
      Grid grid{{header(name, lot)}};
      for (std::size_t i = 0; i < labels.size(); ++i)
        grid.rows.push_back(line(labels[i], c.points[i], find(c.points[i], name), lot));
      out += "\n";
      grid.print(out);
    }
}

void unmatched(std::string& out, const Comparison& c) {
  constexpr std::size_t most = 5;
  for (std::size_t set = 0; set < c.sets.size(); ++set) {
    const std::vector<Varied>& left = c.unmatched[set];
    if (left.empty()) continue;
    out += fmt::format("\nNot in every set, {} of {}:", left.size(), letter(set));
    for (std::size_t i = 0; i < std::min(most, left.size()); ++i) {
      const std::string label = label_of(left[i]);
      out += "\n  " + (label.empty() ? c.sets[set].name : label);
    }
    out += left.size() > most ? fmt::format("\n  and {} more\n", left.size() - most) : "\n";
  }
}

}  // namespace

std::string comparison_table(const Comparison& c, const std::vector<std::string>& metrics) {
  std::string out;
  heading(out, c);
  differences(out, c);
  if (c.points.size() == 1) one_point(out, c);
  if (c.points.size() > 1) many_points(out, c, metrics);
  unmatched(out, c);
  out += c.repetitions()
             ? "\n± is the 95 % confidence interval over the seeds; ~ is noise: the intervals overlap; * is "
               "not\n"
             : "\nOne run of each: what is noise cannot be told (\"seeds\" of a sweep repeat it)\n";
  return out;
}

}  // namespace weir
