#pragma once
// The tables of one profile folder, in the layout of LLMServingSim's profiler: dense.csv
// (layer,tokens,time_us), per_sequence.csv (layer,sequences,time_us), attention.csv
// (prefill_chunk,kv_prefill,n_decode,kv_decode,time_us) and, of experts, moe.csv
// (tokens,activated_experts,time_us). Times are of one layer on one rank, at the folder's tensor parallelism;
// other files are ignored. With a profile.json no file is required, and there are the tables of
// profile_shapes.h too. Read by profiled.cpp.
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "devices/device.h"
#include "devices/profile/profile_shapes.h"
#include "devices/profile/profile_tables.h"
#include "sim/core/errors.h"

namespace weir {

using LayerTimes = std::map<std::string, Curve, std::less<>>;  // seconds by rows

// Heads of a rank that rows of attention.csv are of.
struct MeasuredHeads {
  std::int64_t query = 0, kv = 0, dim = 0;
  DataType kv_cache = DataType::bf16;
  std::int64_t window = 0;  // a token attends to so many at most; 0: to all
  bool operator==(const MeasuredHeads&) const = default;
};

// So many alike prompts, none of which has tokens in the KV cache.
struct MeasuredPrompts {
  double prompts, tokens, seconds;
};

struct AttentionTimes {
  std::optional<MeasuredHeads> of;  // any where the file has no such columns
  DecodeTimes decode;
  MixedTimes mixed;
  // With a column `prompts`: in the place of `mixed`, as engines' kernel tables are, whose rows are of
  // prompts alone or of decodes alone.
  std::vector<MeasuredPrompts> prompts;
  double longest_decode = 0, longest_context = 0;
};

struct ProfileBundle {
  std::optional<ProfileSource> source;  // of profile.json
  bool analytic_where_missing = false;
  LayerTimes dense, per_sequence;
  std::vector<AttentionTimes> attention;
  Axis<Curve> experts;  // tokens, then activated experts
  std::vector<GemmTimes> gemms;
  std::vector<ExpertTimes> expert_blocks;
  std::size_t latent_attention_rows = 0;
};

// Every malformed row, missing column and missing file becomes a problem with its file and line.
ProfileBundle read_bundle(const std::filesystem::path& folder, std::vector<Problem>& problems);

}  // namespace weir
