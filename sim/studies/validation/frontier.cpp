// serving/frontier_servers.csv: InferenceX's and AIConfigurator's servers of large models and of Blackwell
// GPUs, loaded and launched as their public scripts say (reference systems/servers.md; for llama3.1-70b on
// B200 the scripts of InferenceX of 2025-10-29, benchmarks/70b_*_b200*.sh).
#include <fmt/format.h>

#include <algorithm>

#include "sim/core/params.h"
#include "sim/plan/scenario.h"
#include "sim/studies/validation/measured.h"

namespace weir {
namespace {

struct FrontierRow {
  const Table& table;
  std::size_t i;

  const std::string& text(const char* column) const { return table.text(i, column); }
  std::int64_t number(const char* column) const { return table.integer(i, column); }
  bool is(const char* column, const char* value) const { return text(column) == value; }
};

// What Weir lacks to simulate it, as a word of a row's id; "" if nothing.
std::string lacks(const FrontierRow& row) {
  if (!row.is("mode", "agg")) return "prefill_apart";
  const std::vector<std::string> known = architecture_names();
  if (std::ranges::find(known, row.text("model")) == known.end()) return row.text("model");
  if (!row.is("attention_dp", "1")) return "attention_data_parallel";
  return "";
}

std::string number_of(const FrontierRow& row) {
  return row.is("gemm", "nvfp4") ? "fp4" : row.text("gemm");
}

// Prompts and outputs are uniform from 0.8 of a row's lengths. Runs since 2026-01-21 warm up for two rounds.
MeasuredLoad load_of(const FrontierRow& row) {
  MeasuredLoad load;
  load.batching = "chunked_prefill";
  load.max_batch_requests = 512;
  load.max_batch_tokens = 8192;
  const bool inferencex = row.is("origin", "inferencex");
  load.shortest = inferencex ? 0.8 : 1;
  if (!inferencex || row.text("measured") >= "2026-01-21") load.warmup_rounds = 2;
  if (row.is("engine", "trtllm")) {
    load.batching = "orca";
    load.max_batch_requests = 2048;  // its default
    load.max_batch_tokens =
        row.text("model").starts_with("llama")
            ? 16384
            : std::max<std::int64_t>(row.number("concurrency") + row.number("input_tokens") + 64, 8192);
  }
  return load;
}

// vLLM on B200: FlashInfer's fused all-reduce, and graphs of decodes only (cudagraph_mode FULL_DECODE_ONLY).
Json engine_keys(const FrontierRow& row) {
  if (!row.is("engine", "vllm") || !row.is("system", "b200_sxm")) return Json::object();
  return {{"collectives", "trtllm"}, {"cuda_graph_prompts", false}};
}

}  // namespace

std::vector<MeasuredServer> frontier_servers(const std::filesystem::path& reference,
                                             std::map<std::string, int>& left_out) {
  const std::filesystem::path file = reference / "serving" / "frontier_servers.csv";
  if (!std::filesystem::exists(file)) return {};
  const Table table = Table::read(file);
  std::vector<MeasuredServer> servers;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const FrontierRow row{table, i};
    if (!row.is("judge_tpot", "1")) continue;
    if (const std::string what = lacks(row); !what.empty()) {
      ++left_out[what];
      continue;
    }
    servers.push_back(
        {.device = row.text("system"),
         .engine = row.is("engine", "vllm") ? "vllm_v1" : row.text("engine"),
         .model = row.text("model"),
         .weights = number_of(row),
         .interconnect = row.text("system").starts_with("h") ? "nvlink4_switch" : "nvlink5_switch",
         .tensor = static_cast<int>(row.number("tp")),
         .engine_keys = engine_keys(row),
         .input_tokens = row.number("input_tokens"),
         .output_tokens = row.number("output_tokens"),
         .concurrency = row.number("concurrency"),
         .load = load_of(row),
         .ttft_ms = table.number(i, "ttft_ms"),
         .tpot_ms = table.number(i, "tpot_ms"),
         .judges_ttft = row.is("judge_ttft", "1"),
         .source = "InferenceX"});
  }
  return servers;
}

}  // namespace weir
