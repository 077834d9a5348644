// Every trace reader, and the tokenizer, on any bytes whatever: a trace that keeps its promises or a
// ConfigError. The first byte picks the reader; an odd second one puts a good beginning before the rest, for
// no search through random bytes finds a header.
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "test/workloads/letters.h"
#include "workloads/benchmarks/benchmark_result.h"

using namespace weir;

namespace {

const test::Letters counter;

struct Target {
  std::string beginning;
  Trace (*read)(std::string_view text, const std::string& file);
};

const std::vector<Target> targets = {
    {"arrival_s,input_tokens,output_tokens\n1,2,3\n", read_csv},
    {"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n", read_azure},
    {"Timestamp,Request tokens,Response tokens\n5,472,18\n", read_burstgpt},
    {"timestamp,input_tokens,output_tokens\n1,2,3\n", read_servegen},
    {"arrived_at,num_prefill_tokens,num_decode_tokens\n1,2,3\n", read_vidur},
    {"arrival_timestamp,prompt_size,token_size\n1,2,3\n", read_splitwise},
    {"session_id,turn,start_s,after,gap_s,input_tokens,output_tokens,shares_with,shared_tokens,measured\n"
     "a,0,1,,,9,2,,,1\nb,0,,a:0,2,9,2,a:0,5,0\n",
     read_sessions},
    {"\"when, s\";the \"in\";\"out\";class\n1700000000.5;2;3;4\n",
     [](auto text, auto& file) {
       static const ColumnMap map = {.input_tokens = "the \"in\"",
                                     .output_tokens = "out",
                                     .arrival = "when, s",
                                     .priority = "class",
                                     .from_first = true,
                                     .separator = ';'};
       return read_mapped(text, file, map);
     }},
    {"when\tin\tout\n2023-11-16 18:15:46.6805900\t2\t3\n",
     [](auto text, auto& file) {
       static const ColumnMap map = {
           .input_tokens = "in", .output_tokens = "out", .arrival = "when", .unit_s = {}, .separator = '\t'};
       return read_mapped(text, file, map);
     }},
    {"1-2 7\n1-3\n",
     [](auto text, auto& file) {
       return read_csv_with_ids("arrival_s,input_tokens,output_tokens\n1,99,3\n0,99,3\n", file,
                                BlockIdLines(text, file, 16));
     }},
    {R"({"timestamp": 1, "input_length": 2, "output_length": 3, "hash_ids": [0]})"
     "\n",
     read_mooncake},
    {R"({"timestamp": 1, "text_input": "abcdefg", "output_length": 3, "hash_ids": [0, 1]})"
     "\n",
     [](auto text, auto& file) { return read_mooncake_blocks(text, file, 4, &counter); }},
    {R"({"chat_id": 1, "parent_chat_id": -1, "timestamp": 1, "input_length": 20, "output_length": 3, "hash_ids": [0, 1]})"
     "\n",
     read_bailian},
    {R"({"arrival_time_ns": 1, "sub_requests": [{"input_toks": 2, "output_toks": 3, "tool_duration_ns": 4}]})"
     "\n",
     read_llmservingsim},
    {R"([{"prompt_len": 1, "output_len": 2, "start_time": 3},)", read_distserve},
    {R"({"total_input_tokens": 3, "request_throughput": 1, "request_rate": "inf", "input_lens": [3], )"
     R"("output_lens": [2], "start_times": [1]})"
     "\n",
     [](auto text, auto& file) { return read_benchmark_trace(text, file, "vllm_bench", 0); }},
    {R"({"metadata": {"request_start_ns": 9}, "metrics": {"input_sequence_length": {"value": 3}, )"
     R"("output_sequence_length": {"value": 2}}})"
     "\n",
     [](auto text, auto& file) { return read_benchmark_trace(text, file, "aiperf", 0); }},
    {R"({"metadata": 0, "benchmarks": [{"config": {"strategy": {"type_": "poisson", "rate": 1}}, "requests": )"
     R"({"successful": [{"prompt_tokens": 3, "output_tokens": 2}]}},)",
     [](auto text, auto& file) { return read_benchmark_trace(text, file, "guidellm", 0); }},
    {R"({"prompt": "ab", "output_tokens": 3, "arrival_s": 1, "priority": 2})"
     "\n"
     R"({"input_tokens": 2})"
     "\n",
     [](auto text, auto& file) {
       return read_jsonl(text, file, text.size() % 3 == 0 ? nullptr : &counter,
                         text.size() % 2 == 0 ? std::optional<std::int64_t>(5) : std::nullopt);
     }},
    {R"({"custom_id": "a", "body": {"messages": [{"content": "b"}, {"content": [{"text": "c"}]}], "max_tokens": 3}})"
     "\n"
     R"({"custom_id": "d", "response": {"body": {"usage": {"prompt_tokens": 4, "completion_tokens": 5}}}})"
     "\n",
     [](auto text, auto& file) {
       return read_openai_batch(text, file, text.size() % 3 == 0 ? nullptr : &counter,
                                text.size() % 2 == 0 ? std::optional<std::int64_t>(5) : std::nullopt);
     }},
    {R"([{"conversations": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}]},)",
     [](auto text, auto& file) { return read_conversations(text, file, counter, text.size() % 2 == 0); }},
    {R"([{"instruction": "a", "input": "b", "output": "c"},)",
     [](auto text, auto& file) { return read_alpaca(text, file, counter); }},
    {R"({"problem": "a", "generations": ["b"]})"
     "\n",
     [](auto text, auto& file) { return read_openr1(text, file, counter); }},
    {R"({"messages": [{"content": "a"}], "reasoning": "b", "answer": "c"})"
     "\n",
     [](auto text, auto& file) { return read_dolphin_r1(text, file, counter); }},
    {R"({"context": "a", "input": "b", "answers": ["c"]})"
     "\n",
     [](auto text, auto& file) { return read_longbench(text, file, counter); }},
};

void check(const Trace& trace) {
  bool good = !trace.requests.empty();
  Seconds before(0);
  for (const Request& r : trace.requests) {
    good = good && r.input_tokens >= 1 && r.output_tokens >= 1 && r.input_tokens <= max_tokens;
    if (!trace.missing_arrivals.empty() || !trace.turns.empty()) continue;
    good = good && r.arrival >= before && std::isfinite(r.arrival.value());
    before = r.arrival;
  }
  if (!trace.turns.empty()) good = good && Sessions(trace.turns).requests() == std::ssize(trace.requests);
  if (!trace.origins.empty()) Contents(trace.origins, trace.requests);  // throws where they cannot be
  if (!good) std::abort();
}

// A tokenizer whose merges are those that shorten most of what a fuzzer tries.
std::shared_ptr<const TokenCounter> small_tokenizer() {
  std::string vocabulary, merges;
  for (unsigned byte = 0, next = 256; byte < 256; ++byte) {
    const bool itself = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    char escaped[8];
    std::snprintf(escaped, sizeof escaped, "\\u%04x", itself ? byte : next++);
    vocabulary += std::string("\"") + escaped + "\": " + std::to_string(byte) + ", ";
  }
  for (const char* pair : {"a a", "aa aa", "\\u0120 a", "\\u0120 \\u0120", "1 1"}) {
    std::string joined = pair;
    joined.erase(joined.find(' '), 1);
    vocabulary += "\"" + joined + "\": " + std::to_string(1000 + merges.size()) + ", ";
    merges += (merges.empty() ? "\"" : ", \"") + std::string(pair) + "\"";
  }
  return byte_level_bpe(
      R"({"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": true}, "normalizer": {"type": "NFC"},
      "model": {"type": "BPE", "vocab": {)" +
          vocabulary + R"("end": 999}, "merges": [)" + merges + "]}}",
      "small");
}

void tokenize(const std::string& text) {
  static const auto tokenizer = small_tokenizer();
  const std::int64_t tokens = tokenizer->count(text);
  if (tokens < 0 || tokens > 3 * std::ssize(text) + 1 || (tokens == 0) != text.empty()) std::abort();
  byte_level_bpe(text, "t");  // and the text as a tokenizer.json
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string rest(data + 2, data + size);
  try {
    const std::size_t target = data[0] % (targets.size() + 1);
    if (target == targets.size())
      tokenize(rest);
    else
      check(targets[target].read(data[1] % 2 ? targets[target].beginning + rest : rest, "t"));
  } catch (const ConfigError& e) {
    if (e.problems().empty() || e.problems().size() > 11) std::abort();
  }
  return 0;
}
