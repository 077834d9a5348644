// The answer that weir plan makes from runs, by hand: their order, what limits them, and the verdict.
#include "sim/app/plan/outcome.h"

#include <catch2/catch.hpp>

#include "sim/app/plan/pool_options.h"
#include "test/app/plan/plan_files.h"

using namespace weir;
using namespace weir::test;

namespace {

PlanQuestion question_on(const char* devices, const char* objective) {
  PlanArguments arguments;
  arguments.file = "question.json";
  arguments.devices = devices;
  arguments.objective = objective;
  return read_question(plan_question(1, 1000, 50, 40), arguments);
}

Json judged(bool met, double devices, double e2el_ms, double ttft_ms, double tpot_ms) {
  return {{"meets_slo", met ? 1 : 0},   {"device_count", devices}, {"mean_e2el_ms", e2el_ms},
          {"p99_ttft_ms", ttft_ms},     {"p99_tpot_ms", tpot_ms},  {"request_throughput", 1},
          {"bound", {{"by", "memory"}}}};
}

Json unit_of(int devices, double compute, double memory, double links, double host) {
  return {{"devices", devices},
          {"compute_bound_s", compute},
          {"memory_bound_s", memory},
          {"link_bound_s", links},
          {"host_bound_s", host}};
}

// Deployments of the question, together or apart, with summaries of a choice.
struct MadePlan {
  PlanQuestion question = question_on("4xh100_sxm", "devices");
  Deployments deployments = deployments_of(question);
  PlanSearch found;

  std::size_t nth(bool apart, std::size_t n) const {
    for (std::size_t i = 0; i < deployments.all.size(); ++i)
      if (deployments.all[i].apart() == apart && n-- == 0) return i;
    throw std::logic_error("too few");
  }
  void add(bool apart, std::size_t n, const Json& summary) {
    PointResult& point = found.results.points.emplace_back();
    point.index = static_cast<std::int64_t>(nth(apart, n));
    point.status = "done";
    point.summary = summary;
  }
  PlanOutcome outcome() const { return outcome_of(question, deployments, found); }
};

}  // namespace

TEST_CASE("plan outcome: of what meets the SLO the best is first, ties by latency, with what is to spare") {
  MadePlan made;
  made.add(false, 0, judged(true, 3, 50, 400, 20));
  made.add(false, 1, judged(true, 2, 90, 250, 45));
  made.add(true, 0, judged(true, 2, 80, 1000, 10));
  made.add(true, 1, judged(false, 1, 10, 2000, 10));
  const PlanOutcome outcome = made.outcome();
  CHECK(outcome.met == 3);
  REQUIRE(outcome.ranked.size() == 3);
  CHECK(outcome.ranked[0].point->summary["mean_e2el_ms"] == 80);
  CHECK(outcome.ranked[1].point->summary["mean_e2el_ms"] == 90);
  CHECK(outcome.ranked[2].point->summary["mean_e2el_ms"] == 50);
  CHECK(outcome.ranked[0].objective == 2);
  CHECK(*outcome.ranked[1].ttft_spare == 0.75);
  CHECK(*outcome.ranked[1].tpot_spare == Approx(0.1));
  CHECK(*outcome.ranked[0].ttft_spare == 0);
  CHECK(outcome.together->point->summary["mean_e2el_ms"] == 90);
  CHECK(outcome.apart->point->summary["mean_e2el_ms"] == 80);
  CHECK(verdict_of(made.question, outcome) ==
        "apart, at equal devices, with 80 instead of 90 ms end to end: " + outcome.apart->deployment->name +
            ", device count 2; the best together: " + outcome.together->deployment->name +
            ", device count 2");
}

TEST_CASE("plan outcome: the verdict says by how much less the better of both takes") {
  MadePlan made;
  made.add(false, 0, judged(true, 3, 50, 400, 20));
  made.add(true, 0, judged(true, 4, 40, 400, 20));
  CHECK_THAT(verdict_of(made.question, made.outcome()), Catch::StartsWith("together, by 25 %: "));
  made.found.results.points[1].summary["meets_slo"] = 0;
  CHECK_THAT(verdict_of(made.question, made.outcome()),
             Catch::StartsWith("together: ") && Catch::EndsWith("none that is apart meets the SLO"));
  made.found.results.points[0].summary["meets_slo"] = 0;
  CHECK(verdict_of(made.question, made.outcome()) == "neither meets the SLO");
}

