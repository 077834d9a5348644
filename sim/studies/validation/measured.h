#pragma once
// Measured figures that Weir is held against: the project's own small table (measured/*.json, embedded, each
// with its source) or, with --reference, the folder they were taken from. Used by the validation study alone.
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "sim/app/results/csv.h"
#include "sim/core/params.h"

namespace weir {

// How a load generator asked, and what the server was told of it. `rounds` are requests for each in flight.
struct MeasuredLoad {
  double shortest = 1;  // lengths are uniform between this share of those of the row and these
  std::int64_t warmup_rounds = 0, rounds = 10;
  std::int64_t most_requests = 0;  // that are measured; 0: any number
  std::string batching;
  std::int64_t max_batch_requests = 0;  // 0: not on record (closed_loops.h)
  std::int64_t max_batch_tokens = 0;

  std::int64_t requests(std::int64_t concurrency) const;  // that are measured
  bool operator==(const MeasuredLoad&) const = default;
};

// Alike workers of a server whose prompts and tokens are computed apart.
struct MeasuredPool {
  std::string role;  // prefill, decode
  int workers = 1, tensor = 1, expert = 1, attention_data = 1, pipeline = 1;
};

// A server measured in a closed loop.
struct MeasuredServer {
  std::string device, engine, model, weights;  // in Weir's names
  std::string interconnect = "nvlink4_switch";
  int tensor = 1, expert = 1, attention_data = 1, pipeline = 1;
  Json precision = {}, kv_cache = {};    // as the scenario has them; null: what is known of the engine
  std::vector<MeasuredPool> pools = {};  // instead of one worker of `tensor` and `expert`
  Json engine_keys = Json::object();     // how it was launched, beside its engine's kind
  std::int64_t input_tokens = 0, output_tokens = 0, concurrency = 0;
  MeasuredLoad load;
  double ttft_ms = 0, tpot_ms = 0;                    // means, as the client saw them
  bool judges_ttft = true, judges_throughput = true;  // false: not measured as the load above says
  bool held_up = false;  // by something that more GPUs do not make faster (closed_loops.h)
  std::string source;

  // The number format of its matrices, as a scenario names it: Qwen's own fp8 checkpoints are block-scaled
  // (huggingface.co/Qwen/Qwen3-32B-FP8, weight_block_size 128 x 128), those of Llama 3.1 have a scale a
  // tensor or row.
  std::string number() const;
  std::string group() const;  // h100_sxm_trtllm_qwen3-32b_fp8_tp2
};

// AIConfigurator's runs of TensorRT-LLM: of dense models and of experts alike.
void load_as_trtllm_runs(MeasuredServer& server);
Json server_scenario(const MeasuredServer& server);

Json shipped_table(const std::string& stem);  // measured/STEM.json
std::vector<MeasuredServer> shipped_servers();
std::vector<MeasuredServer> reference_servers(const std::filesystem::path& reference);
// The rows of serving/frontier_servers.csv that are fit to judge by and that Weir can simulate; how many of
// the former it cannot goes to `left_out`, by what it lacks.
std::vector<MeasuredServer> frontier_servers(const std::filesystem::path& reference,
                                             std::map<std::string, int>& left_out);

}  // namespace weir
