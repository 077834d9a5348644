// Reads when a device is slow or off: the profiles of a host, as SimGrid has them.
#include <fmt/format.h>

#include <cmath>

#include "sim/plan/scenario_parts.h"

namespace weir {
namespace {

struct Profile {
  const char *key, *what, *value;
  bool (*allowed)(double value);
};

// ESTIMATE of what is meant: a device a thousand times slower is one that is off, and none is as much faster.
constexpr Range<double> speeds{1e-3, 1e3};
constexpr double latest_s = 1e9;  // thirty years

const Profile speed = {"speed_profile",
                       "From when on the devices are how much slower or faster, as [[time_s, factor], ...]; "
                       "a step that has begun is slowed for its rest.",
                       "a factor between 0.001 and 1000",
                       [](double value) { return value >= speeds.min && value <= speeds.max; }};
const Profile state = {"state_profile",
                       "From when on they are off (0) and on (1), as [[time_s, 0 or 1], ...]; one that stops "
                       "ends the run.",
                       "0 or 1", [](double value) { return value == 0 || value == 1; }};

Json schema_of(const Profile& profile) {
  Json value = {{"type", "number"}};
  if (profile.allowed(0.5))
    value.update({{"minimum", speeds.min}, {"maximum", speeds.max}});
  else
    value["enum"] = {0, 1};
  return {{"type", "array"},
          {"items",
           {{"type", "array"},
            {"items", {{{"type", "number"}, {"minimum", 0}, {"maximum", latest_s}}, value}},
            {"minItems", 2},
            {"maxItems", 2}}}};
}

// Why it is no next entry behind those before, or "".
std::string wrong_with(const Json& entry, const Profile& profile, std::optional<Seconds> before) {
  const auto finite = [](const Json& v) { return v.is_number() && std::isfinite(v.get<double>()); };
  if (!entry.is_array() || entry.size() != 2 || !finite(entry[0]) || !finite(entry[1]) ||
      !profile.allowed(entry[1].get<double>()) || entry[0].get<double>() < 0 ||
      entry[0].get<double>() > latest_s)
    return fmt::format("expected [time_s, {}] with a time from 0 to {:g} (got {})", profile.value, latest_s,
                       dumped(entry));
  if (before && entry[0].get<double>() <= before->value())
    return fmt::format("expected times that ascend (got {} after {})", dumped(entry[0]), before->value());
  return "";
}

template <class Value>
std::vector<std::pair<Seconds, Value>> read(Params& params, const Profile& profile) {
  std::vector<std::pair<Seconds, Value>> read;
  const Json* given = params.value({profile.key, profile.what}, schema_of(profile), Json::array());
  if (!given) return read;
  if (!given->is_array()) {
    params.fail(profile.key, fmt::format("expected a list of [time_s, {}]", profile.value));
    return read;
  }
  for (std::size_t i = 0; i < given->size(); ++i) {
    const Json& entry = (*given)[i];
    const std::string wrong =
        wrong_with(entry, profile, read.empty() ? std::nullopt : std::optional(read.back().first));
    if (!wrong.empty())
      params.fail(fmt::format("{}/{}", profile.key, i), wrong);
    else
      read.emplace_back(Seconds(entry[0].get<double>()), static_cast<Value>(entry[1].get<double>()));
  }
  return read;
}

}  // namespace

void read_availability(Params& params, DeviceGroup& group) {
  group.availability = {read<double>(params, speed), read<bool>(params, state)};
  const std::optional<std::int64_t> index = params.integer_or_null(
      {"index",
       "Which of the entry's devices has the profiles, counted from 0 in each node; null: all of them."},
      {0, std::numeric_limits<int>::max()});
  if (!index) return;
  if (*index >= group.count)
    params.fail("index", fmt::format("expected one of the entry's {} devices, counted from 0 (got {})",
                                     group.count, *index));
  else if (group.availability.always())
    params.fail("index",
                "says whose profiles these are, but there is neither a speed_profile nor a "
                "state_profile");
  group.only = static_cast<int>(*index);
}

}  // namespace weir
