#pragma once
// The keys of a study's file as they were read, before axes, cases and formulas are made of them.
#include <map>
#include <string>
#include <vector>

#include "sim/studies/study_file/cases/study_case.h"
#include "sim/studies/study_file/figure.h"
#include "sim/studies/study_file/part.h"

namespace weir::study {

struct StudyKeys {
  std::string title, source;
  Json scenario;
  std::filesystem::path scenario_file;
  std::map<std::string, Json> overlays;
  std::vector<Json> sets;
  Json axes, lets;
  std::vector<std::pair<std::string, CaseText>> cases;
  std::vector<PartText> parts;
  std::vector<FigureText> figures;

  static StudyKeys from(Params& params);
};

}  // namespace weir::study
