// The comparison as text. Where the sets do not fit side by side they are shown a few at a time, each beside
// the first.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/app/compare/comparison.h"
#include "sim/app/output/text_grid.h"
#include "sim/app/results/labels.h"
#include "sim/app/results/metric.h"

namespace weir {
namespace {

std::string letter(std::size_t set) {  // A, B, ... Z, A1, ...
  return std::string(1, static_cast<char>('A' + set % 26)) + (set < 26 ? "" : std::to_string(set / 26));
}

std::string shown(const std::string& metric, const Estimate& e) {
  return with_dollars(metric, shown_estimate(e.mean, e.half_width));
}

std::string shown_ratio(const Comparison& c, const ComparedMetric& metric, std::size_t set) {
  const double ratio = metric.ratio(set);
  if (!std::isfinite(ratio)) return "-";
  if (c.against_measured())
    return fmt::format("{:+.1f} %", std::round(1000 * (ratio - 1)) / 10 + 0.0);  // no -0.0
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

// Sets 1.. in lots that fit beside set 0.
std::vector<std::vector<std::size_t>> lots(std::size_t sets, std::size_t name, std::size_t first,
                                           std::size_t other, std::size_t width) {
  const std::size_t room = width > 2 + name + first ? width - 2 - name - first : 0;
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
    const std::string size = s.measured ? "measured"
                             : !s.sweep ? "run"
                                        : fmt::format("sweep of {} points{}", s.points.size(),
                                                      failed ? fmt::format(", {} failed", failed) : "");
    out += fmt::format("{}  {}: {} ({})\n", letter(set), s.directory.string(), s.name, size);
  }
}

void differences(std::string& out, const Comparison& c, std::size_t width) {
  if (c.against_measured()) return;  // which has no scenario
  if (c.differences.empty()) {
    out += "\nThe scenarios are the same.\n";
    return;
  }
  constexpr std::size_t pointer = 48, value = 22;
  for (const auto& lot : lots(c.sets.size(), pointer, value + 2, value + 2, width)) {
    std::vector<std::string> titles{"What differs", "A"};
    for (const std::size_t set : lot) titles.push_back(letter(set));
    TextGrid grid;
    grid.add(std::move(titles));
    for (const Difference& d : c.differences) {
      std::vector<std::string> row{cut(d.pointer, pointer), cut(value_text(d.values[0]), value)};
      for (const std::size_t set : lot) row.push_back(cut(value_text(d.values[set]), value));
      for (std::string& cell : row)
        if (cell == "null") cell = "-";
      grid.add(std::move(row));
    }
    out += "\n";
    out += grid.text(width);
  }
}

std::string cell(const ComparedPoint& point, const ComparedMetric* metric, std::size_t set) {
  if (point.results[set]->done().empty()) return "failed";
  return metric ? shown(metric->name, metric->values[set]) : "-";
}

const ComparedMetric* find(const ComparedPoint& point, const std::string& name) {
  for (const ComparedMetric& metric : point.metrics)
    if (metric.name == name) return &metric;
  return nullptr;
}

std::vector<std::string> header(const Comparison& c, const std::string& title,
                                const std::vector<std::size_t>& lot) {
  std::vector<std::string> row{title, "A"};
  for (const std::size_t set : lot)
    row.insert(row.end(), {letter(set), c.against_measured() ? "error" : letter(set) + "/A "});
  return row;
}

std::vector<std::string> line(const Comparison& c, const std::string& name, const ComparedPoint& point,
                              const ComparedMetric* metric, const std::vector<std::size_t>& lot) {
  std::vector<std::string> row{name, cell(point, metric, 0)};
  for (const std::size_t set : lot) {
    row.push_back(cell(point, metric, set));
    row.push_back(metric ? shown_ratio(c, *metric, set) : "-");
  }
  return row;
}

void one_point(std::string& out, const Comparison& c, const std::vector<std::string>& metrics,
               std::size_t width) {
  const ComparedPoint& point = c.points[0];
  const std::size_t value = c.repetitions() ? 19 : 11;
  for (const auto& lot : lots(c.sets.size(), 38, value, value + 11, width)) {
    TextGrid grid;
    grid.add(header(c, "Metric", lot));
    for (const ComparedMetric& metric : point.metrics)
      if (metrics.empty() || std::ranges::find(metrics, metric.name) != metrics.end())
        grid.add(line(c, metric.name, point, &metric, lot));
    if (point.metrics.empty()) grid.add(line(c, "status", point, nullptr, lot));
    out += "\n";
    out += grid.text(width);
  }
}

// Sums up set / first over all points that both define: geometric mean, least and most.
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

void many_points(std::string& out, const Comparison& c, const std::vector<std::string>& metrics,
                 std::size_t width) {
  std::vector<std::string> names;
  for (const ComparedPoint& point : c.points)
    if (names.empty())
      for (const ComparedMetric& metric : point.metrics) names.push_back(metric.name);
  for (std::size_t set = 1; set < c.sets.size(); ++set) {
    std::vector<std::string> titles{fmt::format("{}/A over {} points", letter(set), c.points.size()),
                                    "geo. mean", "least", "most", "points"};
    if (c.repetitions()) titles.push_back("not noise");
    const std::size_t columns = titles.size();
    TextGrid grid;
    grid.add(std::move(titles));
    for (const std::string& name : names) {
      std::vector<std::string> row{name};
      for (std::string& text : spread(c, name, set)) row.push_back(std::move(text));
      row.resize(columns);
      grid.add(std::move(row));
    }
    out += "\n";
    out += grid.text(width);
  }
  constexpr std::size_t most = 44;
  std::vector<std::string> labels = point_labels(c, most, out);
  std::size_t label = 12;
  for (const std::string& text : labels) label = std::max(label, text.size());
  const std::size_t value = c.repetitions() ? 19 : 11;
  for (const std::string& name : metrics)
    for (const auto& lot : lots(c.sets.size(), label, value, value + 11, width)) {
      TextGrid grid;
      grid.add(header(c, name, lot));
      for (std::size_t i = 0; i < labels.size(); ++i)
        grid.add(line(c, labels[i], c.points[i], find(c.points[i], name), lot));
      out += "\n";
      out += grid.text(width);
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

std::string comparison_table(const Comparison& c, const std::vector<std::string>& metrics,
                             std::size_t width) {
  std::string out;
  heading(out, c);
  differences(out, c, width);
  if (c.points.size() == 1) one_point(out, c, metrics, width);
  if (c.points.size() > 1) many_points(out, c, metrics, width);
  unmatched(out, c);
  if (c.against_measured()) return fitted(out + "\nerror: of what was simulated, over A, less 1\n", width);
  out += c.repetitions()
             ? "\n± is the 95 % confidence interval over the seeds; ~ is noise: the intervals overlap; * is "
               "not\n"
             : "\nOne run of each: what is noise cannot be told (\"seeds\" of a sweep repeat it)\n";
  return fitted(out, width);
}

}  // namespace weir
