#pragma once
// OPT-13B on an RTX 4090 beside NDP-DIMMs, to change.
#include "test/serving/random_scenario.h"

namespace weir::test {

// {} is null.
inline Json laid_over(Json keys, const Json& over) {
  if (over.is_object()) keys.update(over);
  return keys;
}

// Keys over those of the partitioning, of the NDP-DIMMs and of the activity.
inline Json hermes_scenario(const Json& partitioning, const Json& dimms, const Json& activity) {
  Json s = small_scenario();
  s["model"] = "opt-13b";
  s["precision"] = {{"weights", "fp16"}, {"activations", "fp16"}, {"kv_cache", "fp16"}};
  const Json memory = laid_over({{"kind", "ndp_dimm"}}, dimms),
             policy = laid_over({{"kind", "hot_cold"}, {"on_device_gb", 12}}, partitioning),
             drawn = laid_over({{"kind", "generated"}, {"density", 0.1}}, activity);
  s["cluster"]["nodes"] = {{{"devices", {{{"kind", "rtx4090"}}, memory}}}};
  s["serving"]["replicas"] = {{{"engine", {{"kind", "ideal"}}},
                               {"kv_cache", {{"blocks", 256}}},
                               {"batching", {{"kind", "prefill_first"}, {"max_batch_requests", 16}}},
                               {"partitioning", policy}}};
  s["workload"] = {
      {"requests", {{"kind", "fixed"}, {"count", 1}, {"input_tokens", 64}, {"output_tokens", 24}}},
      {"arrivals", {{"kind", "all_at_once"}}},
      {"activity", drawn}};
  return s;
}

}  // namespace weir::test
