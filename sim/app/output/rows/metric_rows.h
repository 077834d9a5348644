#pragma once
// Every number of a summary, a row each: where it comes from, what it is called, which way is better.
// Whatever writes, lists, ranks, compares or draws numbers reads it here.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/params.h"

namespace weir {

struct FinishedRun;

enum class Better { more, less, neither };
enum class Use {
  shown,   // in tables of every metric alone
  first,   // among the first that are shown
  ranked,  // a sweep may search the best of it
  ranked_first,
};

struct MetricRow {
  std::string path;    // in summary.json: cost.dollars; of a training job in its entry of `training`
  std::string title;   // with the unit behind it: an axis, a heading
  std::string unit;    // "" where the title says it
  std::string column;  // of a narrow table; "": the name
  Better better = Better::neither;
  Use use = Use::shown;
  // The number of a run, null where it has none; nothing where such a run is not asked. Empty: others write
  // it, or it is made of others.
  std::function<std::optional<Json>(const FinishedRun&)> of = {};
  // Made of others, NaN where they lack; runs do without, points of sweeps have it. Empty: it stands there.
  std::function<double(const Json& summary)> made = {};

  bool is_first() const { return use == Use::first || use == Use::ranked_first; }
  bool is_ranked() const { return use == Use::ranked || use == Use::ranked_first; }
  std::string name() const;     // cost_dollars: as results.csv, sweeps and plots call it
  std::string heading() const;  // "Energy (J)"
};

const std::vector<MetricRow>& serving_metrics();   // of a run that serves, in the order of summary.json
const std::vector<MetricRow>& sweep_metrics();     // of points of sweeps on top
const std::vector<MetricRow>& training_metrics();  // of a training job
std::vector<const MetricRow*> all_metrics();       // as they are shown: points of sweeps first

// Also of training_0_mean_step_ms; null where there is none.
const MetricRow* find_metric(const std::string& name);

void write_metrics(Json& summary, const FinishedRun& run);

}  // namespace weir
