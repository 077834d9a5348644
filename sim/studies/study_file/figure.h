#pragma once
// Figures of a study: a chart of a table's columns, or, of Weir's own studies, a gnuplot script beside the
// file. A script may run any program, so that of a file that somebody got from elsewhere none is run.
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "sim/app/output/gnuplot.h"
#include "sim/studies/study_file/part.h"

namespace weir::study {

struct ScaleText {
  std::string label;
  std::optional<double> from, to, step;

  static ScaleText from_params(Params& params);
  std::string script(char axis) const;
};
struct SeriesText {
  std::string column, title, colour, mark;
  double width = 3;
  bool dashed = false;

  static SeriesText from(Params& params);
};
struct ChartText {
  std::string x_column;
  ScaleText x, y;
  std::vector<SeriesText> series;

  static ChartText from(Params& params);
};
struct FigureText {
  std::string name, table, script;
  int height = 420;
  Json variables = Json::object();
  std::optional<ChartText> chart;

  static FigureText from(Params& params);
};

// The text of a file beside the study's, of Weir's own studies; none of others.
using Beside = std::function<std::optional<std::string>(const std::string& name)>;

class StudyFigure {
 public:
  StudyFigure(const FigureText& text, const std::vector<PartOfStudy>& parts, const Names& names,
              const Beside& beside, const std::string& at, Reading& reading);
  const std::string& name() const { return text_.name; }
  const std::string& table() const { return text_.table; }
  bool draws() const { return !body_.empty(); }
  void want(const Axes& axes, Values& wanted) const;
  Figure figure(const Axes& axes, Values& found) const;

 private:
  std::string chart(const std::vector<std::string>& headings, const std::string& at, Reading& reading) const;

  FigureText text_;
  std::vector<std::pair<std::string, FormulaPtr>> variables_;
  std::string body_;
};

}  // namespace weir::study
