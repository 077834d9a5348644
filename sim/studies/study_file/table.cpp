#include <fmt/format.h>

#include <cmath>

#include "sim/app/output/output_file.h"
#include "sim/studies/study_file/cases/point_runs.h"
#include "sim/studies/study_file/part.h"

namespace weir::study {
namespace {

// In quotes where it has to be.
std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

ColumnText ColumnText::from(Params& params) {
  ColumnText column;
  column.name = params.text({"name", "Its heading; axes of each in braces."});
  column.each = texts(params, {"each", "Axes: a column for every value of theirs."});
  column.value = params.text({"value", "A formula, or an axis. A cell without a value is empty."});
  column.format = params.text({"format", "Of numbers: .3f, .0f, g; \"\": as many digits as there are."}, "");
  if (!params.describing() && !column.format.empty() && !is_format(column.format))
    params.fail("format", "expected a format such as .3f or g, got " + shortened(column.format));
  return column;
}

TableText TableText::from(Params& params) {
  TableText table;
  table.name = params.text({"name", "NAME.csv of the results."});
  if (!params.describing() && !is_name(table.name))
    params.fail("name", "expected a name of small letters, digits and _");
  table.rows = texts(params, {"rows", "Axes: a line for every value of theirs, the last one fastest."});
  for (Params& column : params.list({"columns", "From left to right."}, 1))
    table.columns.push_back(read_params<ColumnText>(column));
  return table;
}

CsvTable::CsvTable(const TableText& text, const Names& names, const std::string& at, Reading& reading)
    : name_(text.name), rows_(axes_named(text.rows, names.axes, at + "/rows", reading)) {
  for (std::size_t i = 0; i < text.columns.size(); ++i)
    read_column(text.columns[i], names, fmt::format("{}/columns/{}", at, i), reading);
}

void CsvTable::read_column(const ColumnText& text, const Names& all, const std::string& at,
                           Reading& reading) {
  Column column;
  column.each = axes_named(text.each, all.axes, at + "/each", reading);
  column.format = text.format;
  Names names = all;
  names.usable = AxisSet(column.each.begin(), column.each.end());
  const char* key = "/name";
  try {
    column.name = Text(text.name, names);
    key = "/value";
    names.usable->insert(rows_.begin(), rows_.end());
    names.usable->insert(set_axis);
    const auto dot = text.value.find('.');
    column.field = dot == std::string::npos ? "" : text.value.substr(dot + 1);
    const auto axis = find_axis(names.axes, text.value.substr(0, dot));
    if (axis && names.usable->contains(*axis) && names.axes[*axis].has(column.field))
      column.axis = *axis;
    else
      column.value = read_formula(text.value, names);
  } catch (const std::runtime_error& e) {
    reading.problem(at + key, e.what());
  }
  columns_.push_back(std::move(column));
}

template <class Action>
void CsvTable::each_cell(const Axes& axes, const Place& place, const Action& action) const {
  for (const Column& column : columns_)
    each_place(axes, column.each, place, [&](const Place& here) { action(column, here); });
}

void CsvTable::want(const Axes& axes, Values& wanted) const {
  each_place(axes, rows_, first_place(axes), [&](const Place& place) {
    each_cell(axes, place, [&](const Column& column, const Place& here) {
      column.name.at(here, wanted);
      if (column.value) column.value->at(here, wanted);
    });
  });
}

std::vector<std::string> CsvTable::headings(const Axes& axes) const {
  std::vector<std::string> headings;
  Wanted none(axes);
  each_cell(axes, first_place(axes),
            [&](const Column& column, const Place& here) { headings.push_back(column.name.at(here, none)); });
  return headings;
}

void CsvTable::write(const Axes& axes, Values& found, const std::filesystem::path& path) const {
  OutputFile file(path);
  const char* before = "";
  for (const std::string& heading : headings(axes)) {
    file.print("{}{}", before, csv_cell(heading));
    before = ",";
  }
  file.text("\n");
  each_place(axes, rows_, first_place(axes), [&](const Place& place) {
    before = "";
    each_cell(axes, place, [&](const Column& column, const Place& here) {
      std::string cell;
      if (!column.value)
        cell = csv_cell(axes[column.axis].label(here[column.axis], column.field));
      else if (const double value = column.value->at(here, found); std::isfinite(value))
        cell = formatted(value, column.format);
      file.print("{}{}", before, cell);
      before = ",";
    });
    file.text("\n");
  });
  file.close();
}

}  // namespace weir::study
