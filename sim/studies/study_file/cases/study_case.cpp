#include "sim/studies/study_file/cases/study_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "sim/app/output/rows/metric_rows.h"
#include "sim/app/sweep/validator.h"
#include "sim/core/catalog.h"

namespace weir::study {
namespace {

const std::vector<std::string>& run_metrics() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const auto* table : {&serving_metrics(), &sweep_metrics()})
      for (const MetricRow& row : *table) all.push_back(row.name());
    for (const MetricRow& row : training_metrics()) all.push_back("training_0_" + row.name());
    return all;
  }();
  return names;
}

// Makes one case; a problem is told where it stands, and the case is made without what is wrong.
class Maker {
 public:
  Maker(const std::string& name, const CaseText& text, const CaseMaterial& material, Reading& reading)
      : at_("/cases/" + name), text_(text), material_(material), reading_(reading) {
    made_->name = name;
  }

  std::unique_ptr<StudyCase> make() {
    read_axes();
    read_given();
    read_probe();
    if (!made_->probe) {
      made_->base = material_.scenario;
      for (std::size_t i = 0; i < text_.apply.size(); ++i) read_layer(i);
    } else if (!text_.apply.empty()) {
      problem("/apply", "overlays are of a scenario, and a probe has none");
    }
    made_->layers.push_back({.changes = {changes(text_.set, at_ + "/set", "")}});
    if (!made_->probe) read_sets();
    return std::move(made_);
  }

 private:
  std::string in_case() const { return "in case " + made_->name + ": "; }
  void problem(const std::string& below, const std::string& what) { reading_.problem(at_ + below, what); }

  Names names() const { return {.axes = material_.axes, .given = &made_->given, .usable = usable_}; }

  void read_axes() {
    for (std::size_t i = 0; i < text_.axes.size(); ++i) {
      const auto axis = find_axis(material_.axes, text_.axes[i]);
      if (!axis || axis == set_axis)
        problem(fmt::format("/axes/{}", i), no_such("axis", text_.axes[i], names_of(material_.axes)));
      else
        usable_.insert(*axis);
    }
    made_->free = usable_;
    if (text_.probe.empty()) made_->free.insert(set_axis);
    made_->may_fail = text_.may_fail;
  }

  void read_given() {
    for (const auto& [name, value] : text_.given.items()) try {
        if (!is_name(name) || find_axis(material_.axes, name))
          problem("/with/" + escaped(name),
                  "expected a name of small letters, digits and _, which no axis has");
        else
          made_->given.emplace(name, CaseSetting(value, names()));
      } catch (const std::runtime_error& e) {
        problem("/with/" + escaped(name), e.what());
      }
  }

  void read_probe() {
    if (text_.probe.empty()) return;
    const auto found = std::ranges::find(probes(), text_.probe, &Probe::name);
    if (found == probes().end())
      return problem("/probe", no_such("probe", text_.probe, weir::names_of(probes())));
    made_->probe = &*found;
  }

  // Many cases may share a setting: `of` says which case is meant.
  std::vector<StudyCase::Change> changes(const Json& settings, const std::string& at, const std::string& of) {
    std::vector<StudyCase::Change> all;
    for (const auto& [pointer, value] : settings.items()) try {
        if (pointer == "about") continue;
        all.push_back({Json::json_pointer(pointer), CaseSetting(value, names())});
      } catch (const std::runtime_error& e) {
        reading_.problem(at + "/" + escaped(pointer), of + e.what());
      }
    return all;
  }

  std::vector<StudyCase::Change> overlay(const std::string& name, std::size_t place) {
    const auto found = material_.overlays.find(name);
    if (found != material_.overlays.end())
      return changes(found->second, "/overlays/" + escaped(name), in_case());
    std::vector<std::string> known;
    for (const auto& [one, settings] : material_.overlays) known.push_back(one);
    problem(fmt::format("/apply/{}", place), no_such("overlay", name, known));
    return {};
  }

  void read_layer(std::size_t i) {
    const std::string& name = text_.apply[i];
    StudyCase::Layer layer;
    if (name.size() > 2 && name.front() == '{' && name.back() == '}') {
      const auto axis = find_axis(material_.axes, name.substr(1, name.size() - 2));
      if (!axis || !usable_.contains(*axis) || !material_.axes[*axis].has(""))
        return problem(fmt::format("/apply/{}", i),
                       "expected an overlay, or {AXIS} whose values are overlays");
      layer.axis = *axis;
      for (std::size_t v = 0; v < material_.axes[*axis].size(); ++v)
        layer.changes.push_back(overlay(material_.axes[*axis].label(v, ""), i));
    } else {
      layer.changes.push_back(overlay(name, i));
    }
    made_->layers.push_back(std::move(layer));
  }

