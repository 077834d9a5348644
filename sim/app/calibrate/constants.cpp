#include "sim/app/calibrate/constants.h"

namespace weir {
namespace {

double us(Seconds time) {
  return 1e6 * time.value();
}

}  // namespace

// ESTIMATE of the usual changes: presets of engines differ by so much (sim/plan/engine_presets.cpp), and
// kernels of one GPU between libraries (docs/calibration/README.md).
const std::vector<ServerConstant>& server_constants() {
  static const std::vector<ServerConstant> table = {
      {"step_overhead_us", "host time a step", 1000, 0, 1e6,
       [](const ReplicaSpec& r) { return us(r.engine.per_step); }},
      {"front_end_ms", "front end before the scheduler", 20, 0, 10'000,
       [](const ReplicaSpec& r) { return 1e3 * r.front_end.per_request.value(); }},
      {"sequence_overhead_us", "host time a sequence of a step", 30, 0, 1e5,
       [](const ReplicaSpec& r) { return us(r.engine.per_sequence); }},
      {"memory_efficiency", "memory bandwidth that kernels reach, times what they did where measured", -0.15,
       0.4, 2.5, [](const ReplicaSpec&) { return 1.0; }},
      {"compute_efficiency", "the same of the peak of arithmetic", -0.2, 0.4, 2.5,
       [](const ReplicaSpec&) { return 1.0; }},
      {"prompt_overhead_us", "host time a prompt, or a chunk of one", 5000, 0, 1e6,
       [](const ReplicaSpec& r) { return us(r.engine.per_prompt); }},
  };
  return table;
}

Json calibration_json(const ReplicaSpec& replica, const std::string& device, const ConstantValues& values,
                      const std::vector<bool>& named) {
  Json json = {{"format", calibration_format},
               {"engine", replica.engine.kind},
               {"engine_version", replica.engine.version},
               {"device", device}};
  for (std::size_t k = 0; k < values.size(); ++k)
    if (named[k]) json[server_constants()[k].key] = values[k];
  return json;
}

}  // namespace weir
