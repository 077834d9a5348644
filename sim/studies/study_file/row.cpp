#include <cmath>

#include "sim/studies/study_file/cases/point_runs.h"
#include "sim/studies/study_file/part.h"

namespace weir::study {
namespace {

std::optional<double> there(double value) {
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

// Calls read(), and tells at `at` what is wrong with what it reads.
template <class Read>
void reading_at(Reading& reading, const std::string& at, const Read& read) {
  try {
    read();
  } catch (const std::runtime_error& e) {
    reading.problem(at, e.what());
  }
}

Names with_axes(Names names, const std::vector<std::size_t>& axes) {
  AxisSet usable = names.usable.value_or(AxisSet{set_axis});
  usable.insert(axes.begin(), axes.end());
  names.usable = usable;
  return names;
}

}  // namespace

RowText RowText::from(Params& params) {
  RowText row;
  row.id = params.text({"id",
                        "Of the row; rows of one part begin alike, so that --only finds them. Axes of "
                        "each in braces."});
  row.metric = params.text({"metric", "What is compared, in words, with its unit."});
  row.each = texts(params, {"each", "Axes: a row for every value of theirs."});
  const Json* paper = params.value({"paper",
                                    "The published or measured value: a number, or a formula of the axes "
                                    "of each."},
                                   {{"type", {"number", "string", "null"}}}, Json(nullptr));
  if (paper && !paper->is_null()) row.paper = *paper;
  row.value = params.text({"value", "A formula: what it is here."});
  row.physical =
      params.flag({"physical", "Computed in the set physical too; false of what is fitted."}, true);
  row.accept_min = params.number_or_null({"accept_min", "Judged: the value is not below."}, {});
  row.accept_max = params.number_or_null({"accept_max", "Judged: the value is not above."}, {});
  row.physical_accept_min =
      params.number_or_null({"physical_accept_min", "The same of the set physical."}, {});
  row.physical_accept_max =
      params.number_or_null({"physical_accept_max", "The same of the set physical."}, {});
  row.at =
      params.text({"at", "argmax[AXES](FORMULA) or argmin: the point whose axes the note may name."}, "");
  row.note = params.text({"note", "Text with values in braces, below the row."}, "");
  row.outside = params.text({"outside", "Text before the note where the value is outside."}, "");
  row.source = params.text({"source", "Where the published value stands, for readers of this file."}, "");
  return row;
}

Row::Row(const RowText& text, const Names& all, const std::string& at, Reading& reading)
    : text_(text), each_(axes_named(text.each, all.axes, at + "/each", reading)) {
  const Names names = with_axes(all, each_);
  reading_at(reading, at + "/id", [&] { id_ = Text(text.id, names); });
  reading_at(reading, at + "/metric", [&] { metric_ = Text(text.metric, names); });
  reading_at(reading, at + "/value", [&] { value_ = read_formula(text.value, names); });
  reading_at(reading, at + "/paper", [&] {
    if (text.paper)
      paper_ =
          read_formula(text.paper->is_string() ? text.paper->get<std::string>() : text.paper->dump(), names);
  });
  reading_at(reading, at + "/at", [&] {
    if (!text.at.empty()) at_ = read_place(text.at, names);
  });
  const Names of_note = at_ ? with_axes(names, at_->over()) : names;
  reading_at(reading, at + "/note", [&] { note_ = Text(text.note, of_note); });
}

std::vector<std::string> Row::ids(const Axes& axes) const {
  std::vector<std::string> ids;
  Wanted none(axes);
  each_place(axes, each_, first_place(axes), [&](const Place& place) { ids.push_back(id_.at(place, none)); });
  return ids;
}

void Row::want(const Axes& axes, Values& wanted) const {
  each_place(axes, each_, first_place(axes), [&](Place place) {
    if (paper_) paper_->at(place, wanted);
    id_.at(place, wanted);
    metric_.at(place, wanted);
    if (at_) at_->place_at(place, wanted);
    each_place(axes, at_ ? at_->over() : std::vector<std::size_t>(), place,
               [&](const Place& here) { note_.at(here, wanted); });
    for (std::size_t set = 0; set < (text_.physical ? axes[set_axis].size() : 1); ++set) {
      place[set_axis] = set;
      value_->at(place, wanted);
    }
  });
}

std::string Row::note(Values& found, Place place, bool outside) const {
  if (at_) place = at_->place_at(place, found);
  return (outside ? text_.outside : "") + note_.at(place, found);
}

ReproducedRow Row::row(const Axes& axes, Values& found, const Place& place) const {
  ReproducedRow row;
  row.id = id_.at(place, found);
  row.metric = metric_.at(place, found);
  if (paper_) row.paper = there(paper_->at(place, found));
  row.simulated = there(value_->at(place, found));
  if (text_.physical && axes[set_axis].size() > 1) {
    Place physical = place;
    physical[set_axis] = 1;
    row.physical = there(value_->at(physical, found));
  }
  row.accept_min = text_.accept_min;
  row.accept_max = text_.accept_max;
  row.physical_accept_min = text_.physical_accept_min;
  row.physical_accept_max = text_.physical_accept_max;
  row.note = note(found, place, row.judged() && !row.within());
  if (!row.simulated) add_note(row, "no point of it has a value");
  return row;
}

void Row::add(const Axes& axes, Values& found, ReproducedRows& rows) const {
  each_place(axes, each_, first_place(axes),
             [&](const Place& place) { rows.push_back(row(axes, found, place)); });
}

}  // namespace weir::study