  void read_sets() {
    StudyCase::Layer layer{.axis = set_axis, .changes = {}};
    for (std::size_t i = 0; i < material_.sets.size(); ++i)
      layer.changes.push_back(changes(material_.sets[i], fmt::format("/sets/{}", set_names[i]), in_case()));
    made_->layers.push_back(std::move(layer));
  }

  std::string at_;
  const CaseText& text_;
  const CaseMaterial& material_;
  Reading& reading_;
  std::unique_ptr<StudyCase> made_ = std::make_unique<StudyCase>();
  AxisSet usable_;
};

}  // namespace

bool is_settings(const Json& given) {
  if (!given.is_object()) return false;
  return std::ranges::all_of(given.items(), [](const auto& item) {
    try {
      if (item.key() == "about") return item.value().is_string();
      return item.key().starts_with("/") && !Json::json_pointer(item.key()).empty();
    } catch (const Json::exception&) {
      return false;
    }
  });
}

Json settings_schema() {
  return {{"type", "object"}, {"propertyNames", {{"pattern", "^(/|about$)"}}}};
}

std::vector<std::string> texts(Params& params, Key key) {
  const Json* given = params.value(key, {{"type", "array"}, {"items", {{"type", "string"}}}}, Json::array());
  std::vector<std::string> all;
  if (!given) return all;
  const bool right =
      given->is_array() && std::ranges::all_of(*given, [](const Json& v) { return v.is_string(); });
  if (!right) params.fail(key.name, "expected a list of texts, got " + dumped(*given).substr(0, 60));
  for (std::size_t i = 0; right && i < given->size(); ++i) all.push_back((*given)[i]);
  return all;
}

CaseText CaseText::from(Params& params) {
  CaseText text;
  text.axes = texts(params, {"axes", "Names of the axes that it varies over."});
  const Json* given =
      params.value({"with", "Constants by their names, for settings: numbers or texts, or {AXIS.FIELD}."},
                   {{"type", "object"}}, Json::object());
  text.given = given && given->is_object() ? *given : Json::object();
  if (given && !given->is_object()) params.fail("with", "expected an object of names and values");
  text.apply = texts(params, {"apply",
                              "Names of overlays, laid over the scenario in this order; {AXIS}: the "
                              "one that has the name of the axis' value."});
  const Json* set = params.value({"set",
                                  "Settings over these: JSON pointers and values. A text may be "
                                  "{AXIS}, \"=FORMULA\", or have either in braces. Of a probe: its "
                                  "parameters."},
                                 settings_schema(), Json::object());
  text.set = set && is_settings(*set) ? *set : Json::object();
  if (set && !is_settings(*set)) params.fail("set", "expected an object of JSON pointers and values");
  text.probe = params.text({"probe", "What computes its numbers, instead of a run."}, "");
  text.may_fail = params.flag({"may_fail",
                               "A point that cannot run has no value, rather than ending its part: "
                               "for scenarios whose memory may not hold them."},
                              false);
  return text;
}

std::size_t StudyCase::asked(const std::string& metric) {
  const std::vector<std::string>& known = probe ? probe->numbers : run_metrics();
  if (probe ? !std::ranges::count(known, metric) : !find_metric(metric))
    throw std::runtime_error(no_such(probe ? "number of the probe " + probe->name : "metric", metric, known));
  const auto found = std::ranges::find(metrics, metric);
  const auto place = static_cast<std::size_t>(found - metrics.begin());
  if (found == metrics.end()) metrics.push_back(metric);
  return place;
}

Json StudyCase::scenario(const Place& place) const {
  Json made = base;
  for (const Layer& layer : layers)
    for (const auto& [pointer, value] : layer.changes.at(layer.axis == unchosen ? 0 : place.at(layer.axis))) {
      if (const std::string why = why_not_settable(made, pointer); !why.empty())
        throw std::runtime_error(fmt::format("{}: {}", pointer.to_string(), why));
      made[pointer] = value.at(place);
    }
  return made;
}

std::string StudyCase::in_words(const Axes& axes, const Place& place) const {
  std::string words = name;
  for (const std::size_t axis : free) {
    words += axis == *free.begin() ? ": " : ", ";
    if (axis != set_axis) words += axes[axis].name() + " ";
    words += axes[axis].has("") ? axes[axis].label(place.at(axis), "") : fmt::format("{}", place.at(axis));
  }
  return words;
}

std::unique_ptr<StudyCase> make_case(const std::string& name, const CaseText& text,
                                     const CaseMaterial& material, Reading& reading) {
  return Maker(name, text, material, reading).make();
}

}  // namespace weir::study
