#include "sim/app/plan/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "sim/app/interruption.h"
#include "sim/app/results/metric.h"

namespace weir {
namespace {

using Places = std::vector<std::size_t>;

// The same prices added up in another order differ in their last digits.
double rounded(double objective) {
  return place_by(objective, 0).first;
}

// The deployments that meet the SLO.
class FoundOnes {
 public:
  void add(double objective) { found_.insert(rounded(objective)); }
  // Whether so many are at least as good as anything with this least objective could be.
  bool beat(double least, std::int64_t many) const {
    return std::ssize(found_) >= many && *std::next(found_.begin(), many - 1) < rounded(least);
  }

 private:
  std::multiset<double> found_;
};

// Deployments of one class, together or apart, by their least objective.
class Queue {
 public:
  Queue(const Deployments& deployments, bool apart) : all_(deployments.all) {
    for (std::size_t i = 0; i < all_.size(); ++i)
      if (all_[i].apart() == apart) waiting_.push_back(i);
  }

  // Nothing where those that are found cannot be beaten any more.
  Places next_round(const FoundOnes& any, std::int64_t top) {
    if (from_ == waiting_.size()) return {};
    const double least = all_[waiting_[from_]].least;
    if (of_class_.beat(least, 1) && any.beat(least, top)) return {};
    Places round;
    for (; from_ < waiting_.size() && rounded(all_[waiting_[from_]].least) == rounded(least); ++from_)
      round.push_back(waiting_[from_]);
    return round;
  }

  void found(double objective) { of_class_.add(objective); }
  std::size_t left() const { return waiting_.size() - from_; }

 private:
  const std::vector<Deployment>& all_;
  Places waiting_;
  std::size_t from_ = 0;
  FoundOnes of_class_;
};

bool meets_slo(const PointResult& point) {
  return point.status == "done" && point.summary.value("meets_slo", 0) == 1;
}

SearchCounts counts_of(const ResultSet& results, std::size_t not_needed) {
  SearchCounts counts{.not_needed = not_needed};
  for (const PointResult& point : results.points)
    if (point.status != "done")
      ++counts.failed;
    else
      ++(point.summary.contains("given_up_after") ? counts.given_up : counts.run);
  return counts;
}

}  // namespace

Sweep sweep_of(const PlanQuestion& question, const Deployments& deployments) {
  Sweep sweep;
  sweep.file = sweep.scenario_file = question.file;
  sweep.scenario = question.scenario;
  sweep.files = question.files;
  sweep.name = question.name;
  sweep.varied = {"/name", "/precision", "/serving/replicas"};
  for (const Deployment& d : deployments.all)
    sweep.points.push_back(
        {std::ssize(sweep.points),
         {{"/name", d.name}, {"/precision", d.precision}, {"/serving/replicas", d.replicas}}});
  sweep.searches.cheapest = CheapestSearch{question.slo, question.objective.name, {}, true};
  const auto or_null = [](const std::optional<double>& ms) { return ms ? Json(*ms) : Json(); };
  sweep.resolved = {{"name", sweep.name},
                    {"scenario", sweep.scenario},
                    {"cheapest",
                     {{"ttft_ms", or_null(question.slo.ttft_ms)},
                      {"tpot_ms", or_null(question.slo.tpot_ms)},
                      {"percentile", question.slo.percentile},
                      {"objective", question.objective.name},
                      {"per", Json::array()},
                      {"give_up", true}}}};
  return sweep;
}

PlanSearch search(const PlanQuestion& question, const Deployments& deployments, const Sweep& sweep,
                  SweepDirectory& directory, const RunPoints& run_points, const Interruption& interruption,
                  const ShowEnded& show) {
  const std::filesystem::path database = directory.file("results.sqlite");
  const std::string& metric = question.objective.metric;
  Queue together(deployments, false), apart(deployments, true);
  FoundOnes any;
  std::size_t ended = 0;
  PlanSearch made;
  for (;;) {
    Places round = together.next_round(any, question.top);
    const Places more = apart.next_round(any, question.top);
    round.insert(round.end(), more.begin(), more.end());
    if (round.empty()) break;
    run_left(sweep, round, directory.store(), run_points, interruption, [&](const EndedOf& so_far) {
      show({ended + so_far.ended, ended + so_far.of + together.left() + apart.left(), so_far.failed});
    });
    ended += round.size();
    for (const PointResult& point : read_store(database, {"meets_slo", metric}).points)
      if (std::ranges::find(round, static_cast<std::size_t>(point.index)) != round.end() &&
          meets_slo(point)) {
        Queue& queue = deployments.all[static_cast<std::size_t>(point.index)].apart() ? apart : together;
        queue.found(metric_of(point.summary, metric));
        any.add(metric_of(point.summary, metric));
      }
  }
  made.results = read_store(database);
  const std::size_t not_needed = deployments.all.size() - made.results.points.size();
  directory.store().do_without(not_needed);
  made.counts = counts_of(made.results, not_needed);
  return made;
}

}  // namespace weir