// The SLO is 1,000 ms and 50 ms: these are beyond it 2, 1.5 and 1.8 times.
TEST_CASE("plan outcome: where nothing meets the SLO the nearest is first, by the worse of its two times") {
  MadePlan made;
  made.add(false, 0, judged(false, 1, 1, 2000, 10));
  made.add(false, 1, judged(false, 4, 9, 1500, 60));
  made.add(false, 2, judged(false, 2, 5, 100, 90));
  const PlanOutcome outcome = made.outcome();
  CHECK(outcome.met == 0);
  REQUIRE(outcome.ranked.size() == 3);
  for (const auto& [place, devices] : {std::pair<std::size_t, int>{0, 4}, {1, 2}, {2, 1}})
    CHECK(outcome.ranked[place].objective == devices);
  CHECK_FALSE(outcome.together);
}

// Three devices wait two seconds each for links, which is more than one waits five seconds for memory.
TEST_CASE("plan outcome: what keeps up is limited by what most of its devices' step time goes to") {
  MadePlan made;
  Json summary = judged(true, 4, 50, 400, 20);
  summary["bound"]["by"] = "arrivals";
  summary["devices"] = {unit_of(3, 0.5, 0, 2, 1), unit_of(1, 1, 5, 0, 0)};
  made.add(false, 0, summary);
  CHECK(made.outcome().ranked.at(0).limited_by == "links");
  made.found.results.points[0].summary["devices"] = {unit_of(1, 0, 0, 0, 0)};
  CHECK(made.outcome().ranked.at(0).limited_by == "arrivals");
}

TEST_CASE("plan outcome: a deployment's evidence is that of its pool with the least, then with most error") {
  Confidence confidence;
  confidence.of_pools.resize(3);
  for (const auto& [at, nearness, error] :
       {std::tuple<std::size_t, Nearness, double>{0, Nearness::similar, 9},
        {1, Nearness::similar, 12},
        {2, Nearness::measured, 30}}) {
    confidence.of_pools[at].nearness = nearness;
    confidence.of_pools[at].nearest.tpot_error_percent = error;
  }
  CHECK(confidence.brief() == "similar (12 %)");
  confidence.calibration = "a server";
  CHECK(confidence.brief() == "calibrated, similar (12 %)");
}

TEST_CASE("plan: a layout has the devices of all its degrees but experts, and says those above one") {
  const DegreesOfLayout layout{2, 3, 8, 4, "deepep"};
  CHECK(layout.devices() == 24);
  CHECK(layout.words() == "TP2 PP3 ADP4 EP8 deepep");
  CHECK(DegreesOfLayout{4, 1, 2, 1, "deepep"}.words() == "TP4 EP2");
  const Stock stock{"h100_sxm", 100, 8};
  RoleTemplate role;
  PoolOption option;
  option.role = &role;
  option.stock = &stock;
  option.layout = layout;
  CHECK(option.most() == 4);
  role.most = 3;
  CHECK(option.most() == 3);
  role.most = 9;
  CHECK(option.most() == 4);
}

TEST_CASE("plan: devices of a kind come in whole servers, and the rest in one more") {
  Reading reading("question.json");
  std::vector<Stock> stock = read_stock("20xh100_sxm,5xl40s", reading);
  REQUIRE(stock.size() == 2);
  const Json nodes = cluster_of(Json(), stock, reading)["nodes"];
  reading.finish();
  REQUIRE(nodes.size() >= 3);
  CHECK(nodes[0]["count"] == 2);
  CHECK(nodes[0]["devices"] == Json::array({{{"kind", "h100_sxm"}, {"count", 8}}}));
  CHECK(nodes[1]["count"] == 1);
  CHECK(nodes[1]["devices"] == Json::array({{{"kind", "h100_sxm"}, {"count", 4}}}));
  CHECK((stock[0].count == 20 && stock[0].in_a_node == 8));
  std::int64_t others = 0;
  for (std::size_t i = 2; i < nodes.size(); ++i)
    others += nodes[i]["count"].get<std::int64_t>() * nodes[i]["devices"][0]["count"].get<std::int64_t>();
  CHECK(others == 5);
}

