#include "sim/plan/plan.h"

#include <fmt/format.h>

#include "sim/plan/scenario_parts.h"
#include "sim/plan/servable.h"

namespace weir {
namespace {

void check_roles(const Scenario& s, Reading& reading) {
  bool prefill = false, decode = false;
  for (const ReplicaSpec& r : s.replicas) {
    prefill = prefill || r.role == Role::prefill;
    decode = decode || r.role == Role::decode;
  }
  if (prefill != decode)
    reading.problem("/serving/replicas", prefill ? "prefill replicas need decode replicas to hand over to"
                                                 : "decode replicas need prefill replicas to take over from");
  for (std::size_t i = 0; i < s.replicas.size(); ++i)
    if (prefill && s.replicas[i].role == Role::both)
      reading.problem(fmt::format("/serving/replicas/{}/role", i),
                      "both cannot stand beside prefill and decode");
}

}  // namespace

Plan read_plan(const Json& document, const std::string& file) {
  Reading reading(file);
  Plan plan{read_scenario(Params(reading, document)), {}, {}};
  Scenario& s = plan.scenario;
  if (s.serves() && !reading.failed()) {
    check_roles(s, reading);
    check_drafts_go_over(s, reading);
    place_replicas(plan, reading);
  }
  if (!s.training.empty()) place_training(plan, reading);
  if (!reading.failed()) note_what_has_no_effect(plan, reading);
  reading.finish();
  s.notes.insert(s.notes.end(), reading.notes().begin(), reading.notes().end());
  if (const auto why = s.serves() ? why_none_is_served(plan) : std::nullopt) s.notes.push_back(*why);
  s.resolved = std::move(reading.resolved);
  s.files = reading.files();
  return plan;
}

}  // namespace weir
