// How many replicas a load takes at best: what weir plan does not run is what that rules out, and no more.
#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "sim/app/plan/deployments.h"
#include "test/app/plan/plan_files.h"

using namespace weir;
using namespace weir::test;

namespace {

Json evenly(int input, int output, double rate_per_s, int percentile) {
  Json question = plan_question(rate_per_s, 400, 40);
  question["workload"] = {
      {"requests", {{"kind", "fixed"}, {"count", 400}, {"input_tokens", input}, {"output_tokens", output}}},
      {"arrivals", {{"kind", "constant"}, {"rate_per_s", rate_per_s}}}};
  question["plan"] = {{"percentile", percentile}};
  return question;
}

}  // namespace

// Prompts have the span of arrivals and one TTFT more; answers have as many TPOTs more as they have tokens.
// The percentile is the share of all tokens that has to be in time.
TEST_CASE("plan: the fewest replicas are those that the load takes by the bounds of one") {
  std::size_t bitten = 0;
  for (const auto& [input, output, rate] : {std::tuple{3000, 4, 60.}, {50, 400, 120.}, {800, 100, 90.}})
    for (const int percentile : {50, 90, 99}) {
      PlanArguments arguments;
      arguments.file = "question.json";
      arguments.devices = "8xh100_sxm";
      const PlanQuestion question = read_question(evenly(input, output, rate, percentile), arguments);
      std::map<std::int64_t, std::int64_t> fewest;  // by the tensor ranks of one kind of replica alone
      Json replicas;
      for (const Deployment& d : deployments_of(question).all) {
        const ReplicaPool& pool = d.pools[0];
        if (d.apart() || pool.layout.pipeline > 1) continue;
        const auto [at, first] = fewest.try_emplace(pool.layout.tensor, pool.count);
        at->second = std::min(at->second, pool.count);
      }
      for (const std::int64_t tensor : {1, 2, 4, 8}) {
        Json one = evenly(input, output, rate, percentile);
        one.erase("plan");
        one["cluster"] = {
            {"nodes",
             {{{"devices", {{{"kind", "h100_sxm"}, {"count", 8}}}}, {"interconnect", "nvlink4_switch"}}}}};
        one["serving"]["replicas"] = {{{"parallelism", {{"tensor", tensor}}}}};
        const auto bounds = bounds_of(read_plan(one, "one.json").replicas[0], question.demand, question.slo);
        REQUIRE(bounds);
        const double share = percentile / 100., span = 399 / rate, prompts = span + 0.4;
        const double of_prompts = share * 400 * input / (bounds->prompt_tokens_per_s * prompts);
        const double of_answers =
            share * 400 * output / (bounds->decode_tokens_per_s * (prompts + output * 0.04));
        const auto least =
            static_cast<std::int64_t>(std::max(1., std::ceil(std::max(of_prompts, of_answers))));
        CAPTURE(input, output, percentile, tensor, of_prompts, of_answers);
        bitten += least > 1;
        if (least * tensor > 8)
          CHECK_FALSE(fewest.contains(tensor));
        else
          CHECK(fewest[tensor] == least);
      }
    }
  CHECK(bitten > 8);
}
