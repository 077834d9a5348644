#include "models/llm/acceptance.h"

#include <cmath>

#include "sim/core/embedded.h"
#include "sim/core/params.h"

namespace weir {

extern const EmbeddedFiles acceptance_catalog;

namespace {

double length_at(double rate, std::int64_t drafts) {
  double length = 1, reached = 1;
  for (std::int64_t i = 0; i < drafts; ++i) length += reached *= rate;
  return length;
}

std::vector<AcceptancePreset> read_presets() {
  std::vector<AcceptancePreset> presets;
  for (const auto& [name, text] : acceptance_catalog) {
    const Json& file = embedded_json(text, std::string(name));
    for (const auto& [mode, lengths] : file.at("mean_acceptance_length").items())
      presets.push_back({file.at("file").get<std::string>() + "/" + mode, file.at("model").get<std::string>(),
                         file.at("measures").get<std::vector<std::string>>(),
                         lengths.get<std::vector<double>>()});
  }
  return presets;
}

}  // namespace

Acceptance::Acceptance(std::span<const double> rates) {
  double reached = 1;
  for (const double rate : rates) reached_.push_back(reached *= rate);
}

// Bisection: the length grows with the rate. The ends are exact, so that all or none are accepted.
Acceptance Acceptance::of_length(double length, std::int64_t drafts) {
  double low = 0, high = 1;
  if (length <= 1) high = 0;
  if (length >= static_cast<double>(drafts + 1)) low = 1;
  while (high - low > 1e-15) {
    const double middle = (low + high) / 2;
    (length_at(middle, drafts) < length ? low : high) = middle;
  }
  return Acceptance(std::vector<double>(static_cast<std::size_t>(drafts), low));
}

double Acceptance::length() const {
  double sum = 1;
  for (const double reached : reached_) sum += reached;
  return sum;
}

const std::vector<AcceptancePreset>& acceptance_presets() {
  static const std::vector<AcceptancePreset> presets = read_presets();
  return presets;
}

}  // namespace weir
