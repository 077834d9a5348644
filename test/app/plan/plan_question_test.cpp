// Questions to weir plan: what a scenario leaves open, what it bounds, and what is wrong with a question.
#include <catch2/catch.hpp>

#include "sim/app/plan/deployments.h"
#include "test/app/plan/plan_files.h"

using namespace weir;
using namespace weir::test;

namespace {

Deployments planned(const Json& question, const std::string& devices,
                    std::vector<std::string> precisions = {}) {
  PlanArguments arguments;
  arguments.file = "question.json";
  arguments.devices = devices;
  arguments.precisions = std::move(precisions);
  return deployments_of(read_question(question, arguments));
}

std::set<std::string> names_of_deployments(const Deployments& deployments) {
  std::set<std::string> names;
  for (const Deployment& d : deployments.all) names.insert(d.name);
  return names;
}

std::vector<Problem> problems_of_question(const Json& question, const std::string& devices,
                                          const std::string& objective = "") {
  PlanArguments arguments;
  arguments.file = "question.json";
  arguments.devices = devices;
  arguments.objective = objective;
  try {
    deployments_of(read_question(question, arguments));
    return {};
  } catch (const ConfigError& e) {
    return e.problems();
  }
}

bool says_at(const std::vector<Problem>& problems, const std::string& pointer, const std::string& what) {
  return std::ranges::any_of(problems, [&](const Problem& p) {
    return p.pointer == pointer && p.what.find(what) != std::string::npos;
  });
}

const Json easy = plan_question(1, 1000, 50, 40);

}  // namespace

TEST_CASE("plan: every problem of a question is told at once") {
  Json question = plan_question(1, 1000, 50);
  question.erase("slo");
  question["serving"]["replicas"] = {{{"batching", {{"kind", "chunked"}}}}};
  question["plan"] = {{"percentile", 98}};
  const ScratchDirectory scratch;
  const Ended ended =
      run_plan_of(scratch, question, {"--devices", "16xh100,0xl40s", "--objective", "dollars"});
  CHECK(ended.code == 2);
  CHECK(ended.out.empty());
  for (const char* part :
       {"/slo: a plan needs", "--devices: no such device (got \"h100\", did you mean \"h100_nvl\"?",
        "expected 1 to 4096 of l40s, got 0", "no such objective (got \"dollars\"",
        "/plan/percentile: expected 50, 90, 95 or 99, got 98"}) {
    INFO(part << " in " << ended.err);
    CHECK(ended.err.find(part) != std::string::npos);
  }
  question = plan_question(1, 1000, 50);
  question["serving"]["replicas"] = {{{"batching", {{"kind", "chunked"}}}}};
  question["model"] = "llama";
  const auto problems = problems_of_question(question, "2xh100_sxm");
  CHECK(says_at(problems, "/serving/replicas/0/batching/kind", "chunked"));
  CHECK(says_at(problems, "/model", "no such model"));
}

TEST_CASE("plan: lists of devices that say nothing are refused") {
  for (const auto& [devices, what] : {std::pair("", "required where the scenario has no cluster"),
                                      {"h100_sxm", "expected a number and a kind"},
                                      {"4x", "expected a number and a kind"},
                                      {"xh100_sxm", "expected a number and a kind"},
                                      {"4xh100_sxm,", "got nothing"},
                                      {"-1xh100_sxm", "expected a number and a kind"},
                                      {"4xh100_sxm,2xh100_sxm", "is given twice"},
                                      {"5000xh100_sxm", "expected 1 to 4096"}}) {
    INFO(devices);
    CHECK(says_at(problems_of_question(easy, devices), "--devices", what));
  }
  CHECK(says_at(problems_of_question(easy, "4xnpu_only"), "/cluster", "no server with it is known"));
  const ScratchDirectory scratch;
  for (const std::vector<std::string>& wrong :
       {std::vector<std::string>{"--top", "0"}, {"--jobs", "0"}, {"--top", "many"}}) {
    std::vector<std::string> words = {"--devices", "2xh100_sxm"};
    words.insert(words.end(), wrong.begin(), wrong.end());
    CHECK(run_plan_of(scratch, easy, words).code == 2);
  }
}

TEST_CASE("plan: objectives in dollars need a price") {
  Json question = easy;
  question["cluster"] = {{"nodes",
                          {{{"devices", {{{"kind", "h100_sxm"}, {"count", 2}, {"price_per_hour", 0}}}},
                            {"interconnect", "nvlink4_switch"}}}}};
  CHECK(says_at(problems_of_question(question, ""), "--objective", "has no price"));
  CHECK(problems_of_question(question, "", "devices").empty());
}

