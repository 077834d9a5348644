// Number formats as they are in force, whatever says them: a scenario's `precision` or the checkpoint.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "models/llm/precision.h"
#include "sim/app/evidence/differences.h"

namespace weir {
namespace {

bool has(const Architecture& model, MatrixGroup group) {
  const bool experts = model.most_experts() > 0;
  return experts || (group != MatrixGroup::experts && group != MatrixGroup::shared_expert);
}

}  // namespace

std::vector<std::string> other_formats(const Scenario& ours, const Scenario& theirs) {
  std::map<std::string, std::vector<std::string>> groups;  // by what differs
  const auto differ = [&](const std::string& of, const std::string& mine, const std::string& its) {
    if (mine != its) groups[fmt::format("{} (measured: {})", mine, its)].push_back(of);
  };
  for (std::size_t i = 0; i < matrix_groups; ++i) {
    const auto group = static_cast<MatrixGroup>(i);
    if (!has(ours.model, group) || !has(theirs.model, group)) continue;
    const MatrixTypes mine = ours.precision.of(group), its = theirs.precision.of(group);
    differ(name_of(group), to_string(mine.weights), to_string(its.weights));
    if (mine.weights == its.weights)
      differ("activations of " + std::string(name_of(group)), to_string(mine.activations),
             to_string(its.activations));
  }
  differ("hidden states", to_string(ours.precision.hidden()), to_string(theirs.precision.hidden()));
  std::vector<std::string> found;
  for (const auto& [formats, of] : groups)
    found.push_back(fmt::format("number format of {} {}", fmt::join(of, ", "), formats));
  return found;
}

}  // namespace weir
