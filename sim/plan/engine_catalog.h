#pragma once
// Serving engines and what changed in which of their versions: sim/plan/engines/*.json, embedded. The version
// in force has the constants of every row up to its own.
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "sim/plan/scenario.h"

namespace weir {

// Constants around the kernels, in a scenario's units.
struct EnginePreset {
  std::string library;  // of its kernels and collectives; "": the device's own, plain rings
  double step_us = 0, sequence_us = 0, prompt_us = 0;
  double worker_step_us = 0, worker_sequence_us = 0;
  EngineOverhead::Messages messages = EngineOverhead::Messages::once;
  std::string graphs = "every_size";
  std::int64_t most_rows = 512;
  bool graphs_of_prompts = true;
  double eager_step_us = 0, launch_us = 0;
  double front_end_ms = 0;
  int scheduled_ahead_steps = 0;
  bool overlapped = false;
  bool pipelined_chunks = true;
  bool requests_by_memory = false;  // its limit of requests at once
  bool reserve_in_fraction = true;  // memory_fraction holds activations too, not weights and cache alone
  std::string sampler = "fused";
  bool operator==(const EnginePreset&) const = default;
  bool same_times(EnginePreset other) const;  // and whatever else is no matter of memory
  PrefixIndex prefix_index = PrefixIndex::blocks;
};

using VersionNumber = std::array<int, 3>;

struct EngineVersions {
  VersionNumber from;
  std::string first, changed, source;
  EnginePreset preset;
};

struct EngineName {  // and the versions that it means; the last is in force where none is given
  std::string name, first, last;
};

struct EngineFamily {
  std::string kind, title, newest;
  std::vector<EngineVersions> versions;  // oldest first; of an engine without versions one from none
  std::vector<EngineName> names;         // `kind` first
  std::string ranges() const;            // 0.2 to 0.4, 0.5, ...
};

const std::vector<EngineFamily>& engine_families();

struct KnownEngine {
  const EngineFamily* family = nullptr;
  std::string version;  // in force; "" of one without versions
  const EngineVersions* row = nullptr;
  std::string problem, note;  // of the version that was asked for; with a problem another one is in force
};

// The family that has `name`, whose default version is in force where none is given; nothing where no family
// has the name.
std::optional<KnownEngine> find_engine(const std::string& name, const std::optional<std::string>& version);
// Of an engine that was read.
KnownEngine engine_in_force(const EngineOverhead& engine);

}  // namespace weir
