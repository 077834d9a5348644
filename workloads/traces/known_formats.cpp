#include "workloads/traces/known_formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "sim/core/json/bounded_json.h"

namespace weir {
namespace {

using Names = std::vector<std::string>;

struct Recognised {
  KnownFormat format;
  std::vector<std::string_view> keys;  // all of them are there
};

// The first that fits counts: those with more keys of their own stand before.
const std::vector<Recognised>& json_formats() {
  static const std::vector<Recognised> table = {
      {{"bailian", "a trace of Qwen-Bailian"}, {"chat_id", "parent_chat_id", "input_length"}},
      {{"mooncake", "a trace of Mooncake"}, {"input_length", "output_length"}},
      {{"mooncake", "a trace of Mooncake's form"}, {"text_input", "output_length"}},
      {{"openai_batch", "a file of OpenAI's batches"}, {"custom_id", "body"}},
      {{"openai_batch", "answers of OpenAI's batches"}, {"custom_id", "response"}},
      {{"openr1", "a set of OpenR1"}, {"problem", "generations"}},
      {{"longbench", "a set of LongBench"}, {"context", "input", "answers"}},
      {{"dolphin_r1", "a set of Dolphin-R1"}, {"messages", "reasoning", "answer"}},
      {{"sharegpt", "a set of chats"}, {"conversations"}},
      {{"sharegpt", "a set of chats"}, {"conversation"}},
      {{"sharegpt", "a set of chats"}, {"messages"}},
      {{"alpaca", "a set of Alpaca's form"}, {"instruction", "output"}},
      {{"llmservingsim", "a trace of LLMServingSim"}, {"input_toks", "output_toks"}},
      {{"llmservingsim", "sessions of LLMServingSim"}, {"sub_requests"}},
      {{"distserve", "a workload of DistServe"}, {"start_time", "prompt_len", "output_len"}},
      {{"guidellm", "a report of GuideLLM"}, {"metadata", "benchmarks"}},
      {{"aiperf", "records of AIPerf"}, {"metadata", "metrics"}},
      {{"sglang_bench", "a result of SGLang's benchmark"}, {"total_output_tokens_retokenized"}},
      {{"vllm_bench", "a result of vLLM's benchmark"}, {"total_input_tokens", "request_throughput"}},
      {{"inference_perf", "requests of inference-perf"}, {"start_time", "end_time", "info"}},
      {{"",
        "a summary of inference-perf, which has no length of each request "
        "(per_request_lifecycle_metrics.json "
        "has, of kind \"inference_perf\")"},
       {"load_summary", "successes"}},
      {{"llmperf", "requests of LLMPerf"}, {"number_input_tokens", "number_output_tokens", "ttft_s"}},
      {{"",
        "a summary of LLMPerf, which has no length of each request (the file of individual responses has, of "
        "kind \"llmperf\")"},
       {"results_ttft_s_mean"}},
      {{"", "a report of trtllm-bench, which has no length of each request; weir compare reads it"},
       {"request_info", "performance"}},
      {{"jsonl", "JSON Lines of prompts"}, {"prompt"}},
      {{"jsonl", "JSON Lines of lengths"}, {"input_tokens", "output_tokens"}},
  };
  return table;
}

const std::vector<Recognised>& csv_formats() {
  static const std::vector<Recognised> table = {
      {{"azure", "a trace of Azure's"}, {"TIMESTAMP", "ContextTokens", "GeneratedTokens"}},
      {{"burstgpt", "a trace of BurstGPT"}, {"Timestamp", "Request tokens", "Response tokens"}},
      {{"vidur", "a trace of Vidur"}, {"num_prefill_tokens", "num_decode_tokens"}},
      {{"splitwise", "a trace of splitwise-sim"}, {"prompt_size", "token_size"}},
      {{"",
        "the requests that LLMServingSim simulated, which are no measurement; its own traces are of kind "
        "\"llmservingsim\", and requests of kind \"columns\" read its lengths"},
       {"request id", "input", "output", "arrival", "end_time"}},
      {{"sessions", "sessions"}, {"session_id", "input_tokens", "output_tokens"}},
      {{"csv", "a CSV of Weir's"}, {"arrival_s", "input_tokens", "output_tokens"}},
      {{"servegen", "a workload of ServeGen"}, {"timestamp", "input_tokens", "output_tokens"}},
      {{"csv", "a CSV of Weir's"}, {"input_tokens", "output_tokens"}},
  };
  return table;
}

// No text like these is JSON or a table.
constexpr std::pair<std::string_view, KnownFormat> beginnings[] = {
    {"MLPerf Results Summary",
     {"", "a summary of MLPerf LoadGen, which is a text: its figures have to be compared by hand"}},
    {"<?xml", {"", "XML"}},
    {"PK\x03\x04", {"", "a ZIP archive: unpack it first"}},
    {"PAR1",
     {"",
      "a Parquet file: pandas.read_parquet(FILE).to_json(\"FILE.jsonl\", orient=\"records\", "
      "lines=True) makes JSON Lines of it"}},
    {"SQLite format 3", {"", "a database of SQLite"}},
};

constexpr std::size_t longest_record = 16u << 20;

Names keys_of_first_record(std::string_view text) {
  Names names;
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == text.npos) return names;
  const auto take = [&](std::string_view part) {
    if (part.size() > longest_record) return false;
    try {
      nlohmann::json record = parse_bounded<nlohmann::json>(part);
      if (record.is_array() && !record.empty()) record = nlohmann::json(record.front());
      if (record.is_object())
        for (const auto& [key, value] : record.items()) names.push_back(key);
    } catch (const std::exception&) {
      return false;
    }
    return true;
  };
  text.remove_prefix(first);
  if (!take(text.substr(0, text.find('\n')))) take(text);
  return names;
}

Names header_of(std::string_view text) {
  Names names(1);
  for (const char c : text.substr(0, std::min<std::size_t>(text.find_first_of("\r\n"), 4096))) {
    if (c == ',')
      names.emplace_back();
    else if (c != '"')
      names.back() += c;
  }
  return names;
}

const KnownFormat* among(const std::vector<Recognised>& formats, const Names& names) {
  const auto has = [&](std::string_view key) { return std::ranges::find(names, key) != names.end(); };
  for (const Recognised& one : formats)
    if (std::ranges::all_of(one.keys, has)) return &one.format;
  return nullptr;
}

}  // namespace

const KnownFormat* known_format(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  for (const auto& [beginning, format] : beginnings)
    if (text.substr(0, 400).find(beginning) != text.npos) return &format;
  const auto first = text.find_first_not_of(" \t\r\n");
  const bool json = first != text.npos && (text[first] == '{' || text[first] == '[');
  return json ? among(json_formats(), keys_of_first_record(text)) : among(csv_formats(), header_of(text));
}

std::string what_it_is(const KnownFormat& format) {
  return format.kind.empty()
             ? fmt::format("is {}", format.what)
             : fmt::format("is {}: requests of kind \"{}\" read it", format.what, format.kind);
}

}  // namespace weir
