// The axes of a sweep's grid: "vary", "zip" and "seeds".
#include <fmt/format.h>

#include <algorithm>

#include "sim/app/sweep/axes/axis_values.h"
#include "sim/app/sweep/sweep_spec.h"

namespace weir {
namespace {

Json axes_schema() {
  return {{"type", "object"},
          {"minProperties", 1},
          {"propertyNames", {{"pattern", "^/"}}},
          {"additionalProperties", axis_values_schema()}};
}

class AxesReader {
 public:
  AxesReader(Params& params, SweepSpec& spec) : params_(params), reading_(params.reading()), spec_(spec) {}

  void read() {
    read_vary();
    read_zip();
    read_seeds();
    if (grid_ > most_points)
      problem("", fmt::format("more than {} points: {}", most_points,
                              grid_ < 1e15 ? fmt::format("{:.0f}", grid_) : fmt::format("{:.3g}", grid_)));
  }

 private:
  void problem(const std::string& pointer, const std::string& what) { reading_.problem(pointer, what); }

  // Multiplied before anything is expanded; false: so many are never run, and not worth making.
  bool fits_the_grid(double values) {
    grid_ = std::min(1e300, grid_ * values);
    return grid_ <= most_points;
  }

  // A point that is there twice would count as two of something that varies.
  void check_unlike(const SweepAxis& axis) {
    std::vector<const std::vector<Json>*> sorted;
    for (const std::vector<Json>& choice : axis.choices) sorted.push_back(&choice);
    const auto less = [](auto* a, auto* b) { return *a < *b; };
    std::sort(sorted.begin(), sorted.end(), less);
    const auto twice =
        std::adjacent_find(sorted.begin(), sorted.end(), [](auto* a, auto* b) { return *a == *b; });
    if (twice == sorted.end()) return;
    std::string value;
    for (const Json& one : **twice) value += (value.empty() ? "" : ", ") + one.dump();
    problem(axis.given_at.front(), fmt::format("{} is given twice", shortened(value)));
  }

  bool is_pointer(const std::string& pointer, const std::string& at) {
    if (pointer.starts_with("/")) try {
        const Json::json_pointer parsed(pointer);
        return true;
      } catch (const Json::exception&) {
      }
    problem(at, fmt::format("expected a JSON pointer into the scenario, such as "
                            "/workload/arrivals/rate_per_s, got \"{}\"",
                            shortened(pointer)));
    return false;
  }

  // The first list of a zip multiplies the grid, the others go with it.
  std::vector<Json> values(const Json& given, const std::string& at, bool multiplies = true) {
    return axis_values(given, at, reading_,
                       [&](double count) { return !multiplies || fits_the_grid(count); });
  }

  void read_vary() {
    const Json* given = params_.value({"vary",
                                       "What varies, every value with every other: a JSON pointer into the "
                                       "scenario, and its values as a list or "
                                       "a range. The last one varies fastest."},
                                      axes_schema(), Json::object());
    if (!given) return;
    if (!given->is_object() || given->empty())
      return problem("/vary", "expected an object of pointers and values");
    for (const auto& [pointer, list] : given->items()) {
      const std::string at = "/vary/" + escaped(pointer);
      SweepAxis axis{{pointer}, {}, {at}};
      for (Json& value : values(list, at)) axis.choices.push_back({std::move(value)});
      check_unlike(axis);
      if (is_pointer(pointer, at) && !axis.choices.empty()) spec_.axes.push_back(std::move(axis));
    }
  }

  void read_zip() {
    Json item = axes_schema();
    const Json* given = params_.value(
        {"zip",
         "Lists that go together: each object is one axis of the grid, its lists of one length. They "
         "vary faster than vary, layouts faster still, seeds fastest."},
        {{"type", "array"}, {"items", item}}, Json::array());
    if (!given) return;
    if (!given->is_array()) return problem("/zip", "expected a list of objects of pointers and values");
    for (std::size_t i = 0; i < given->size(); ++i) read_zipped((*given)[i], fmt::format("/zip/{}", i));
  }

  void read_zipped(const Json& given, const std::string& place) {
    if (!given.is_object() || given.empty())
      return problem(place, "expected an object of pointers and values");
    SweepAxis axis;
    bool right = true;
    for (const auto& [pointer, list] : given.items()) {
      const std::string at = place + "/" + escaped(pointer);
      std::vector<Json> column = values(list, at, axis.pointers.empty());
      right = is_pointer(pointer, at) && !column.empty() && right;
      if (axis.pointers.empty()) axis.choices.resize(column.size());
      if (column.size() != axis.choices.size() && !column.empty()) {
        problem(at, fmt::format("{} values, where the first list of this zip has {}", column.size(),
                                axis.choices.size()));
        right = false;
      }
      for (std::size_t i = 0; right && i < column.size(); ++i)
        axis.choices[i].push_back(std::move(column[i]));
      axis.pointers.push_back(pointer);
      axis.given_at.push_back(at);
    }
    if (right) check_unlike(axis);
    if (right && !axis.pointers.empty()) spec_.axes.push_back(std::move(axis));
  }

  void read_seeds() {
    const Json count = {{"type", "integer"}, {"minimum", 1}, {"maximum", most_values}};
    Json list = {{"type", "array"}, {"minItems", 1}, {"maxItems", most_values}};
    list["items"] = {{"type", "integer"}, {"minimum", 0}};
    const Json* given =
        params_.value({"seeds",
                       "Every point again with each of these seeds; a number: so many, from "
                       "the scenario's own on."},
                      {{"oneOf", Json::array({count, list, {{"type", "null"}}})}}, Json(nullptr));
    if (!given || given->is_null()) return;
    SweepAxis axis{{"/seed"}, {}, {"/seeds"}};
    const auto natural = [](const Json& v) { return v.is_number_integer() && v.get<double>() >= 0; };
    if (given->is_array() && !given->empty() && std::all_of(given->begin(), given->end(), natural)) {
      for (const Json& seed : *given) axis.choices.push_back({seed});
    } else if (natural(*given) && *given >= 1 && *given <= most_values) {
      const Json first =
          spec_.sweep.scenario.is_object() ? spec_.sweep.scenario.value("seed", Json(1)) : Json(1);
      if (!natural(first) || first.get<double>() > 9e18) return;  // the scenario's own reading says so
      for (std::int64_t i = 0; i < given->get<std::int64_t>(); ++i)
        axis.choices.push_back({first.get<std::int64_t>() + i});
    } else {
      return problem("/seeds",
                     fmt::format("expected a number of seeds >= 1 and <= {}, or a list of seeds >= 0, got {}",
                                 most_values, given->dump().substr(0, 60)));
    }
    check_unlike(axis);
    if (fits_the_grid(static_cast<double>(axis.choices.size()))) spec_.seeds = std::move(axis);
  }

  Params& params_;
  Reading& reading_;
  SweepSpec& spec_;
  double grid_ = 1;  // points, so far
};

}  // namespace

void read_axes(Params& params, SweepSpec& spec) {
  AxesReader(params, spec).read();
}

}  // namespace weir
