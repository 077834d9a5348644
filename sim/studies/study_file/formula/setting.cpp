#include "sim/studies/study_file/formula/setting.h"

#include <fmt/format.h>

#include <cmath>
#include <stdexcept>

#include "sim/studies/study_file/formula/text.h"

namespace weir::study {
namespace {

// Settings are made before anything runs.
class NoValues : public Values {
 public:
  double of(const StudyCase&, const Place&, std::size_t) override {
    throw std::logic_error("a setting asks for a result");
  }
};

// 16 and not 16.0: some keys take whole numbers alone.
Json number(double value, const std::string& of) {
  if (!std::isfinite(value)) throw std::runtime_error(fmt::format("{} is no number", of));
  if (value == std::floor(value) && std::abs(value) < 1e15) return static_cast<std::int64_t>(value);
  return value;
}

}  // namespace

CaseSetting::CaseSetting(const Json& given, const Names& names) {
  if (given.is_string()) {
    read_text(given, names);
    return;
  }
  if (!given.is_structured()) {
    make_ = [given](const Place&) { return given; };
    return;
  }
  std::vector<std::pair<std::string, CaseSetting>> parts;
  for (const auto& [key, value] : given.items()) {
    parts.emplace_back(key, CaseSetting(value, names));
    free_.insert(parts.back().second.free().begin(), parts.back().second.free().end());
  }
  make_ = [parts, list = given.is_array()](const Place& place) {
    Json made = list ? Json::array() : Json::object();
    for (const auto& [key, part] : parts)
      if (list)
        made.push_back(part.at(place));
      else
        made[key] = part.at(place);
    return made;
  };
}

void CaseSetting::read_text(const std::string& text, const Names& names) {
  if (text.starts_with("=")) {
    const std::shared_ptr<const Formula> formula = read_formula(text.substr(1), names);
    free_ = formula->free();
    make_ = [formula, text](const Place& place) {
      NoValues none;
      return number(formula->at(place, none), text);
    };
    return;
  }
  const auto of = std::make_shared<const Text>(text, names);
  free_ = of->free();
  const std::string within = text.size() > 2 ? text.substr(1, text.size() - 2) : "";
  const auto dot = within.find('.');
  const std::string field = dot == std::string::npos ? "" : within.substr(dot + 1);
  if (names.given && names.given->contains(within) && text == "{" + within + "}") {
    make_ = [&setting = names.given->at(within)](const Place& place) { return setting.at(place); };
  } else if (const auto axis = find_axis(names.axes, within.substr(0, dot));
             axis && names.axes[*axis].has(field) && text == "{" + within + "}") {
    make_ = [&values = names.axes[*axis], axis = *axis, field](const Place& place) {
      return values.value(place.at(axis), field);
    };
  } else {
    make_ = [of](const Place& place) {
      NoValues none;
      return Json(of->at(place, none));
    };
  }
}

double CaseSetting::number_at(const Place& place) const {
  const Json value = at(place);
  if (!value.is_number()) throw std::runtime_error(fmt::format("{} is no number", dumped(value)));
  return value.get<double>();
}

}  // namespace weir::study
