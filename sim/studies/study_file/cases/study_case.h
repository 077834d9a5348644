#pragma once
// A case of a study: a scenario with overlays and settings for each choice of its axes' values, which is run;
// or the parameters of a probe, which is computed.
#include <string>
#include <vector>

#include "sim/studies/study_file/cases/probes.h"
#include "sim/studies/study_file/formula/setting.h"

namespace weir::study {

// As the file has it.
struct CaseText {
  std::vector<std::string> axes, apply;
  Json given, set;  // objects
  std::string probe;
  bool may_fail = false;

  static CaseText from(Params& params);
};

struct StudyCase {
  std::string name;
  AxisSet free;
  bool may_fail = false;
  const Probe* probe = nullptr;  // none: it runs
  Json base = Json::object();
  std::map<std::string, CaseSetting> given;
  struct Change {
    Json::json_pointer pointer;
    CaseSetting value;
  };
  // One for each choice of the axes' values; one in all where there is no axis.
  struct Layer {
    std::size_t axis = unchosen;
    std::vector<std::vector<Change>> changes;
  };
  std::vector<Layer> layers;
  std::vector<std::string> metrics;  // that formulas ask for

  // The place of this metric among them; throws std::runtime_error where there is none of that name.
  std::size_t asked(const std::string& metric);
  // Throws std::runtime_error where a value has no place.
  Json scenario(const Place& place) const;
  std::string in_words(const Axes& axes, const Place& place) const;
};

// Cases are made of these.
struct CaseMaterial {
  const Axes& axes;
  Json scenario;
  std::map<std::string, Json> overlays;
  std::vector<Json> sets;  // settings of each set
};
std::unique_ptr<StudyCase> make_case(const std::string& name, const CaseText& text,
                                     const CaseMaterial& material, Reading& reading);

bool is_settings(const Json& given);  // an object of JSON pointers, and perhaps an "about"
Json settings_schema();
// A list of texts; none of them where it is something else, which is told.
std::vector<std::string> texts(Params& params, Key key);

}  // namespace weir::study
