// Reads a sweep file: every key declared once, every problem with its pointer.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/app/document.h"
#include "sim/app/results/labels.h"
#include "sim/app/sweep/search/offered_load.h"
#include "sim/app/sweep/sweep_spec.h"

namespace weir {
namespace {

constexpr std::size_t most_pointers = 64;  // that vary; more is no experiment

class Reader {
 public:
  explicit Reader(Params& params) : params_(params), reading_(params.reading()) {}

  SweepSpec read() {
    Sweep& sweep = spec_.sweep;
    sweep.file = reading_.file();
    sweep.name = params_.text({"name", "Title of tables and figures."}, sweep.file.stem().string());
    read_scenario_key();
    read_axes(params_, spec_);
    read_layouts();
    read_where();
    spec_.skip_invalid =
        params_.choice({"invalid",
                        "A point whose scenario is wrong: error refuses the sweep, skip leaves the point out "
                        "and says why."},
                       {"error", "skip"}, "error") == "skip";
    read_limits(params_.object({"limits", "Of each point; one that exceeds them fails."}));
    sweep.searches = Searches::from(params_);
    if (!reading_.describing()) check_pointers();
    return std::move(spec_);
  }

 private:
  void problem(const std::string& pointer, const std::string& what) { reading_.problem(pointer, what); }

  void read_scenario_key() {
    const Json* given = params_.value(
        {"scenario", "What varies: the name of a scenario file (relative to this one), or the scenario."},
        {{"type", {"string", "object"}}});
    if (!given) return;
    spec_.sweep.scenario_file = spec_.sweep.file;
    spec_.scenario_inside = given->is_object();
    if (given->is_object()) {
      spec_.sweep.scenario = *given;
    } else if (const std::string why = given->is_string() ? no_path(given->get<std::string>()) : "";
               !why.empty()) {
      problem("/scenario", why);
    } else if (given->is_string()) {
      spec_.sweep.scenario_file = reading_.relative(given->get<std::string>());
      try {
        spec_.sweep.scenario = read_json_file(spec_.sweep.scenario_file);
        if (!spec_.sweep.scenario.is_object()) problem("/scenario", "expected an object in the file");
      } catch (const ConfigError& e) {
        problem("/scenario", e.what());
      }
    } else {
      problem("/scenario", "expected a file name or an object, got " + given->dump().substr(0, 60));
    }
  }

  void read_layouts() {
    const Json* given = params_.value({"layouts",
                                       "\"all\": every tensor x pipeline (x expert) x replicas of replica "
                                       "group 0 that uses all devices; those that "
                                       "cannot be are left out with the reason."},
                                      {{"enum", {"all", nullptr}}}, Json(nullptr));
    if (!given || given->is_null()) return;
    if (*given != "all") return problem("/layouts", "expected \"all\", got " + given->dump().substr(0, 60));
    spec_.layouts = true;
  }

  void read_where() {
    const Json* given = params_.value(
        {"where",
         "Constraints that a point must meet, such as \"tensor * pipeline * replicas == devices\"; names are "
         "the ends of varied pointers, and tensor, pipeline, expert, replicas, devices, rate_per_s."},
        {{"type", "array"}, {"items", {{"type", "string"}}}}, Json::array());
    if (!given) return;
    if (!given->is_array())
      return problem("/where", "expected a list of constraints, got " + given->dump().substr(0, 60));
    for (std::size_t i = 0; i < given->size(); ++i)
      if ((*given)[i].is_string())
        spec_.where.push_back((*given)[i]);
      else
        problem(fmt::format("/where/{}", i), "expected a string, got " + (*given)[i].dump().substr(0, 60));
  }

  void read_limits(Params limits) {
    spec_.sweep.limits.time_s =
        limits.number_or_null({"time_s", "Wall-clock seconds; null: no limit."}, positive);
    if (const auto memory = limits.quantity_or_null<Bytes>(
            {"memory_gib", "Address space of the point's process; null: no limit."}))
      spec_.sweep.limits.memory_bytes = static_cast<std::int64_t>(memory->value());
    limits.close();
  }

  void check_per(const char* search, const std::vector<std::string>& per,
                 const std::vector<std::pair<std::string, std::string>>& varied) {
    for (std::size_t i = 0; i < per.size(); ++i)
      if (std::none_of(varied.begin(), varied.end(), [&](const auto& v) { return v.first == per[i]; }))
        problem(fmt::format("/{}/per/{}", search, i), fmt::format("{} does not vary in this sweep", per[i]));
  }

