#pragma once
// A part of a study, which runs together: rows beside published values, and tables of what they are made of.
#include <string>
#include <vector>

#include "sim/app/reproduce/reproduce.h"
#include "sim/studies/study_file/formula/text.h"

namespace weir::study {

// As the file has them.
struct RowText {
  std::string id, metric, value, note, outside, at, source;
  std::vector<std::string> each;
  std::optional<Json> paper;
  std::optional<double> accept_min, accept_max, physical_accept_min, physical_accept_max;
  bool physical = true;

  static RowText from(Params& params);
};
struct ColumnText {
  std::string name, value, format;
  std::vector<std::string> each;

  static ColumnText from(Params& params);
};
struct TableText {
  std::string name;
  std::vector<std::string> rows;
  std::vector<ColumnText> columns;

  static TableText from(Params& params);
};
struct PartText {
  std::string name;
  std::vector<TableText> tables;
  std::vector<RowText> rows;

  static PartText from(Params& params);
};

class Row {
 public:
  Row(const RowText& text, const Names& names, const std::string& at, Reading& reading);
  std::vector<std::string> ids(const Axes& axes) const;
  void want(const Axes& axes, Values& wanted) const;
  void add(const Axes& axes, Values& found, ReproducedRows& rows) const;

 private:
  ReproducedRow row(const Axes& axes, Values& found, const Place& place) const;
  std::string note(Values& found, Place place, bool outside) const;

  RowText text_;
  std::vector<std::size_t> each_;
  Text id_, metric_, note_;
  FormulaPtr value_, paper_;
  std::unique_ptr<ReductionTerm> at_;
};

class CsvTable {
 public:
  CsvTable(const TableText& text, const Names& names, const std::string& at, Reading& reading);
  const std::string& name() const { return name_; }
  std::vector<std::string> headings(const Axes& axes) const;
  void want(const Axes& axes, Values& wanted) const;
  void write(const Axes& axes, Values& found, const std::filesystem::path& file) const;

 private:
  struct Column {
    Text name;
    std::vector<std::size_t> each;
    FormulaPtr value;  // or the label of an axis
    std::size_t axis = unchosen;
    std::string field, format;
  };
  void read_column(const ColumnText& text, const Names& names, const std::string& at, Reading& reading);
  template <class Action>
  void each_cell(const Axes& axes, const Place& place, const Action& action) const;

  std::string name_;
  std::vector<std::size_t> rows_;
  std::vector<Column> columns_;
};

struct PartOfStudy {
  std::string name;
  std::vector<CsvTable> tables;
  std::vector<Row> rows;

  PartOfStudy(const PartText& text, const Names& names, const std::string& at, Reading& reading);
  void want(const Axes& axes, Values& wanted) const;
};

// Indices of these axes; those there are not are problems at `at`.
std::vector<std::size_t> axes_named(const std::vector<std::string>& names, const Axes& axes,
                                    const std::string& at, Reading& reading);
Place first_place(const Axes& axes);  // nothing chosen but the first set

}  // namespace weir::study
