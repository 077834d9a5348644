#pragma once
// Where the tokens of a run's prompts came from - computed, found in the KV cache, loaded from a tier - as
// prompts.csv says it request by request, and what figures and the page of a run show of it.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/app/output/result_directory.h"
#include "sim/app/output/writers.h"

namespace weir {

// Whether a run's prompts can find anything: it has a prompts.csv then.
bool prompts_find(const FinishedRun& run);
// Tokens of one prompt in the order of that file's columns: computed, found, and loaded from each tier.
std::vector<std::int64_t> sources_of(const RunResult& result, std::size_t request);
// One row a request: tokens computed, found, and loaded from each tier, when it was scheduled first; empty
// where it never was.
void write_prompts_csv(const std::filesystem::path& path, const RunResult& result);

struct PromptSources {
  std::vector<std::string> sources;  // "computed", "KV cache", "tier 0", ...
  // Prompts by when they were scheduled, in equal periods that end at these times; tokens a second of each
  // source.
  std::vector<double> time_s;
  std::vector<std::vector<double>> tokens_per_s;  // by source
  // In %, of a period's prompts; that of the last one before where there is none.
  std::vector<double> hit_percent;
  // Requests by which share of their prompt they found, in tenths that hold any.
  struct Tenth {
    double from_percent;
    std::size_t requests;
    double p50_ttft_ms, p90_ttft_ms;
  };
  std::vector<Tenth> tenths;
};

class PromptSums {
 public:
  // `sources` are the columns of prompts.csv behind the first; a run ends at `end_s` > 0.
  PromptSums(double end_s, std::size_t sources);
  // A measured request; NaN for what it never had.
  void add(double scheduled_s, double ttft_ms, const std::vector<double>& tokens);
  std::optional<PromptSources> result() &&;  // none if no prompt was scheduled

 private:
  double period_;
  std::vector<std::vector<double>> tokens_;   // by source
  std::vector<std::vector<double>> ttft_ms_;  // by share that was found
  bool any_ = false;
};

// prompts.svg and ttft_by_hit_share.svg.
void draw_prompts(ResultDirectory& directory, const RunResult& result);

}  // namespace weir
