#include "sim/app/plan/pool_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/app/output/text_grid.h"

namespace weir {
namespace {

std::vector<std::int64_t> powers_of_two(std::int64_t most) {
  std::vector<std::int64_t> all;
  for (std::int64_t n = 1; n <= most; n *= 2) all.push_back(n);
  return all;
}

std::vector<std::int64_t> degrees_up_to(const std::vector<std::int64_t>& allowed, std::int64_t most,
                                        std::int64_t usual) {
  if (allowed.empty()) return powers_of_two(std::min(most, usual));
  std::vector<std::int64_t> fit;
  std::ranges::copy_if(allowed, std::back_inserter(fit), [&](std::int64_t n) { return n <= most; });
  return fit;
}

// Groups of experts: as engines have it, none or one a rank.
std::vector<std::int64_t> expert_degrees(const PlanQuestion& question, const RoleTemplate& role,
                                         std::int64_t ranks) {
  if (!question.experts) return {1};
  if (!role.degrees.expert.empty()) return role.degrees.expert;
  return ranks > 1 ? std::vector<std::int64_t>{1, ranks} : std::vector<std::int64_t>{1};
}

std::vector<DegreesOfLayout> layouts_on(const PlanQuestion& question, const RoleTemplate& role,
                                        const Stock& stock) {
  std::vector<DegreesOfLayout> all;
  const std::int64_t n = stock.count;
  constexpr std::int64_t usual_stages = 8;  // more make every token wait for more hops, whatever they hold
  for (const std::int64_t tensor : degrees_up_to(role.degrees.tensor, n, stock.in_a_node))
    for (const std::int64_t pipeline : degrees_up_to(role.degrees.pipeline, n / tensor, usual_stages))
      for (const std::int64_t data :
           degrees_up_to(role.degrees.attention_data, n / tensor / pipeline, question.experts ? n : 1))
        for (const std::int64_t expert : expert_degrees(question, role, tensor * data)) {
          const DegreesOfLayout layout{tensor, pipeline, expert, data, ""};
          if (data == 1 || question.communications.empty()) all.push_back(layout);
          for (const std::string& communication : question.communications)
            if (data > 1) all.push_back({tensor, pipeline, expert, data, communication});
        }
  return all;
}

class OptionFinder {
 public:
  OptionFinder(const PlanQuestion& question, const RoleTemplate& role, Deployments& into)
      : question_(question), role_(role), into_(into) {}

  std::vector<PoolOption> find() {
    for (const Stock& stock : question_.stock)
      if (!role_.device || *role_.device == stock.kind)
        for (const DegreesOfLayout& layout : layouts_on(question_, role_, stock))
          for (std::size_t p = 0; p < question_.precisions.size(); ++p)
            for (std::size_t t = 0; t < std::max<std::size_t>(1, question_.tiers.size()); ++t)
              if (t == 0 || role_.role != "decode") add({&role_, &stock, layout, p, t, {}, 0});
    return std::move(options_);
  }

 private:
  void add(PoolOption option) {
    ++into_.layouts;
    const std::string name = fmt::format("{}{} on {}", option.layout.words(),
                                         role_.role == "both" ? "" : " " + role_.role, option.stock->kind);
    try {
      Json replica = option.replica(question_, 1);
      replica["role"] = "both";  // a pool by itself is no service
      const Plan plan = read_plan(without_workload(question_, question_.precisions[option.precision],
                                                   Json::array({std::move(replica)})),
                                  question_.file);
      option.bounds = bounds_of(plan.replicas[0], question_.demand, question_.slo);
      option.dollars_per_hour = plan.replicas[0].rank.on->spec().dollars_per_hour;
    } catch (const ConfigError& e) {
      const Problem& problem = e.problems().front();
      return into_.leave_out(
          "layouts", problem.misfit ? "do not fit into memory" : "are none for the model or the cluster",
          fmt::format("{}: {}", name, problem.what));
    }
    if (const std::string why = too_slow(option); !why.empty())
      return into_.leave_out("layouts", "are too slow even alone", fmt::format("{}: {}", name, why));
    options_.push_back(std::move(option));
  }

  std::string too_slow(const PoolOption& option) const {
    if (!option.bounds) return "";
    const double first_ms = 1e3 * option.bounds->first_token_s, next_ms = 1e3 * option.bounds->token_s;
    if (role_.role != "decode" && question_.slo.ttft_ms && first_ms > *question_.slo.ttft_ms)
      return fmt::format("the first token of a prompt of {} takes {} ms", question_.demand.long_prompt,
                         shown_number(first_ms, 4));
    if (role_.role != "prefill" && question_.slo.tpot_ms && next_ms > *question_.slo.tpot_ms)
      return fmt::format("a token takes {} ms", shown_number(next_ms, 4));
    return "";
  }

  const PlanQuestion& question_;
  const RoleTemplate& role_;
  Deployments& into_;
  std::vector<PoolOption> options_;
};

}  // namespace

std::string DegreesOfLayout::words() const {
  std::string text = fmt::format("TP{}", tensor);
  for (const auto& [name, degree] : {std::pair("PP", pipeline), {"ADP", attention_data}, {"EP", expert}})
    if (degree > 1) text += fmt::format(" {}{}", name, degree);
  return communication.empty() || attention_data == 1 ? text : text + " " + communication;
}

Json PoolOption::replica(const PlanQuestion& question, std::int64_t count) const {
  Json json = {{"count", count}, {"role", role->role}, {"device", stock->kind}};
  json.update(role->replica);
  Json& cut = json["parallelism"];
  cut["tensor"] = layout.tensor;
  cut["pipeline"] = layout.pipeline;
  cut["expert"] = layout.expert;
  cut["attention_data"] = layout.attention_data;
  // Ranks of a tensor group have all tokens already.
  if (layout.attention_data == 1) json.erase("communication");
  if (!layout.communication.empty()) json["communication"] = layout.communication;
  if (!question.tiers.empty() && role->role != "decode") json["kv_cache"]["tiers"] = question.tiers[tiers];
  return json;
}

std::vector<PoolOption> options_of(const PlanQuestion& question, const RoleTemplate& role,
                                   Deployments& into) {
  return OptionFinder(question, role, into).find();
}

Json without_workload(const PlanQuestion& question, const Json& precision, const Json& replicas) {
  static const Json one_request = parse_json(
      R"({"requests": {"kind": "fixed", "count": 1, "input_tokens": 1, "output_tokens": 1},
          "arrivals": {"kind": "all_at_once"}})",
      "");
  Json scenario = question.scenario;
  scenario["workload"].update(one_request);
  scenario["precision"] = precision;
  scenario["serving"]["replicas"] = replicas;
  return scenario;
}

}  // namespace weir