  // A pointer is set once, and nothing is set and then overwritten by what holds it.
  void check_pointers() {
    std::vector<std::pair<std::string, std::string>> all;  // pointer, where it is given
    for (const SweepAxis& axis : spec_.axes)
      for (std::size_t i = 0; i < axis.pointers.size(); ++i)
        all.emplace_back(axis.pointers[i], axis.given_at[i]);
    if (spec_.layouts)
      for (const char* set :
           {"/serving/replicas/0/parallelism/tensor", "/serving/replicas/0/parallelism/pipeline",
            "/serving/replicas/0/parallelism/expert", "/serving/replicas/0/count"})
        all.emplace_back(set, "/layouts");
    if (spec_.seeds) all.emplace_back("/seed", "/seeds");
    if (all.size() > most_pointers)
      return problem("/vary", fmt::format("{} pointers vary, at most {} may", all.size(), most_pointers));
    for (std::size_t i = 0; i < all.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) {
        if (all[i].first == all[j].first)
          problem(all[i].second, fmt::format("{} varies already at {}", all[i].first, all[j].second));
        else if (all[j].first.starts_with(all[i].first + "/"))
          problem(all[i].second,
                  fmt::format("{} would overwrite what {} sets; put it first", all[i].first, all[j].second));
      }
    const Searches& searches = spec_.sweep.searches;
    if (searches.pareto) check_per("pareto", searches.pareto->per, all);
    if (searches.cheapest) check_per("cheapest", searches.cheapest->per, all);
    for (const auto& [pointer, at] : all)
      if (searches.capacity &&
          (pointer == "/workload/arrivals/rate_per_s" || pointer == "/workload/arrivals/rate_scale"))
        problem(at, "varies what capacity searches for");
  }

  Params& params_;
  Reading& reading_;
  SweepSpec spec_;
};

// A capacity search turns the load of every point, and perhaps the number of requests.
void check_capacity(const Sweep& sweep, Reading& reading) {
  if (!sweep.searches.capacity) return;
  std::set<std::string> seen;  // workloads: traces are long to read
  for (const Point& point : sweep.points) {
    const Json scenario = scenario_of(sweep, point);
    const Json& workload = scenario.at("workload");
    if (!seen.insert(workload.dump()).second) continue;
    const std::string requests = workload.at("requests").at("kind");
    try {
      OfferedLoad(scenario, sweep.scenario_file.string());
    } catch (const ConfigError& e) {
      const std::string where = in_words(point.varied);
      return reading.problem("/capacity",
                             e.problems()[0].what + (where.empty() ? "" : " (point " + where + ")"));
    }
    if (sweep.searches.capacity->duration_s && requests != "fixed" && requests != "lognormal" &&
        requests != "gamma" && requests != "named")
      return reading.problem(
          "/capacity/duration_s",
          fmt::format("needs requests that are drawn (fixed, lognormal, gamma, named), got {}", requests));
  }
}

// Both look for what meets an SLO, which is of requests.
void check_that_points_serve(const Sweep& sweep, Reading& reading) {
  const auto trains = [&](const Point& point) {
    return scenario_of(sweep, point).value("kind", "") == "training";
  };
  if (!(sweep.searches.capacity || sweep.searches.cheapest) || std::ranges::none_of(sweep.points, trains))
    return;
  for (const auto& [given, name] : {std::pair(sweep.searches.capacity.has_value(), "/capacity"),
                                    {sweep.searches.cheapest.has_value(), "/cheapest"}})
    if (given) reading.problem(name, "looks for what meets an SLO of requests; the scenario trains");
}

}  // namespace

SweepSpec read_sweep_spec(Params& params) {
  SweepSpec spec = Reader(params).read();
  params.close();
  return spec;
}

bool is_sweep(const Json& document) {
  if (!document.is_object()) return false;
  for (const char* key : {"scenario", "vary", "zip", "layouts", "seeds"})
    if (document.contains(key)) return true;
  return false;
}

Sweep read_sweep(const std::filesystem::path& file) {
  return read_sweep_document(read_json_file(file), file);
}

Sweep read_sweep_document(const Json& document, const std::filesystem::path& file) {
  refuse_study(document, file.string());
  if (!is_sweep(document) && document.is_object() &&
      (document.contains("model") || document.contains("training")))
    throw ConfigError(file.string(), "", fmt::format("this is a scenario: weir run {}", file.string()));
  Reading reading(file.string());
  Params params(reading, document);
  SweepSpec spec = read_sweep_spec(params);
  if (!reading.failed()) expand(spec, reading);
  if (!reading.failed()) check_that_points_serve(spec.sweep, reading);
  if (!reading.failed()) check_capacity(spec.sweep, reading);
  reading.finish();
  spec.sweep.resolved = std::move(reading.resolved);
  spec.sweep.resolved["scenario"] = spec.sweep.scenario;
  return std::move(spec.sweep);
}

Json scenario_of(const Sweep& sweep, const Point& point) {
  Json scenario = sweep.scenario;
  for (const Varied* set : {&point.varied, &sweep.fixed})
    for (const auto& [pointer, value] : *set) scenario[Json::json_pointer(pointer)] = value;
  return scenario;
}

Json sweep_schema() {
  Reading reading = Reading::describe();
  const Json nothing = Json::object();
  Params params(reading, nothing);
  read_sweep_spec(params);
  Json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"},
                 {"title", "A sweep of Weir scenarios"}};
  schema.update(reading.schema);
  return schema;
}

}  // namespace weir
