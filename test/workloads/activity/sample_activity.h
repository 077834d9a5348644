#pragma once
// What the tests of this room share: activity of a scenario's key, and recordings written out as text.
#include <fmt/format.h>

#include "workloads/activity/activity.h"

namespace weir::test {

// Throws ConfigError where something is wrong with the key; notes go to `notes`.
inline std::shared_ptr<const NeuronActivity> activity_of(const Json& key,
                                                         std::vector<std::string>* notes = nullptr) {
  Reading reading("scenario.json");
  const Json scenario = {{"activity", key}};
  Params params(reading, scenario);
  auto activity = make_from(neuron_activities(), params.object({"activity", ""}), {"kind", ""});
  params.close();
  reading.finish();
  if (notes) *notes = reading.notes();
  return activity;
}

inline std::unique_ptr<const ActivitySource> generated(double density, const NeuronCounts& counts,
                                                       double drift = 0) {
  // The share of the hottest 20 % cannot be 0.8 beyond a density of 0.25: as high as leaves room for others.
  const double hot_share = density <= 0.2 ? 0.8 : 0.2 / density * 0.9;
  return activity_of(
             {{"kind", "generated"}, {"density", density}, {"hot_share", hot_share}, {"drift", drift}})
      ->bind(counts);
}

// "0-3 7 9"
inline std::string as_runs(std::span<const std::uint8_t> active) {
  std::string text;
  for (std::size_t i = 0; i < active.size(); ++i) {
    if (!active[i]) continue;
    const std::size_t first = i;
    while (i + 1 < active.size() && active[i + 1]) ++i;
    text += fmt::format("{}{}", text.empty() ? "" : " ", first);
    if (i > first) text += fmt::format("-{}", i);
  }
  return text;
}

inline std::string recorded_text(const NeuronCounts& counts, std::int64_t tokens, TokenActivity& sequence) {
  std::string text = fmt::format("layers,attention,mlp\n{},{},{}\ntoken,layer,block,neurons\n", counts.layers,
                                 counts.attention, counts.mlp);
  for (std::int64_t token = 0; token < tokens; ++token) {
    sequence.next();
    for (std::int64_t layer = 0; layer < counts.layers; ++layer)
      for (const NeuronBlock block : neuron_blocks)
        text += fmt::format("{},{},{},{}\n", token, layer, block == NeuronBlock::mlp ? "mlp" : "attention",
                            as_runs(sequence.active(layer, block)));
  }
  return text;
}

}  // namespace weir::test
