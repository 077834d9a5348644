// Every file of a profile folder on any bytes whatever: tables of positive, finite times or problems, ten of
// a file at most and one that counts the others. The first byte picks the file; an odd second one puts a good
// beginning before the rest, for no search through random bytes finds a header.
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "devices/profile/profile_bundle.h"

using namespace weir;

namespace {

struct Target {
  const char* file;
  std::string beginning;
};

const std::vector<Target> targets = {
    {"profile.json",
     R"({"engine": "vllm", "gpu": "h100_sxm", "tp": 1, "source": "s", "missing": "analytic")"},
    {"dense.csv", "layer,tokens,time_us\nqkv_proj,1,2\n"},
    {"per_sequence.csv", "layer,sequences,time_us\nlm_head,1,2\n"},
    {"attention.csv", "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n0,0,1,16,5\n16,0,0,0,7\n"},
    {"attention.csv",
     "heads,kv_heads,head_dim,kv_type,prompts,prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n"
     "32,8,128,bf16,2,16,0,0,0,5\n32,8,128,bf16,0,0,0,1,16,7\n"},
    {"moe.csv", "tokens,activated_experts,time_us\n1,2,3\n"},
    {"moe.csv",
     "type,hidden,inter,topk,experts,ep,tp,distribution,tokens,time_us\nbf16,64,64,2,8,1,1,uniform,1,2\n"},
    {"gemm.csv", "type,m,n,k,time_us\nbf16,1,64,64,2\n"},
    {"mla.csv", "module,phase,heads,sequences,tokens,context,kv_type,time_us\nmla,context,1,1,1,0,bf16,2\n"},
};

const std::filesystem::path& folder() {
  static const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("weir-fuzz-" + std::to_string(::getpid()));
  return path;
}

bool is_time(double seconds) {
  return seconds > 0 && std::isfinite(seconds);
}

void check(const ProfileBundle& tables) {
  bool good = true;
  for (const LayerTimes* layers : {&tables.dense, &tables.per_sequence})
    for (const auto& [layer, curve] : *layers)
      for (std::size_t i = 0; i < curve.x.size(); ++i)
        good = good && is_time(curve.y[i]) && (i == 0 || curve.x[i - 1] < curve.x[i]);
  for (const GemmTimes& of : tables.gemms)
    for (const MeasuredGemm& g : of.rows)
      good = good && g.m >= 1 && g.n >= 1 && g.k >= 1 && is_time(g.seconds);
  for (const AttentionTimes& of : tables.attention)
    for (const MeasuredPrompts& p : of.prompts)
      good = good && p.prompts >= 1 && p.tokens >= 1 && is_time(p.seconds);
  for (const ExpertTimes& of : tables.expert_blocks)
    good = good && of.block.active <= of.block.total && !of.times.x.empty();
  if (!good) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const Target& target = targets[data[0] % targets.size()];
  std::filesystem::remove_all(folder());
  std::filesystem::create_directory(folder());
  std::ofstream(folder() / "profile.json") << targets[0].beginning << "}";
  std::ofstream(folder() / target.file)
      << (data[1] % 2 ? target.beginning : "") << std::string(data + 2, data + size);
  std::vector<Problem> problems;
  const ProfileBundle tables = read_bundle(folder(), problems);
  if (problems.empty()) check(tables);
  if (problems.size() > 24) std::abort();
  std::filesystem::remove_all(folder());
  return 0;
}