// Three nodes of two and one of four, and three of one.
TEST_CASE("plan: of a scenario's nodes there are as many devices as all have, or as were asked for") {
  const Json cluster = parse_json(R"({"nodes": [
      {"count": 3, "devices": [{"kind": "h100_sxm", "count": 2}, {"kind": "l40s"}]},
      {"devices": [{"kind": "h100_sxm", "count": 4}]}]})",
                                  "cluster");
  Reading reading("question.json");
  std::vector<Stock> all;
  CHECK(cluster_of(cluster, all, reading) == cluster);
  REQUIRE(all.size() == 2);
  CHECK((all[0].kind == "h100_sxm" && all[0].count == 10 && all[0].in_a_node == 4));
  CHECK((all[1].kind == "l40s" && all[1].count == 3 && all[1].in_a_node == 1));
  std::vector<Stock> some = {{"l40s", 7, 0}, {"h100_sxm", 6, 0}};
  cluster_of(cluster, some, reading);
  reading.finish();
  REQUIRE(some.size() == 2);
  CHECK((some[0].kind == "l40s" && some[0].count == 3));
  CHECK((some[1].kind == "h100_sxm" && some[1].count == 6));
}

// 41 requests of 40 tokens, two a second, come within 20 s: 1,640 tokens.
TEST_CASE("plan: no run costs less than its devices do over the arrivals, whatever the objective counts") {
  const auto least = [](const char* objective) {
    Json question = plan_question(2, 1000, 50);
    question["cluster"] = {{"nodes",
                            {{{"devices", {{{"kind", "h100_sxm"}, {"count", 4}, {"price_per_hour", 2.5}}}},
                              {"interconnect", "nvlink4_switch"}}}}};
    question["workload"] = {
        {"requests", {{"kind", "fixed"}, {"count", 41}, {"input_tokens", 30}, {"output_tokens", 40}}},
        {"arrivals", {{"kind", "constant"}, {"rate_per_s", 2}}}};
    PlanArguments arguments;
    arguments.file = "question.json";
    arguments.objective = objective;
    return deployments_of(read_question(question, arguments)).all;
  };
  std::size_t apart = 0;
  for (const Deployment& d : least("dollars_per_hour")) {
    CHECK(d.least == Approx(2.5 * static_cast<double>(d.devices())));
    apart += d.apart();
  }
  CHECK(apart > 0);
  for (const Deployment& d : least("dollars_per_mtok"))
    CHECK(d.least == Approx(2.5 * static_cast<double>(d.devices()) * 20 / 3600 / 1640 * 1e6));
  for (const Deployment& d : least("devices")) CHECK(d.least == static_cast<double>(d.devices()));
  for (const Deployment& d : least("joules_per_token")) CHECK(d.least == 0);
}

// A node of four has nine ways with one tensor rank, six with two, and two with four. Experts are in one
// group or one a rank. Eight of the ways have data-parallel ranks.
TEST_CASE("plan: layouts are every power of two of each degree, within a node, and of eight stages at most") {
  const auto layouts = [](const char* model, int nodes, int devices, const Json& plan) {
    Json question = plan_question(2, 1000, 50);
    question["model"] = model;
    question["cluster"] = {{"nodes",
                            {{{"count", nodes},
                              {"devices", {{{"kind", "h100_sxm"}, {"count", devices}}}},
                              {"interconnect", "nvlink4_switch"}}}}};
    question["serving"]["replicas"] = Json::array({{{"role", "both"}, {"count", 1}}});
    question["plan"] = plan;
    PlanArguments arguments;
    arguments.file = "question.json";
    return deployments_of(read_question(question, arguments)).layouts;
  };
  CHECK(layouts("qwen3-30b-a3b", 1, 4, Json::object()) == 9 + 6 + 2);
  CHECK(layouts("qwen3-30b-a3b", 1, 4, {{"communication", {"all_gather", "deepep"}}}) == 17 + 8);
  CHECK(layouts("llama3.1-8b", 16, 2, Json::object()) == 4 + 4);  // one and two ranks, one to eight stages
  CHECK(layouts("llama3.1-8b", 4, 2, {{"parallelism", {{"tensor", {2, 4, 16}}, {"pipeline", {3}}}}}) == 1);
}
