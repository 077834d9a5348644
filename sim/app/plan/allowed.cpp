// The key "plan" of a scenario, declared once.
#include <fmt/format.h>

#include "sim/app/plan/question.h"

namespace weir {
namespace {

// A list of numbers; [] where it is not given: any.
std::vector<std::int64_t> degree_list(Params& params, Key key) {
  std::vector<std::int64_t> all;
  const Json* given = params.value(
      key, {{"type", "array"}, {"items", {{"type", "integer"}, {"minimum", 1}, {"maximum", 4096}}}},
      Json::array());
  if (!given) return all;
  for (const Json& one : given->is_array() ? *given : Json::array({*given}))
    if (one.is_number_integer() && one >= 1 && one <= 4096)
      all.push_back(one);
    else
      params.fail(key.name,
                  "expected a list of integers from 1 to 4096, got " + shortened(given->dump(), 60));
  return all;
}

std::vector<Json> list_of(Params& params, Key key, const char* item, bool (Json::*is_item)() const noexcept) {
  const Json* given = params.value(key, {{"type", "array"}, {"items", {{"type", item}}}}, Json::array());
  std::vector<Json> all;
  if (!given) return all;
  for (const Json& one : given->is_array() ? *given : Json::array({*given}))
    if ((one.*is_item)())
      all.push_back(one);
    else
      params.fail(key.name,
                  fmt::format("expected a list, each an {}, got {}", item, shortened(given->dump(), 60)));
  return all;
}

}  // namespace

AllowedByPlan AllowedByPlan::from(Params& params) {
  AllowedByPlan plan;
  plan.devices = params.text({"devices", "As --devices, which stands over it: 16xh100_sxm,8xl40s."}, "");
  plan.objective = params.text({"objective", "As --objective, which stands over it."}, "");
  plan.percentile = params.integer(
      {"percentile", "Of the requests, that meet each time of the SLO: 50, 90, 95 or 99."}, {50, 99}, 99);
  if (const auto p = plan.percentile; p != 50 && p != 90 && p != 95 && p != 99)
    params.fail("percentile", fmt::format("expected 50, 90, 95 or 99, got {}", p));
  Params cut = params.object({"parallelism", "Degrees that layouts may have; []: powers of two."});
  plan.degrees.tensor = degree_list(cut, {"tensor", "Within a node where it is []."});
  plan.degrees.pipeline = degree_list(cut, {"pipeline", "Up to 8 where it is []."});
  plan.degrees.expert = degree_list(cut, {"expert", "[]: 1 and all ranks of a stage, as engines have it."});
  plan.degrees.attention_data = degree_list(cut, {"attention_data", "Of models with experts."});
  cut.close();
  plan.precisions = list_of(params, {"precision", "Beside the scenario's, each with what differs from it."},
                            "object", &Json::is_object);
  plan.tiers =
      list_of(params, {"kv_tiers", "What kv_cache.tiers may be, each a list; []: as the replicas have them."},
              "array", &Json::is_array);
  for (const Json& one : list_of(params,
                                 {"communication",
                                  "What attention-data ranks may send tokens to experts by; []: as the "
                                  "replicas have it."},
                                 "string", &Json::is_string))
    plan.communications.push_back(one);
  return plan;
}

}  // namespace weir
