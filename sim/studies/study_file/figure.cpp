#include "sim/studies/study_file/figure.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weir::study {
namespace {

// Okabe and Ito's colours (sim/app/plot/canvas), and gnuplot's marks.
const Choices<const char*> colours = {{"blue", "#0072B2"},   {"orange", "#D55E00"}, {"green", "#009E73"},
                                      {"yellow", "#E69F00"}, {"purple", "#CC79A7"}, {"black", "#000000"}};
const Choices<int> marks = {{"none", 0},   {"circle", 7},   {"open_circle", 6},
                            {"square", 5}, {"triangle", 9}, {"diamond", 13}};

std::string end_of(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : "*";
}

}  // namespace

ScaleText ScaleText::from_params(Params& params) {
  ScaleText scale;
  scale.label = params.text({"label", "What it shows, with its unit."});
  scale.from = params.number_or_null({"from", "Where it begins; null: with the data."}, {});
  scale.to = params.number_or_null({"to", "Where it ends; null: with the data."}, {});
  scale.step = params.number_or_null({"step", "Between two tics; null: chosen."}, positive);
  params.close();
  return scale;
}

std::string ScaleText::script(char axis) const {
  std::string text = fmt::format("set {}label {}\n", axis, gnuplot_text(label));
  if (from || to) text += fmt::format("set {}range [{}:{}]\n", axis, end_of(from), end_of(to));
  if (step) text += fmt::format("set {}tics {}\n", axis, *step);
  return text;
}

SeriesText SeriesText::from(Params& params) {
  SeriesText series;
  series.column = params.text({"column", "Of the table."});
  series.title = params.text({"title", "In the legend."});
  series.colour = params.choice({"colour", "Of its line and marks."}, words_of(colours), "blue");
  series.mark = params.choice({"mark", "At every point."}, words_of(marks), "circle");
  series.width = params.number({"width", "Of its line, in pixels."}, {0.5, 20}, 3);
  series.dashed = params.flag({"dashed", "Its line has gaps."}, false);
  return series;
}

ChartText ChartText::from(Params& params) {
  ChartText chart;
  chart.x_column = params.text({"x_column", "The table's column below."});
  Params x = params.object({"x", "The axis below."}, Params::Presence::required);
  chart.x = ScaleText::from_params(x);
  Params y = params.object({"y", "The axis on the left."}, Params::Presence::required);
  chart.y = ScaleText::from_params(y);
  for (Params& series : params.list({"series", "A line each."}, 1))
    chart.series.push_back(read_params<SeriesText>(series));
  return chart;
}

FigureText FigureText::from(Params& params) {
  FigureText figure;
  figure.name = params.text({"name", "NAME.svg of the results."});
  if (!params.describing() && !is_name(figure.name))
    params.fail("name", "expected a name of small letters, digits and _");
  figure.table = params.text({"table", "What it draws; without that table it is not drawn."});
  figure.height = static_cast<int>(params.integer({"height", "In pixels, of 680 wide."}, {100, 4000}, 460));
  if (auto chart = params.object_or_null({"chart", "Lines over a column of the table."}))
    figure.chart = read_params<ChartText>(*chart);
  figure.script = params.text({"gnuplot",
                               "A script beside this file instead, of Weir's own studies alone: a script may "
                               "run any program."},
                              "");
  const Json* variables =
      params.value({"variables", "Numbers for the script by their names: formulas."},
                   {{"type", "object"}, {"additionalProperties", {{"type", "string"}}}}, Json::object());
  if (variables && variables->is_object()) figure.variables = *variables;
  if (!params.describing() && figure.chart.has_value() != figure.script.empty())
    params.fail("", "expected a chart or a gnuplot script");
  return figure;
}

StudyFigure::StudyFigure(const FigureText& text, const std::vector<PartOfStudy>& parts, const Names& names,
                         const Beside& beside, const std::string& at, Reading& reading)
    : text_(text) {
  const CsvTable* table = nullptr;
  std::vector<std::string> known;
  for (const PartOfStudy& part : parts)
    for (const CsvTable& one : part.tables) {
      known.push_back(one.name());
      if (one.name() == text.table) table = &one;
    }
  if (!table) {
    reading.problem(at + "/table", no_such("table", text.table, known));
    return;
  }
  Names own = names;
  own.usable = AxisSet{set_axis};
  for (const auto& [name, formula] : text.variables.items()) try {
      if (!is_name(name)) throw std::runtime_error("expected a name of small letters, digits and _");
      if (!formula.is_string()) throw std::runtime_error("expected a formula");
      variables_.emplace_back(name, read_formula(formula, own));
    } catch (const std::runtime_error& e) {
      reading.problem(at + "/variables/" + name, e.what());
    }
  if (text.chart) {
    body_ = chart(table->headings(names.axes), at + "/chart", reading);
  } else if (const auto script = beside(text.script)) {
    body_ = *script;
  } else {
    reading.note(
        fmt::format("{}/gnuplot: {} is not drawn: only scripts within Weir are run, as one may start any "
                    "program; draw a chart",
                    at, text.name));
  }
}

std::string StudyFigure::chart(const std::vector<std::string>& headings, const std::string& at,
                               Reading& reading) const {
  const ChartText& chart = *text_.chart;
  const auto column = [&](const std::string& name, const std::string& key) {
    const auto found = std::ranges::find(headings, name);
    if (found == headings.end()) reading.problem(at + key, no_such("column", name, headings));
    return found - headings.begin() + 1;
  };
  const auto x = column(chart.x_column, "/x_column");
  std::string body = chart.x.script('x') + chart.y.script('y') +
                     "set key outside top center vertical Left reverse samplen 2\nplot ";
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const SeriesText& series = chart.series[i];
    const int mark = choice_named(marks, series.mark);
    const std::string pt = mark > 0 ? fmt::format(" pt {}", mark) : "";
    body +=
        fmt::format("{}{} skip 1 using {}:{} with {} lc rgb \"{}\" lw {}{}{} title {}",
                    i == 0 ? "" : ", \\\n     ", i == 0 ? gnuplot_text("../" + text_.table + ".csv") : "\"\"",
                    x, column(series.column, fmt::format("/series/{}/column", i)),
                    mark > 0 ? "linespoints" : "lines", choice_named(colours, series.colour), series.width,
                    pt, series.dashed ? " dt 2" : "", gnuplot_text(series.title));
  }
  return body + "\n";
}

void StudyFigure::want(const Axes& axes, Values& wanted) const {
  for (const auto& [name, formula] : variables_) formula->at(first_place(axes), wanted);
}

Figure StudyFigure::figure(const Axes& axes, Values& found) const {
  std::string settings;
  for (const auto& [name, formula] : variables_)
    settings += fmt::format("{} = {}\n", name, formula->at(first_place(axes), found));
  return {.name = text_.name, .height = text_.height, .settings = settings, .body = body_};
}

}  // namespace weir::study
