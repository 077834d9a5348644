#pragma once
// The tables of one profile folder, in the layout of LLMServingSim's profiler: dense.csv
// (layer,tokens,time_us), per_sequence.csv (layer,sequences,time_us), attention.csv
// (prefill_chunk,kv_prefill,n_decode,kv_decode,time_us) and, of experts, moe.csv
// (tokens,activated_experts,time_us). Times are of one layer on one rank, at the folder's tensor parallelism;
// other files are ignored. Read by profiled.cpp.
#include <filesystem>
#include <map>
#include <string>

#include "devices/profile_tables.h"
#include "sim/core/errors.h"

namespace weir {

using LayerTimes = std::map<std::string, Curve>;  // seconds by rows

struct ProfileBundle {
  LayerTimes dense, per_sequence;
  DecodeTimes decode;
  MixedTimes mixed;
  Axis<Curve> experts;  // tokens, then activated experts
  double longest_decode = 0, longest_context = 0;
};

// Every malformed row, missing column and missing file becomes a problem with its file and line.
ProfileBundle read_bundle(const std::filesystem::path& folder, std::vector<Problem>& problems);

}  // namespace weir
