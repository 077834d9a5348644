#include "sim/studies/study_file/formula/text.h"

#include <fmt/format.h>

#include <cmath>
#include <regex>
#include <stdexcept>

#include "sim/studies/study_file/formula/brackets.h"
#include "sim/studies/study_file/formula/setting.h"

namespace weir::study {

bool is_format(const std::string& format) {
  static const std::regex known("(\\.[0-9])?[efg]");
  return std::regex_match(format, known);
}

std::string formatted(double value, const std::string& format) {
  if (std::isnan(value)) return "-";
  return fmt::format(fmt::runtime("{:" + format + "}"), value);
}

Text::Text(const std::string& text, const Names& names) {
  std::string plain;
  const auto end_plain = [&] {
    if (!plain.empty()) pieces_.push_back([plain](const Place&, Values&) { return plain; });
    plain.clear();
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool twice = i + 1 < text.size() && text[i + 1] == text[i];
    if ((text[i] == '{' || text[i] == '}') && twice) {
      plain += text[i++];
    } else if (text[i] == '{') {
      const std::size_t end = behind_bracket(text, i);
      if (end == std::string::npos) throw std::runtime_error("a { is not closed; {{ is a brace");
      end_plain();
      pieces_.push_back(piece(text.substr(i + 1, end - i - 2), names));
      i = end - 1;
    } else if (text[i] == '}') {
      throw std::runtime_error("a } without its {; }} is a brace");
    } else {
      plain += text[i];
    }
  }
  end_plain();
}

Text::Piece Text::piece(const std::string& within, const Names& names) {
  const auto dot = within.find('.');
  const std::string name = within.substr(0, dot),
                    field = dot == std::string::npos ? "" : within.substr(dot + 1);
  if (names.given && names.given->contains(within)) {
    const CaseSetting& setting = names.given->at(within);
    free_.insert(setting.free().begin(), setting.free().end());
    return [&setting](const Place& place, Values&) { return label_of(setting.at(place)); };
  }
  if (const auto axis = find_axis(names.axes, name); axis && names.axes[*axis].has(field)) {
    if (names.usable && !names.usable->contains(*axis))
      throw std::runtime_error(fmt::format("depends on {}, which is not chosen here", name));
    free_.insert(*axis);
    const StudyAxis& labels = names.axes[*axis];
    return [&labels, axis = *axis, field](const Place& place, Values&) {
      return place.at(axis) == unchosen ? "-" : labels.label(place.at(axis), field);
    };
  }
  const auto colon = within.rfind(':');
  const std::string format = colon == std::string::npos ? "" : within.substr(colon + 1);
  const bool has_format = is_format(format);
  const std::shared_ptr<const Formula> formula =
      read_formula(has_format ? within.substr(0, colon) : within, names);
  free_.insert(formula->free().begin(), formula->free().end());
  return [formula, format = has_format ? format : ""](const Place& place, Values& values) {
    for (const std::size_t axis : formula->free())
      if (place.at(axis) == unchosen) return std::string("-");
    return formatted(formula->at(place, values), format);
  };
}

std::string Text::at(const Place& place, Values& values) const {
  std::string text;
  for (const Piece& piece : pieces_) text += piece(place, values);
  return text;
}

}  // namespace weir::study
