#include "sim/app/calibrate/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "sim/app/output/text_grid.h"

namespace weir {
namespace {

// The case's error over all its observations, simulated over measured - 1; NaN where it was not measured.
double error_of(const CalibrationCase& one, TimeOf what, const std::vector<double>& times) {
  double simulated = 0, measured = 0;
  for (std::size_t o = 0; o < one.observations.size(); ++o)
    if (const Observation& seen = one.observations[o]; seen.what == what && std::isfinite(times[o])) {
      simulated += seen.weight * times[o];
      measured += seen.weight * seen.ms;
    }
  return simulated / measured - 1;
}

std::string shown_error(double error) {
  return std::isfinite(error) ? fmt::format("{:+.1f} %", 100 * error) : "-";
}

std::string names(const std::vector<std::size_t>& constants) {
  std::vector<std::string> keys;
  for (const std::size_t k : constants) keys.emplace_back(server_constants()[k].key);
  return fmt::format("{}", fmt::join(keys, " and "));
}

// Why the measurements do not tell a constant; "" if they do.
std::string why_not(const CalibrationReport& report, std::size_t k) {
  const Told& told = report.fitted.told[k];
  const ServerConstant& constant = server_constants()[k];
  if (!report.may_change[k]) return "the scenario gives it";
  if (told.told) return "";
  if (told.alone <= 1 || told.beside.empty())
    return fmt::format("a change by {:g} would move no time beyond what is noise here", constant.usual);
  return fmt::format("cannot be told from {}{}", names(told.beside),
                     one_load(report.cases) ? ": there is one load only" : " by these loads");
}

Json number_or_null(double value) {
  return std::isfinite(value) ? Json(std::round(1e4 * value) / 1e4) : Json(nullptr);
}

}  // namespace

double CalibrationReport::error(TimeOf what, const CaseTimes& times) const {
  double sum = 0, count = 0;
  for (std::size_t i = 0; i < cases.size(); ++i)
    if (const double error = error_of(cases[i], what, times[i]); std::isfinite(error)) {
      sum += std::abs(error);
      ++count;
    }
  return sum / count;
}

// Held-out times have to gain by a third: fits to two loads of servers that presets are right about look
// better where they were fitted, and are worse elsewhere (docs/calibration/calibrate.py).
constexpr double worth_writing = 2.0 / 3;
constexpr double presets_leave =
    0.05;  // of TPOT: what they are judged at on measured servers (docs/accuracy.md)

std::string CalibrationReport::refusal() const {
  if (std::ranges::find(fitted.is_fitted, true) == fitted.is_fitted.end())
    return "no constant can be told from these measurements";
  const TimeOf what =
      std::isfinite(error(TimeOf::output_token, before)) ? TimeOf::output_token : TimeOf::first_token;
  const char* name = what == TimeOf::output_token ? "TPOT" : "TTFT";
  const double was = error(what, before), is = error(what, fitted.times);
  if (!(is < was))
    return fmt::format("{} would be {:.1f} % off, and is {:.1f} % without", name, 100 * is, 100 * was);
  if (what == TimeOf::output_token && was < presets_leave)
    return fmt::format("TPOT is {:.1f} % off without, less than the {:.0f} % that presets are judged at",
                       100 * was, 100 * presets_leave);
  if (!judged()) return "";
  const double held_out_was = error(what, where_held_out(before)), held_out_is = error(what, held_out);
  if (held_out_is < worth_writing * held_out_was) return "";
  return fmt::format(
      "{} that it was not fitted to would be {:.1f} % off ({}), and is {:.1f} % without: less than a third "
      "is gained",
      name, 100 * held_out_is, held_out_how, 100 * held_out_was);
}

CaseTimes CalibrationReport::where_held_out(CaseTimes times) const {
  for (std::size_t i = 0; i < times.size(); ++i)
    for (std::size_t o = 0; o < times[i].size(); ++o)
      if (!std::isfinite(held_out[i][o])) times[i][o] = held_out[i][o];
  return times;
}

std::string calibration_table(const CalibrationReport& report, std::size_t width) {
  TextGrid errors;
  std::vector<std::string> head = {"measurement", "TPOT ms", "before", "after", "TTFT ms", "before", "after"};
  if (report.judged())
    head = {"measurement", "TPOT ms", "before", "after",   "held out",
            "TTFT ms",     "before",  "after",  "held out"};
  errors.add(head);
  const auto add = [&](const std::string& name, const auto& cells) {
    std::vector<std::string> row = {name};
    for (const TimeOf what : {TimeOf::output_token, TimeOf::first_token}) {
      row.push_back(cells(what, nullptr));
      row.push_back(cells(what, &report.before));
      row.push_back(cells(what, &report.fitted.times));
      if (report.judged()) row.push_back(cells(what, &report.held_out));
    }
    errors.add(row);
  };
  for (std::size_t i = 0; i < report.cases.size(); ++i)
    add(report.cases[i].name, [&](TimeOf what, const CaseTimes* times) {
      return times ? shown_error(error_of(report.cases[i], what, (*times)[i]))
                   : shown_number(report.cases[i].measured_ms(what), 4);
    });
  if (report.cases.size() > 1)
    add("mean of |error|", [&](TimeOf what, const CaseTimes* times) {
      return times ? shown_percent(report.error(what, *times)) : std::string();
    });
  std::string text = errors.text(width);
  if (report.judged()) text += fmt::format("held out: {}\n", report.held_out_how);
  TextGrid constants(2);
  for (std::size_t k = 0; k < server_constants().size(); ++k) {
    const ServerConstant& constant = server_constants()[k];
    const std::string why = why_not(report, k);
    constants.add({constant.key, why.empty()
                                     ? fmt::format("{} for {}: {}", shown_number(report.fitted.values[k], 4),
                                                   shown_number(report.start[k], 4), constant.what)
                                     : "left as it is: " + why});
  }
  return text + "\n" + constants.text(width);
}

Json fitted_json(const CalibrationReport& report) {
  Json json = {{"measurements", Json::array()}, {"left_as_it_is", Json::object()}};
  for (std::size_t i = 0; i < report.cases.size(); ++i) {
    const CalibrationCase& one = report.cases[i];
    Json entry = {{"file", one.name}, {"of", one.tool}};
    for (const auto& [what, name] :
         {std::pair{TimeOf::output_token, "tpot"}, {TimeOf::first_token, "ttft"}}) {
      if (!std::isfinite(one.measured_ms(what))) continue;
      entry[fmt::format("measured_mean_{}_ms", name)] = number_or_null(one.measured_ms(what));
      entry[fmt::format("{}_error_before", name)] = number_or_null(error_of(one, what, report.before[i]));
      entry[fmt::format("{}_error", name)] = number_or_null(error_of(one, what, report.fitted.times[i]));
      if (report.judged())
        entry[fmt::format("{}_error_held_out", name)] =
            number_or_null(error_of(one, what, report.held_out[i]));
    }
    json["measurements"].push_back(entry);
  }
  if (report.judged()) json["held_out"] = report.held_out_how;
  for (std::size_t k = 0; k < server_constants().size(); ++k)
    if (const std::string why = why_not(report, k); !why.empty())
      json["left_as_it_is"][server_constants()[k].key] = why;
  return json;
}

}  // namespace weir
