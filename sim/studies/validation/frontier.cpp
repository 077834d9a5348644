// serving/frontier_servers.csv: InferenceX's and AIConfigurator's servers of large models and of Blackwell
// GPUs, loaded and launched as InferenceX's public scripts of the day did
// (github.com/SemiAnalysisAI/InferenceX, benchmarks/), by model, GPU and engine.
#include <fmt/format.h>

#include <algorithm>

#include "sim/core/params.h"
#include "sim/plan/engine_catalog.h"
#include "sim/plan/scenario.h"
#include "sim/studies/validation/closed_loops.h"
#include "sim/studies/validation/measured.h"

namespace weir {
namespace {

struct FrontierRow {
  const Table& table;
  std::size_t i;

  const std::string& text(const char* column) const { return table.text(i, column); }
  std::int64_t number(const char* column) const { return table.integer(i, column); }
  bool is(const char* column, const char* value) const { return text(column) == value; }
  bool runs(const char* model, const char* system, const char* engine) const {
    return text("model").starts_with(model) && text("system").starts_with(system) && is("engine", engine);
  }
  bool inferencex() const { return is("origin", "inferencex"); }
};

// InferenceX's client sends prompts of random tokens as text, which the server has to split again. ESTIMATE:
// dense llama3.1-70b takes 4 to 9 us a token more under vLLM and TensorRT-LLM, whatever the GPUs are.
constexpr double text_token_us = 4;

// Rows of workers apart under TensorRT-LLM have the version of Dynamo, which starts it.
bool has_version(const std::string& engine, const std::string& version) {
  return !version.empty() && find_engine(engine, version).value().problem.empty();
}

// How a server was launched.
struct Launch {
  Json precision, kv_cache = Json::object(), engine = Json::object();
  std::int64_t requests = 0, tokens = 8192;  // that it may batch; 0: as many as are in flight
  bool whole_prompts = false;
  bool experts_apart = false;  // all of an expert lies on one GPU, whatever the row says
};

Json types(const std::string& number, const std::string& kv_cache) {
  return {{"weights", number}, {"activations", number}, {"kv_cache", kv_cache}};
}

// Only experts are quantised, all else is in 16 bits.
Json quantised_experts(const std::string& weights, const std::string& activations,
                       const std::string& kv_cache) {
  Json precision = types("bf16", kv_cache);
  precision["expert_weights"] = weights;
  precision["expert_activations"] = activations;
  return precision;
}

// vLLM schedules a step ahead by default from 0.14 on (vllm-project/vllm, releases); scripts of servers
// before asked for it (async-scheduling: true).
Json scheduling_ahead(Json engine = Json::object()) {
  engine["async_scheduling"] = true;
  return engine;
}

// An all-reduce fused with the norm behind it (--enable-flashinfer-allreduce-fusion, fuse_allreduce_rms).
const Json flashinfer = {{"collectives", "trtllm"}};

// SGLang's --scheduler-recv-interval on B200.
Json looks_seldom(const FrontierRow& row, bool fused) {
  Json engine = fused ? flashinfer : Json::object();
  engine["scheduler_recv_interval"] = row.number("concurrency") >= 16 ? 30 : 10;
  return engine;
}

// max_num_tokens of the TensorRT-LLM scripts, which take prompts whole.
Launch of_trtllm(const FrontierRow& row, Json precision, double free_memory) {
  return {.precision = std::move(precision),
          .kv_cache = {{"free_memory_fraction", free_memory}},
          .requests = 2048,  // its default
          .tokens = std::max<std::int64_t>(row.number("concurrency") + row.number("input_tokens") + 64, 8192),
          .whole_prompts = true};
}

Launch of_sglang(Json precision, double memory, std::int64_t requests, std::int64_t chunk, Json engine) {
  return {.precision = std::move(precision),
          .kv_cache = {{"memory_fraction", memory}},
          .engine = std::move(engine),
          .requests = requests,
          .tokens = chunk};
}

Launch launch_of_deepseek(const FrontierRow& row) {
  if (row.is("engine", "trtllm"))
    return of_trtllm(
        row, row.is("gemm", "nvfp4") ? quantised_experts("fp4", "fp4", "fp8") : types("fp8_block", "fp8"),
        0.8);
  if (row.is("system", "h200_sxm"))
    return of_sglang(types("fp8_block", "bf16"), 0.82,
                     row.number("output_tokens") == row.number("input_tokens") ? 512 : 256, 32768,
                     Json::object());
  if (row.is("gemm", "nvfp4")) {
    Launch launch =
        of_sglang(quantised_experts("fp4", "fp4", "fp8"), 0.85, 256, 16384, looks_seldom(row, true));
    launch.experts_apart = row.text("measured") < "2026";
    return launch;
  }
  if (row.is("tp", "4")) return of_sglang(types("fp8_block", "fp8"), 0.95, 32, 8192, looks_seldom(row, true));
  return of_sglang(types("fp8_block", "fp8"), 0.82, 128, 32768, looks_seldom(row, true));
}

Launch launch_of_gpt_oss(const FrontierRow& row) {
  const bool blackwell = row.text("system").starts_with("b");
  Launch launch{
      .precision = quantised_experts("mxfp4", blackwell ? "fp8" : "bf16", blackwell ? "fp8" : "bf16"),
      .engine = scheduling_ahead({{"cuda_graph_max_rows", 2048}})};
  if (!blackwell) return launch;
  launch.requests = 512;
  launch.engine.update(flashinfer);
  return launch;
}

// Until the end of March 2026 the scripts on both GPUs asked for expert parallelism whatever the row says,
// and for nothing else; those of April on B200 batch two prompts and keep the cache in 8 bits.
Launch launch_of_minimax(const FrontierRow& row) {
  const bool april = row.text("measured") >= "2026-04";
  return {.precision = types("fp8_block", april ? "fp8" : "bf16"),
          .kv_cache = {{"memory_fraction", april ? 0.9 : 0.95}},
          .engine = scheduling_ahead(april ? Json{{"cuda_graph_max_rows", 2048}} : Json::object()),
          .requests = 1024,  // vLLM's default on such GPUs
          .tokens = april ? 2 * row.number("input_tokens") : 8192,
          .experts_apart = !april};
}

// vLLM ran with graphs of decodes only (cudagraph_mode FULL_DECODE_ONLY).
Launch launch_of_llama(const FrontierRow& row) {
  if (row.is("engine", "trtllm")) {
    Launch launch = of_trtllm(row, types("fp8", "fp8"), 0.9);
    launch.tokens = 16384;
    return launch;
  }
  Launch launch{.precision = types("fp4", "fp8"), .engine = scheduling_ahead(flashinfer), .requests = 512};
  launch.engine["cuda_graph_prompts"] = false;
  return launch;
}

Launch launch_of_qwen(const FrontierRow& row) {
  if (row.is("engine", "trtllm")) {  // AIConfigurator's, as its dense servers
    Launch launch = of_trtllm(row, types(row.text("gemm"), "fp8"), 0.9);
    launch.tokens = 128 + row.number("input_tokens");
    return launch;
  }
  // AIConfigurator's under SGLang, of which no launch is public: chunks of 8,192 tokens, SGLang's own default
  // on such GPUs (ESTIMATE), all that are in flight in one batch, vLLM's share of the memory.
  if (row.text("system").starts_with("h")) return {.precision = types("fp8_block", "bf16")};
  return of_sglang(types("fp8_block", "fp8"), 0.82, 128, 32768,
                   row.inferencex() ? looks_seldom(row, row.is("tp", "8")) : Json::object());
}

std::optional<Launch> launch_of(const FrontierRow& row) {
  const std::string& model = row.text("model");
  if (model == "deepseek-r1") return launch_of_deepseek(row);
  if (model == "gpt-oss-120b") return launch_of_gpt_oss(row);
  if (model == "minimax-m2.5") return launch_of_minimax(row);
  if (model == "llama3.1-70b") return launch_of_llama(row);
  if (model.starts_with("qwen3")) return launch_of_qwen(row);
  if (model == "kimi-k2.5")
    return Launch{.precision = quantised_experts("int4", "bf16", "bf16"),
                  .kv_cache = {{"memory_fraction", 0.95}},
                  .engine = scheduling_ahead(flashinfer)};
  return {};
}

// Weir lacks this to simulate it, as a word of a row's id; "" if nothing.
std::string lacks(const FrontierRow& row) {
  const std::vector<std::string> known = architecture_names();
  if (std::ranges::find(known, row.text("model")) == known.end() || !launch_of(row)) return row.text("model");
  return "";
}

std::vector<MeasuredPool> pools_of(const FrontierRow& row) {
  if (row.is("mode", "agg")) return {};
  std::vector<MeasuredPool> pools;
  for (const std::string role : {"prefill", "decode"}) {
    const auto number = [&](const char* what) {
      return static_cast<int>(row.number((role + "_" + what).c_str()));
    };
    pools.push_back(
        {role, number("workers"), number("tp"), number("moe_ep"), number("attention_dp"), number("pp")});
  }
  return pools;
}

// InferenceX: uniform from 0.8 of a row's lengths; two rounds of warm-up since 2026-01-21. AIConfigurator:
// as its dense servers.
MeasuredLoad load_of(const FrontierRow& row, const Launch& launch) {
  MeasuredLoad load;
  load.shortest = row.inferencex() ? 0.8 : 1;
  if (!row.inferencex() || row.text("measured") >= "2026-01-21") load.warmup_rounds = 2;
  load.batching = launch.whole_prompts ? "orca" : "chunked_prefill";
  load.max_batch_requests = launch.requests > 0 ? launch.requests : row.number("concurrency");
  load.max_batch_tokens = launch.tokens;
  return load;
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
    Launch launch = *launch_of(row);
    if (row.inferencex()) launch.engine["front_end_us_per_token"] = text_token_us;
    if (const std::string& version = row.text("engine_version"); has_version(row.text("engine"), version))
      launch.engine["version"] = version;
    std::vector<MeasuredPool> pools = pools_of(row);
    const bool apart = !pools.empty();
    const int tensor = apart ? pools.back().tensor : static_cast<int>(row.number("tp"));
    const int attention_data =
        apart ? pools.back().attention_data : static_cast<int>(row.number("attention_dp"));
    const int expert = apart                  ? pools.back().expert
                       : launch.experts_apart ? tensor * attention_data
                                              : static_cast<int>(row.number("moe_ep"));
    servers.push_back(
        {.device = row.text("system"),
         .engine = row.is("engine", "vllm") ? "vllm_v1" : row.text("engine"),
         .model = row.text("model"),
         .weights =
             row.is("gemm", "nvfp4") && !row.text("model").starts_with("gpt") ? "fp4" : row.text("gemm"),
         .interconnect = row.text("system").starts_with("h") ? "nvlink4_switch" : "nvlink5_switch",
         .tensor = tensor,
         .expert = expert,
         .attention_data = attention_data,
         .pipeline = apart ? 1 : static_cast<int>(row.number("pp")),
         .precision = launch.precision,
         .kv_cache = launch.kv_cache,
         .pools = std::move(pools),
         .engine_keys = launch.engine,
         .input_tokens = row.number("input_tokens"),
         .output_tokens = row.number("output_tokens"),
         .concurrency = row.number("concurrency"),
         .load = load_of(row, launch),
         .ttft_ms = table.number(i, "ttft_ms"),
         .tpot_ms = table.number(i, "tpot_ms"),
         .judges_ttft = row.is("judge_ttft", "1"),
         .judges_throughput = row.is("judge_ttft", "1") || apart,
         .source = "InferenceX"});
    if (!row.inferencex() && row.is("engine", "trtllm")) load_as_trtllm_runs(servers.back());
  }
  seat_clients(servers);
  return servers;
}

}  // namespace weir
