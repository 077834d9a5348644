// Beside requests.csv, whose columns are those of any run: where the tokens of each prompt came from.
#include "sim/app/output/output_file.h"
#include "sim/app/output/prompts/prompt_sources.h"

namespace weir {

bool prompts_find(const FinishedRun& run) {
  return run.plan.scenario.workload.contents.shared() || run.result.kv_tiers > 0;
}

std::vector<std::int64_t> sources_of(const RunResult& result, std::size_t request) {
  const RequestRecord& record = result.requests[request];
  std::vector<std::int64_t> tokens = {record.request.input_tokens - record.found_tokens, record.found_tokens};
  if (const auto loaded = result.tier_tokens.find(static_cast<std::int32_t>(request));
      loaded != result.tier_tokens.end())
    for (const std::int64_t of_tier : loaded->second) {
      tokens[0] -= of_tier;
      tokens.push_back(of_tier);
    }
  tokens.resize(2 + result.kv_tiers);
  return tokens;
}

void write_prompts_csv(const std::filesystem::path& path, const RunResult& result) {
  OutputFile file(path);
  file.text("request_id,computed_tokens,local_hit_tokens");
  for (std::size_t tier = 0; tier < result.kv_tiers; ++tier) file.print(",tier_{}_hit_tokens", tier);
  file.line_done();
  for (std::size_t i = 0; i < result.requests.size(); ++i) {
    file.print("{}", i);
    const bool scheduled = result.requests[i].scheduled >= Seconds(0);
    for (const std::int64_t tokens : sources_of(result, i))
      scheduled ? file.print(",{}", tokens) : file.text(",");
    file.line_done();
  }
  file.close();
}

}  // namespace weir
