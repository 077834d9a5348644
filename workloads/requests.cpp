#include "workloads/requests.h"

#include "workloads/benchmarks/benchmark_result.h"
#include "workloads/traces/readers.h"

namespace weir {
namespace {

using Source = std::shared_ptr<const RequestSource>;

template <Trace (*read)(std::string_view, const std::string&)>
Source lengths(Params& params) {
  return trace_file(params, read);
}

template <Trace (*read)(std::string_view, const std::string&, const TokenCounter&)>
Source texts(Params& params) {
  const auto counter = read_token_counter(params);
  Source source = trace_file(params, [counter](auto text, auto& file) { return read(text, file, *counter); });
  return counter ? source : nullptr;
}

Source conversations(Params& params) {
  const bool history = params.flag(
      {"history",
       "true: a prompt is the whole conversation before the answer; false: only the message it answers"},
      false);
  const auto counter = read_token_counter(params);
  Source source = trace_file(params, [counter, history](auto text, auto& file) {
    return read_conversations(text, file, *counter, history);
  });
  return counter ? source : nullptr;
}

std::int64_t read_block_tokens(Params& params) {
  return params.integer({"hash_block_tokens", "tokens of a block that a hash id stands for"}, {1, max_tokens},
                        mooncake_block_tokens);
}

Source own_csv(Params& params) {
  const auto ids = params.path_or_null(
      {"hash_ids",
       "a file beside the trace, relative to this file: a line of ids for each row, `14-27` being all "
       "from 14 to 27. Prompts begin alike as far as their ids are the same, as Mooncake's do"});
  const std::int64_t block_tokens = read_block_tokens(params);
  if (!ids) return trace_file(params, read_csv);
  return trace_file(params, [path = *ids, block_tokens](auto text, auto& file) {
    const std::string lines = read_trace_text(path);
    return read_csv_with_ids(text, file, BlockIdLines(lines, path.string(), block_tokens));
  });
}

Source mooncake(Params& params) {
  const double spread_s = params.number({"tick_spread_s",
                                         "each arrival is moved back by a uniform draw below this: 3 undoes "
                                         "the log's ticks of 3 s, 0 keeps them as bursts"},
                                        {0, 3600}, 0);
  const std::int64_t block_tokens = read_block_tokens(params);
  const auto counter = read_token_counter_or_null(params);
  return trace_file(
      params,
      [block_tokens, counter](auto text, auto& file) {
        return read_mooncake_blocks(text, file, block_tokens, counter.get());
      },
      spread_s);
}

Source openai_batch(Params& params) {
  const auto counter = read_token_counter_or_null(params);
  const auto output_tokens = params.integer_or_null(
      {"output_tokens", "of every answer of a file of requests; null: what each allows (its max_tokens)"},
      {1, max_tokens});
  return trace_file(params, [counter, output_tokens](auto text, auto& file) {
    return read_openai_batch(text, file, counter.get(), output_tokens);
  });
}

// A load generator's record of its own run.
Source benchmark(Params& params, const char* tool) {
  const auto result = params.integer_or_null(
      {"result", "which one of a file that holds several, from 0; null: it holds one"}, {0, 1'000'000});
  return trace_file(params, [tool, result](auto text, auto& file) {
    return read_benchmark_trace(text, file, tool, result);
  });
}

}  // namespace

const Catalog<RequestSource>& request_sources() {
  static const Catalog<RequestSource> table = {
      {"csv", "columns arrival_s, input_tokens, output_tokens, and priority (lower: more urgent) or not",
       own_csv},
      {"columns", "any CSV, by what its columns are called", make_columns},
      {"jsonl", "JSON Lines: prompts as vLLM's custom data sets have them, or their lengths", make_jsonl},
      {"sessions", "requests that wait for answers before them, and share what these said (CSV)",
       make_sessions_file},
      {"sharegpt", "conversations as ShareGPT and OpenThoughts write them (texts)", conversations},
      {"alpaca", "Stanford Alpaca's instructions (texts)", texts<read_alpaca>},
      {"openr1", "OpenR1-Math-220k, a request for each generation (texts)", texts<read_openr1>},
      {"dolphin_r1", "Dolphin-R1's reasoning sets (texts)", texts<read_dolphin_r1>},
      {"longbench", "LongBench's questions on long contexts (texts)", texts<read_longbench>},
      {"azure", "Azure LLM inference traces of 2023 and 2024", lengths<read_azure>},
      {"mooncake", "Mooncake's traces; prompts begin alike as far as their hash ids are the same", mooncake},
      {"bailian", "Qwen-Bailian's traces: Mooncake's fields in seconds, and blocks of 16 tokens",
       lengths<read_bailian>},
      {"servegen", "what ServeGen generates: timestamp, input_tokens, output_tokens", lengths<read_servegen>},
      {"openai_batch", "OpenAI's batches: files of requests (texts), or of answers with their usage",
       openai_batch},
      {"burstgpt", "BurstGPT v1 to v3, failed requests left out", lengths<read_burstgpt>},
      {"vidur", "num_prefill_tokens, num_decode_tokens, with or without arrived_at or arrived_at_s",
       lengths<read_vidur>},
      {"llmservingsim",
       "LLMServingSim's JSON Lines: flat, sessions (a request after the answer before it and a tool), "
       "and its vLLM runs",
       lengths<read_llmservingsim>},
      {"distserve", "DistServe's workloads", lengths<read_distserve>},
      {"vllm_bench", "a result of vLLM's serving benchmark, with --save-detailed",
       [](Params& p) { return benchmark(p, "vllm_bench"); }},
      {"sglang_bench", "a result of SGLang's bench_serving, with --output-details",
       [](Params& p) { return benchmark(p, "sglang_bench"); }},
      {"aiperf", "the records of AIPerf, profile_export.jsonl",
       [](Params& p) { return benchmark(p, "aiperf"); }},
      {"guidellm", "a report of GuideLLM, benchmarks.json",
       [](Params& p) { return benchmark(p, "guidellm"); }},
      {"inference_perf", "the requests of inference-perf, per_request_lifecycle_metrics.json",
       [](Params& p) { return benchmark(p, "inference_perf"); }},
      {"llmperf", "the individual responses of LLMPerf", [](Params& p) { return benchmark(p, "llmperf"); }},
      {"splitwise", "splitwise-sim's traces", lengths<read_splitwise>},
      {"fixed", "the same lengths for all", make_fixed},
      {"uniform", "lengths anywhere between two, all alike likely, as load generators draw them",
       make_uniform},
      {"lognormal", "lengths of lognormal laws, by mean and standard deviation", make_lognormal},
      {"gamma", "lengths of gamma laws, by mean and standard deviation", make_gamma},
      {"generated_sessions",
       "sessions whose prompts grow turn by turn, compacted or not, with sub-agents or not",
       make_generated_sessions},
      {"named", "lengths of a published data set, shipped as quantiles or a fit", make_named},
  };
  return table;
}

}  // namespace weir
