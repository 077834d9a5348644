#pragma once
// Recorded runs of agents against a server: sessions/runs.csv of a reference folder, a row a run, and
// sessions/requests.csv(.gz), a row a request that ended in the measured phase.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace weir {

struct RecordedRequest {
  std::string conversation;  // a sub-agent's begins with that of its parent: PARENT::...
  std::int64_t turn = 0;
  double start_s = 0, end_s = 0;  // as its client saw them, from the start of the measured phase
  std::int64_t input_tokens = 0, output_tokens = 0;
  double ttft_ms = 0, itl_ms = 0;

  std::string root() const { return conversation.substr(0, conversation.find("::")); }
  bool sub_agent() const { return conversation.find("::") != std::string::npos; }
};

struct RecordedRun {
  std::string id, hardware, model, precision, engine;  // in the words of the table
  int tensor = 1, expert = 1;
  std::int64_t lanes = 1;  // agents at a time
  std::int64_t kv_tokens = 0;
  std::string offload = "none";                // what keeps a memory behind the KV cache
  std::optional<double> tier_gb = {};          // that memory
  double computed_share = 0;                   // of the prompts' tokens, by the server's own counters
  std::vector<RecordedRequest> requests = {};  // by their start

  double end_s() const;  // of the last that ended
};

// Requests that were cancelled or failed, or belong to another phase, are left out, as are runs without any.
// `spare`: a folder for what has to be unpacked.
std::vector<RecordedRun> recorded_runs(const std::filesystem::path& folder,
                                       const std::filesystem::path& spare);

}  // namespace weir
