#include "sim/app/sweep/axes/axis_values.h"

#include <fmt/format.h>

#include <cmath>

namespace weir {
namespace {

struct ValueRange {
  double from = 0, to = 0;
  std::int64_t steps = 0;
  bool log = false;

  static ValueRange from_params(Params& params) {
    ValueRange r;
    r.from = params.number({"from", "First value."}, {});
    r.to = params.number({"to", "Last value."}, {});
    r.steps = params.integer({"steps", "How many values, both ends among them."}, {2, most_values});
    r.log = params.choice({"scale", "linear: equal differences; log: equal ratios."}, {"linear", "log"},
                          "linear") == "log";
    if (r.log && !params.describing() && (r.from <= 0 || r.to <= 0))
      params.fail("scale", fmt::format("a log range has ends > 0, got {} and {}", r.from, r.to));
    params.close();
    return r;
  }

  // Twelve digits: what lies beyond them is the noise of pow, and 512 is to be an integer.
  std::vector<Json> values() const {
    std::vector<Json> all;
    for (std::int64_t i = 0; i < steps; ++i) {
      const double at = static_cast<double>(i) / static_cast<double>(steps - 1);
      const double exact = log ? from * std::pow(to / from, at) : std::lerp(from, to, at);
      const double value = std::strtod(fmt::format("{:.12g}", exact).c_str(), nullptr);
      const bool whole = value == std::floor(value) && std::abs(value) < 1e15;
      all.push_back(whole ? Json(static_cast<std::int64_t>(value)) : Json(value));
    }
    return all;
  }
};

Json range_schema() {
  Reading reading = Reading::describe();
  const Json nothing = Json::object();
  Params params(reading, nothing);
  ValueRange::from_params(params);
  return reading.schema;
}

}  // namespace

std::vector<Json> axis_values(const Json& given, const std::string& at, Reading& reading,
                              const std::function<bool(double)>& admits) {
  if (given.is_array() && !given.empty() && given.size() <= most_values) {
    if (!admits(static_cast<double>(given.size()))) return {};
    return {given.begin(), given.end()};
  }
  if (!given.is_object()) {
    reading.problem(
        at, "expected a list of values or {\"from\", \"to\", \"steps\"}, got " + given.dump().substr(0, 60));
    return {};
  }
  Reading part(reading.file());
  Params params(part, given);
  const ValueRange range = ValueRange::from_params(params);
  try {
    part.finish();
  } catch (const ConfigError& e) {
    for (const Problem& p : e.problems()) reading.problem(at + p.pointer, p.what);
    return {};
  }
  return admits(static_cast<double>(range.steps)) ? range.values() : std::vector<Json>();
}

Json axis_values_schema() {
  const Json list = {{"type", "array"}, {"minItems", 1}, {"maxItems", most_values}};
  return {{"oneOf", Json::array({list, range_schema()})}};
}

}  // namespace weir
