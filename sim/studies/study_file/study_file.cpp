#include "sim/studies/study_file/study_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/studies/study_file/cases/point_runs.h"
#include "sim/studies/study_file/keys.h"

namespace weir::study {

StudyFile::StudyFile(const Json& document, const std::filesystem::path& file, const Beside& beside)
    : file_(file) {
  Reading reading(file.string());
  Params params(reading, document);
  const StudyKeys keys = StudyKeys::from(params);
  params.close();
  if (!reading.failed()) make(keys, beside, reading);
  if (!reading.failed()) want_all(reading);
  reading.finish();
  notes_ = reading.notes();
}

void StudyFile::make(const StudyKeys& keys, const Beside& beside, Reading& reading) {
  title_ = keys.title;
  scenario_file_ = keys.scenario_file;
  axes_ = read_axes(keys.axes, keys.sets.size(), reading);
  const CaseMaterial material{axes_, keys.scenario, keys.overlays, keys.sets};
  for (const auto& [name, text] : keys.cases) cases_.push_back(make_case(name, text, material, reading));
  const Names names{.axes = axes_, .lets = &lets_, .cases = &cases_};
  read_formulas(keys.lets, names, reading);
  Names of_rows = names;
  of_rows.usable = AxisSet{set_axis};
  for (std::size_t i = 0; i < keys.parts.size(); ++i)
    parts_.emplace_back(keys.parts[i], of_rows, fmt::format("/parts/{}", i), reading);
  for (std::size_t i = 0; i < keys.figures.size(); ++i)
    figures_.emplace_back(keys.figures[i], parts_, names, beside, fmt::format("/figures/{}", i), reading);
  check_names(reading);
}

void StudyFile::read_formulas(const Json& given, const Names& names, Reading& reading) {
  for (const auto& [name, text] : given.items()) {
    const std::string at = "/let/" + name;
    const auto has_the_name = [&named = name](const auto& one) { return one->name == named; };
    const bool taken = find_axis(axes_, name) || std::ranges::any_of(cases_, has_the_name);
    if (!is_name(name) || taken || !text.is_string()) {
      reading.problem(at,
                      "expected a name of small letters, digits and _ that no axis and no case has, and a "
                      "formula");
      continue;
    }
    try {
      auto let = std::make_unique<Let>(Let{name, read_formula(text, names)});
      lets_.push_back(std::move(let));
    } catch (const std::runtime_error& e) {
      reading.problem(at, e.what());
    }
  }
}

void StudyFile::check_names(Reading& reading) const {
  std::vector<std::string> tables;
  for (std::size_t i = 0; i < parts_.size(); ++i)
    for (std::size_t t = 0; t < parts_[i].tables.size(); ++t) {
      const std::string& name = parts_[i].tables[t].name();
      if (std::ranges::count(tables, name) > 0)
        reading.problem(fmt::format("/parts/{}/tables/{}/name", i, t), "another table has the name " + name);
      tables.push_back(name);
    }
  std::vector<std::string> figures;
  for (std::size_t i = 0; i < figures_.size(); ++i) {
    if (std::ranges::count(figures, figures_[i].name()) > 0)
      reading.problem(fmt::format("/figures/{}/name", i),
                      "another figure has the name " + figures_[i].name());
    figures.push_back(figures_[i].name());
  }
}

// A point that is wrong is told before any of them runs.
void StudyFile::want_all(Reading& reading) const {
  Wanted wanted(axes_);
  std::set<std::string> ids;
  const auto want = [&](const std::string& at, const auto& part) {
    try {
      part.want(axes_, wanted);
    } catch (const std::runtime_error& e) {
      reading.problem(at, e.what());
    }
  };
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    for (std::size_t t = 0; t < parts_[i].tables.size(); ++t)
      want(fmt::format("/parts/{}/tables/{}", i, t), parts_[i].tables[t]);
    for (std::size_t r = 0; r < parts_[i].rows.size(); ++r) {
      const std::string at = fmt::format("/parts/{}/rows/{}", i, r);
      want(at, parts_[i].rows[r]);
      for (const std::string& id : parts_[i].rows[r].ids(axes_))
        if (!ids.insert(id).second) reading.problem(at + "/id", "another row has the id " + id);
    }
  }
  for (std::size_t i = 0; i < figures_.size(); ++i) want(fmt::format("/figures/{}", i), figures_[i]);
  for (const auto& one : cases_)
    if (one->metrics.empty()) reading.note(fmt::format("/cases/{}: no formula asks for it", one->name));
  if (!reading.failed()) check_first_points(axes_, wanted.points(), scenario_file_, reading);
}

std::vector<std::string> StudyFile::ids() const {
  std::vector<std::string> ids;
  for (const PartOfStudy& part : parts_)
    for (const Row& row : part.rows)
      for (std::string& id : row.ids(axes_)) ids.push_back(std::move(id));
  return ids;
}

std::vector<const PartOfStudy*> StudyFile::named_by(const ReproduceOptions& options) const {
  std::vector<const PartOfStudy*> named;
  for (const PartOfStudy& part : parts_)
    if (std::ranges::any_of(part.rows, [&](const Row& row) {
          return std::ranges::any_of(row.ids(axes_),
                                     [&](const std::string& id) { return options.wants(id); });
        }))
      named.push_back(&part);
  return named;
}

std::vector<ReproducedRow> StudyFile::rows(const ReproduceOptions& options) const {
  const std::vector<const PartOfStudy*> parts = named_by(options);
  Wanted wanted(axes_);
  for (const PartOfStudy* part : parts) part->want(axes_, wanted);
  Found found(axes_, wanted.points(), scenario_file_, options);
  std::vector<ReproducedRow> rows;
  for (const PartOfStudy* part : parts)
    add_part(rows, part->name.c_str(), [&](ReproducedRows& more) {
      for (const CsvTable& table : part->tables)
        table.write(axes_, found, options.files / (table.name() + ".csv"));
      for (const Row& row : part->rows) row.add(axes_, found, more);
    });
  return rows;
}

bool StudyFile::draws() const {
  return std::ranges::any_of(figures_, &StudyFigure::draws);
}

void StudyFile::draw(ResultDirectory& directory) const {
  Wanted wanted(axes_);
  for (const StudyFigure& figure : figures_) figure.want(axes_, wanted);
  Found found(axes_, wanted.points(), scenario_file_, {});
  for (const StudyFigure& figure : figures_)
    if (figure.draws() && std::filesystem::exists(directory.file(figure.table() + ".csv")))
      weir::draw(directory, figure.figure(axes_, found));
}

}  // namespace weir::study