TEST_CASE("plan: what the scenario gives of its replicas is a bound") {
  Json question = easy;
  const std::set<std::string> all = names_of_deployments(planned(question, "2xh100_sxm"));
  CHECK(all == std::set<std::string>{"1 x TP1", "2 x TP1", "1 x TP2", "1 x TP1 PP2",
                                     "1 x TP1 prefill + 1 x TP1 decode"});
  question["serving"]["replicas"] = {{{"role", "both"}, {"count", 1}}};
  CHECK(names_of_deployments(planned(question, "2xh100_sxm")) ==
        std::set<std::string>{"1 x TP1", "1 x TP2", "1 x TP1 PP2"});
  question["serving"]["replicas"] = {{{"parallelism", {{"tensor", 1}, {"pipeline", 1}}}}};
  CHECK(names_of_deployments(planned(question, "2xh100_sxm")) ==
        std::set<std::string>{"1 x TP1", "2 x TP1", "1 x TP1 prefill + 1 x TP1 decode"});
  question["serving"]["replicas"] = {{{"role", "prefill"}},
                                     {{"role", "decode"}, {"parallelism", {{"tensor", 2}}}}};
  CHECK(names_of_deployments(planned(question, "3xh100_sxm")) ==
        std::set<std::string>{"1 x TP1 prefill + 1 x TP2 decode"});
  question["serving"]["replicas"] = {{{"role", "both"}}, {{"role", "both"}}};
  CHECK(says_at(problems_of_question(question, "2xh100_sxm"), "/serving/replicas/1", "is the second"));
}

TEST_CASE("plan: lists of what is allowed are tried, each value of them") {
  Json question = easy;
  question["serving"]["replicas"] = {{{"role", "both"}}};
  question["plan"] = {{"parallelism", {{"tensor", {1}}, {"pipeline", {1, 3}}}},
                      {"precision", {{{"weights", "fp8"}, {"activations", "fp8"}}}},
                      {"kv_tiers", {Json::array(), {{{"kind", "host"}, {"capacity_gb", 100}}}}}};
  const std::set<std::string> names = names_of_deployments(planned(question, "3xh100_sxm", {"kv_cache=fp8"}));
  // Three formats, two sets of tiers; one to three replicas of a device, or one of three.
  CHECK(names.size() == 3 * 2 * 4);
  CHECK(std::ranges::any_of(names, [](const std::string& n) { return n.find("fp8 weights") != n.npos; }));
  CHECK(std::ranges::any_of(names, [](const std::string& n) { return n.find("100 GB of host") != n.npos; }));
  question["plan"]["precision"] = {{{"weights", "fp9"}}};
  CHECK(says_at(problems_of_question(question, "1xh100_sxm"), "/precision/weights", "which the plan allows"));
  question["plan"] = {{"communication", {"deep_ep"}}, {"kv_tiers", {{{{"kind", "host"}}}}}};
  const auto problems = problems_of_question(question, "1xh100_sxm");
  CHECK(says_at(problems, "/serving/replicas/0/communication", "(of deep_ep, which the plan allows)"));
  CHECK(says_at(problems, "/serving/replicas/0/kv_cache/tiers/0/capacity_gb", "which the plan allows"));
}

TEST_CASE("plan: the scenario's cluster is a bound, and each kind serves by itself or beside another apart") {
  Json question = easy;
  question["cluster"] = {{"nodes",
                          {{{"devices", {{{"kind", "h100_sxm"}, {"count", 1}}}}, {"interconnect", "none"}},
                           {{"devices", {{{"kind", "l40s"}, {"count", 1}}}}, {"interconnect", "none"}}}}};
  CHECK(says_at(problems_of_question(question, "1xa40"), "--devices",
                "no such device in the scenario's cluster"));
  const std::set<std::string> names = names_of_deployments(planned(question, "8xh100_sxm,1xl40s"));
  CHECK(names == std::set<std::string>{"1 x TP1 on h100_sxm", "1 x TP1 on l40s",
                                       "1 x TP1 prefill on h100_sxm + 1 x TP1 decode on l40s",
                                       "1 x TP1 prefill on l40s + 1 x TP1 decode on h100_sxm"});
}

TEST_CASE("plan: what does not fit and what cannot carry the load is left out and counted") {
  Json question = plan_question(4, 1000, 50, 60);
  question["model"] = "llama3.1-70b";
  question["serving"]["replicas"] = {{{"role", "both"}}};
  const Deployments made = planned(question, "4xh100_sxm");
  const auto left = [&](const std::string& why) {
    const auto found = std::ranges::find(made.left_out, why, &LeftOutOfPlan::why);
    return found == made.left_out.end() ? 0 : found->count;
  };
  CHECK(left("do not fit into memory") == 1);  // TP1: 131 GiB
  CHECK_FALSE(names_of_deployments(made).contains("1 x TP1"));
  CHECK(names_of_deployments(made).contains("1 x TP4"));
  const Deployments loaded = planned(plan_question(300, 1000, 50, 2000), "4xh100_sxm");
  const auto few = std::ranges::find(loaded.left_out, "cannot carry the load", &LeftOutOfPlan::why);
  REQUIRE(few != loaded.left_out.end());
  CHECK(few->count > 3);
  CHECK(loaded.considered == few->count + std::ssize(loaded.all));
}

TEST_CASE("plan: the questions that are shipped are right") {
  int questions = 0;
  for (const auto& entry : std::filesystem::directory_iterator(shipped("plan"))) {
    INFO(entry.path().string());
    PlanArguments arguments;
    arguments.file = entry.path().string();
    CHECK_FALSE(deployments_of(read_question(read_json_file(entry.path()), arguments)).all.empty());
    ++questions;
  }
  CHECK(questions >= 2);
  const Ended run = run_weir({"run", shipped("plan/llama3.1-70b_16_h100.json")});
  CHECK(run.code == 2);
  CHECK(run.err.find("weir plan") != std::string::npos);
}
