#include "test/training/mixed_run.h"

#include <catch2/catch.hpp>
#include <numeric>
#include <simgrid/s4u.hpp>

#include "sim/app/child_process.h"
#include "sim/app/play.h"
#include "sim/serving/platform/engine.h"
#include "sim/training/shared_links.h"

namespace weir::test {
namespace {

std::string play_in_child(const Json& scenario) {
  const Plan plan = read_plan(scenario, "test.json");
  const Played played = play(plan, {});
  Json told = {{"requests", Json::array()}, {"steps", Json::array()}, {"links", Json::object()}};
  for (const RequestRecord& record : played.served->requests)
    told["requests"].push_back(record.finished.value());
  for (const TrainingResult& job : played.trained) {
    told["steps"].push_back(Json::array());
    for (const Seconds end : job.run.ends) told["steps"].back().push_back(end.value());
  }
  told["start"] = played.served->start.value();
  told["end"] = played.served->end.value();
  told["lost"] = played.served->lost_to_others.value();
  for (const LinkUsage& link : played.served->links)
    told["links"][link.name] = {link.carried.value(), (link.bandwidth * played.served->end).value()};
  return told.dump();
}

std::string routes_in_child(const Json& scenario) {
  const Plan plan = read_plan(scenario, "test.json");
  const auto engine = make_engine();
  const Cluster cluster(plan.scenario, true);
  Json jobs = Json::array();
  for (const TrainingJob& job : plan.training) {
    Json sent = Json::object();
    for (const LinkFlow& flow : training_flows(job, cluster)) {
      std::vector<simgrid::s4u::Link*> links;
      double latency = 0;
      if (flow.from != flow.to) flow.from->route_to(flow.to, links, &latency);
      for (const simgrid::s4u::Link* link : links)
        sent[link->get_name()] = sent.value(link->get_name(), 0.0) + flow.bytes.value();
    }
    jobs.push_back(sent);
  }
  return jobs.dump();
}

Json told_by_child(const std::function<std::string()>& work) {
  Json told;
  in_children(
      1, 1, [&](std::size_t) { return work(); },
      [&](std::size_t, const ChildResult& child) {
        REQUIRE(child.error == "");
        told = parse_json(child.output, "a child");
        return true;
      });
  return told;
}

}  // namespace

MixedRun mixed_run(const Json& scenario) {
  INFO(scenario.dump());
  const Json told = told_by_child([&] { return play_in_child(scenario); });
  MixedRun run;
  run.requests = told["requests"].get<std::vector<double>>();
  run.steps = told["steps"].get<std::vector<std::vector<double>>>();
  run.lost_by_steps = told["lost"];
  run.measured_from = told["start"];
  run.end = told["end"];
  for (const auto& [name, link] : told["links"].items()) run.links[name] = {link[0], link[1]};
  const Json routes = told_by_child([&] { return routes_in_child(scenario); });
  for (const Json& job : routes) run.sent_a_step.push_back(job.get<std::map<std::string, double>>());
  return run;
}

Json without_jobs(Json scenario) {
  scenario.erase("training");
  return scenario;
}

std::vector<std::vector<double>> steps_alone(const Json& scenario) {
  std::vector<std::vector<double>> jobs;
  const Plan plan = read_plan(scenario, "test.json");
  for (const TrainingResult& job : train(plan)) {
    jobs.emplace_back();
    for (const Seconds end : job.run.ends) jobs.back().push_back(end.value());
  }
  return jobs;
}

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

double furthest(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

// Each sends evenly, and says so when it ends.
double steps_counted(const MixedRun& run, std::size_t job) {
  double counted = 0, begin = 0;
  for (const double end : run.steps[job]) {
    if (end <= run.end && end > run.measured_from)
      counted += (end - std::max(begin, run.measured_from)) / (end - begin);
    begin = end;
  }
  return counted;
}

}  // namespace weir::test
