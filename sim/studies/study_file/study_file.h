#pragma once
// A study that is a file (study.json): systems as overlays of a scenario, axes as of a sweep, rows as
// formulas over what its points gave beside what is published.
#include <filesystem>
#include <memory>

#include "sim/app/reproduce/reproduce.h"
#include "sim/studies/study_file/cases/study_case.h"
#include "sim/studies/study_file/figure.h"

namespace weir::study {

struct StudyKeys;

class StudyFile {
 public:
  // Throws ConfigError with every problem. Relative paths in its scenario start at `file`.
  StudyFile(const Json& document, const std::filesystem::path& file, const Beside& beside);

  const std::string& title() const { return title_; }
  std::vector<std::string> ids() const;  // its rows have these
  std::vector<ReproducedRow> rows(const ReproduceOptions& options) const;
  void draw(ResultDirectory& directory) const;
  bool draws() const;
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  void make(const StudyKeys& keys, const Beside& beside, Reading& reading);
  void read_formulas(const Json& given, const Names& names, Reading& reading);
  void check_names(Reading& reading) const;
  void want_all(Reading& reading) const;
  std::vector<const PartOfStudy*> named_by(const ReproduceOptions& options) const;

  std::filesystem::path file_, scenario_file_;
  std::string title_;
  std::vector<std::string> notes_;
  Axes axes_;
  std::vector<std::unique_ptr<StudyCase>> cases_;
  std::vector<std::unique_ptr<Let>> lets_;
  std::vector<PartOfStudy> parts_;
  std::vector<StudyFigure> figures_;
};

Study study_of(const Json& document, const std::string& file);  // anybody's
std::vector<Study> own_studies();                               // those in scenarios/studies
Json schema();

}  // namespace weir::study
