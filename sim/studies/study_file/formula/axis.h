#pragma once
// An axis varies in a study: every value of an axis may be met with every value of the others. StudyAxis 0 is
// "set", the columns of a row.
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/core/params.h"

namespace weir::study {

class StudyAxis {
 public:
  // Values are numbers, texts, or records of both, all with the same fields.
  StudyAxis(std::string name, std::vector<Json> values)
      : name_(std::move(name)), values_(std::move(values)) {}

  const std::string& name() const { return name_; }
  std::size_t size() const { return values_.size(); }
  std::vector<std::string> fields() const;  // none where values are no records
  // Field "" is the value itself, of a record its `name`.
  bool has(const std::string& field) const;
  bool is_number(const std::string& field) const;
  const Json& value(std::size_t i, const std::string& field) const;
  std::string label(std::size_t i, const std::string& field) const;
  std::vector<std::string> labels() const;  // none where records have no name
  std::optional<std::size_t> with_label(const std::string& label) const;

 private:
  std::string name_;
  std::vector<Json> values_;
};
using Axes = std::vector<StudyAxis>;

inline constexpr std::size_t set_axis = 0;
inline constexpr const char* set_names[] = {"simulated", "physical"};

std::optional<std::size_t> find_axis(const Axes& axes, const std::string& name);
std::vector<std::string> names_of(const Axes& axes);
std::string label_of(const Json& value);

// A value of each axis; of those that are not chosen, `unchosen`.
using Place = std::vector<std::size_t>;
inline constexpr std::size_t unchosen = static_cast<std::size_t>(-1);
using AxisSet = std::set<std::size_t>;

// One number for each choice of these axes' values.
std::size_t index_of(const Axes& axes, const AxisSet& of, const Place& place);
std::size_t combinations(const Axes& axes, const std::vector<std::size_t>& of);  // at most `unchosen`

// Calls action(place) for every choice of values of these axes, the last one fastest.
template <class Action>
void each_place(const Axes& axes, const std::vector<std::size_t>& of, Place place, const Action& action) {
  const auto nest = [&](const auto& self, std::size_t depth) -> void {
    if (depth == of.size()) return action(place);
    for (std::size_t i = 0; i < axes[of[depth]].size(); ++i) {
      place[of[depth]] = i;
      self(self, depth + 1);
    }
  };
  nest(nest, 0);
}

bool is_name(const std::string& text);  // small letters, digits and _, a letter first

// The axes of a study's file, behind axis 0, which has `sets` values.
Axes read_axes(const Json& given, std::size_t sets, Reading& reading);
Json axes_schema();

}  // namespace weir::study
