#pragma once
// A GPU with tables that know kernels by their shapes, written for a test.
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "devices/profile/profile_bundle.h"
#include "policies/partitioning/partitioning.h"
#include "sim/studies/validation/kernels.h"
#include "test/app/scratch_directory.h"
#include "test/devices/priced.h"

namespace weir::test {

using Files = std::map<std::string, std::string>;

inline const std::string about =
    R"({"engine": "trtllm", "gpu": "h100_sxm", "tp": 1, "source": "made up", "missing": "analytic"})";
inline const std::string attention_header =
    "heads,kv_heads,head_dim,kv_type,prompts,prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n";

inline void write(const ScratchDirectory& folder, const Files& files) {
  for (const auto& [file, text] : files) std::ofstream(folder / file) << text;
}

inline std::string problems_of(const Files& files) {
  const ScratchDirectory folder;
  write(folder, files);
  std::vector<Problem> problems;
  read_bundle(folder.path(), problems);
  std::string text;
  for (const Problem& p : problems) text += p.what + "\n";
  return text;
}

// Not slowed by a power limit, unless a test says so: measured rows are then themselves.
struct ProfiledGpu {
  explicit ProfiledGpu(const Files& files, Json overrides = {{"sustained_compute", 1}})
      : analytic(catalog_device("h100_sxm", overrides)) {
    write(folder, files);
    overrides["profile"] = folder.path().string();
    device = catalog_device("h100_sxm", overrides);
  }
  double us(const Operator& op, const BatchShape& batch) const { return of(*device, op, batch); }
  double analytic_us(const Operator& op, const BatchShape& batch) const { return of(*analytic, op, batch); }
  std::vector<std::string> analytic_layers(const StageGraph& stage) const {
    std::vector<KernelWork> all;
    for (const Operator* op : operators_of(stage)) all.push_back(lowered(*op, {}));
    return device->analytic_layers(all);
  }

  ScratchDirectory folder;
  std::shared_ptr<const Device> analytic, device;

 private:
  static double of(const Device& on, const Operator& op, const BatchShape& batch) {
    return 1e6 * priced(on, op, batch).time.value();
  }
};

inline BatchShape rows(std::int64_t m) {
  return decode_batch(m, 1);
}

inline BatchShape prompts(const std::vector<PrefillChunk>& chunks, BatchShape decodes = {}) {
  decodes.prefill = chunks;
  for (const PrefillChunk& c : chunks) decodes.prefill_tokens += c.tokens;
  decodes.sequences += static_cast<std::int64_t>(chunks.size());
  return decodes;
}

inline Architecture model(const std::string& name) {
  Reading reading("test");
  return find_architecture(name, reading, "");
}

inline const std::string gemms =
    "type,m,n,k,time_us\n"
    "bf16,1,4096,4096,20\nbf16,16,4096,4096,22\nbf16,17,4096,4096,30\nbf16,256,4096,4096,44\n"
    "bf16,1,8192,4096,50\nbf16,256,8192,4096,60\n"
    "bf16,1,4096,8192,30\nbf16,256,4096,8192,90\n";

inline const Operator attention = attention_operator(32, 8);

}  // namespace weir::test
