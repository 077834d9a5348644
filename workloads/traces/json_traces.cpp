#include <fmt/format.h>

#include <limits>

#include "workloads/traces/block_ids.h"
#include "workloads/traces/json_records.h"
#include "workloads/traces/readers.h"

namespace weir {
namespace {

void add(TraceBuilder& trace, std::optional<double> arrival_s, std::optional<std::int64_t> input,
         std::optional<std::int64_t> output) {
  if (input && output) trace.add(arrival_s, *input, *output);
}

void add_ids(const JsonRecord& record, std::int64_t input_tokens, BlockIds& ids, TraceBuilder& trace) {
  std::vector<std::int64_t> blocks;
  const nlohmann::json none = nlohmann::json::array();
  const nlohmann::json* list = record.has("hash_ids") ? record.list("hash_ids") : &none;
  for (const nlohmann::json& id : list ? *list : none) {
    if (!id.is_number_unsigned() || id > std::numeric_limits<std::int64_t>::max())
      return trace.problem(record.line(),
                           "hash_ids: expected whole numbers from 0, got " + printable(id.dump()));
    blocks.push_back(id.get<std::int64_t>());
  }
  std::string problem;
  trace.begins_with(ids.add(input_tokens, blocks, problem));
  if (!problem.empty()) trace.problem(record.line(), "hash_ids: " + problem);
}

// AIPerf's and genai-perf's traces of this form may have the prompt itself.
std::optional<std::int64_t> mooncake_input(const JsonRecord& record, const TokenCounter* counter,
                                           TraceBuilder& trace) {
  if (record.has("input_length") || !record.has("text_input")) return record.tokens("input_length");
  const auto words = record.text("text_input");
  if (!words) return {};
  if (!counter) {
    trace.problem_once(record.line(), "text_input",
                       "text_input: is a text, and the scenario has no \"tokens\" to count it by");
    return {};
  }
  trace.note_once(counter->note());
  return std::max<std::int64_t>(1, counter->count(*words));
}

// A session of an agent: each request waits for the answer before it and for a tool.
void add_session(const JsonRecord& session, std::optional<double> arrival_s, TraceBuilder& trace) {
  const std::string name = session.has("session_id") ? std::string(session.text("session_id").value_or(""))
                                                     : fmt::format("line {}", session.line());
  Turns& turns = trace.turns();
  turns.names.push_back(name);
  if (!arrival_s) trace.no_arrival(session.line(), "the session has no arrival");
  Seconds gap(0);
  std::int64_t turn = 0;
  for (const JsonRecord& request : session.objects("sub_requests")) {
    const auto input = request.tokens("input_toks"), output = request.tokens("output_toks");
    if (!input || !output) continue;
    if (turn > 0) turns.awaits.emplace_back(trace.requests(), trace.requests() - 1);
    trace.add(turn > 0 ? std::nullopt : arrival_s, *input, *output);
    turns.add(static_cast<std::int32_t>(turns.names.size()) - 1, turn++, gap);
    gap = Seconds(0);
    if (request.has("tool_duration_ns")) gap = Seconds(request.seconds("tool_duration_ns", 1e-9).value_or(0));
  }
}

// One that is a session of its own.
void add_alone(const JsonRecord& request, std::optional<double> arrival_s, TraceBuilder& trace) {
  if (!arrival_s) trace.no_arrival(request.line(), "neither arrival_time_ns nor arrival_time");
  const auto input = request.tokens("input_toks"), output = request.tokens("output_toks");
  if (!input || !output) return;
  trace.add(arrival_s, *input, *output);
  trace.turns().add(0, trace.requests() - 1, Seconds(0));
}

}  // namespace

// FAST25-release/README.md of kvcache-ai/Mooncake: milliseconds, in ticks of 3 s; ids of the prompt's
// 512-token blocks.
Trace read_mooncake(std::string_view text, const std::string& file) {
  return read_mooncake_blocks(text, file, mooncake_block_tokens);
}

Trace read_mooncake_blocks(std::string_view text, const std::string& file, std::int64_t block_tokens,
                           const TokenCounter* counter) {
  TraceBuilder trace(file);
  BlockIds ids(block_tokens);
  for_each_record(text, trace, [&](const JsonRecord& record) {
    if (record.has("chat_id") && record.has("parent_chat_id"))
      return trace.problem_once(
          record.line(), "Bailian",
          "chat_id, parent_chat_id: is a trace of Qwen-Bailian, whose times are seconds: "
          "requests of kind \"bailian\" read it");
    const auto input = mooncake_input(record, counter, trace), output = record.tokens("output_length");
    std::optional<double> arrival_s;
    if (record.has("timestamp"))
      arrival_s = record.seconds("timestamp", 1e-3);
    else
      trace.no_arrival(record.line(), "no field \"timestamp\"");
    add(trace, arrival_s, input, output);
    if (input && output) add_ids(record, *input, ids, trace);
  });
  return trace.finish();
}

// README.md of alibaba-edu/qwen-bailian-usagetraces-anon (commit 03a51e3): Mooncake's fields, but seconds and
// blocks of 16 tokens.
Trace read_bailian(std::string_view text, const std::string& file) {
  TraceBuilder trace(file);
  BlockIds ids(bailian_block_tokens);
  for_each_record(text, trace, [&](const JsonRecord& record) {
    const auto input = record.tokens("input_length"), output = record.tokens("output_length");
    add(trace, record.seconds("timestamp", 1), input, output);
    if (input && output) add_ids(record, *input, ids, trace);
    if (record.has("parent_chat_id"))
      trace.note_once("turns of a chat come at the trace's times: they do not wait for the answer before");
  });
  return trace.finish();
}

// workloads/ of casys-kaist/LLMServingSim: flat (with or without token ids), sessions, and the requests.jsonl
// of its runs of vLLM, whose arrival_time is seconds since 1970.
Trace read_llmservingsim(std::string_view text, const std::string& file) {
  TraceBuilder trace(file);
  trace.turns().names.emplace_back();  // of those that are alone
  bool calendar = false;
  for_each_record(text, trace, [&](const JsonRecord& record) {
    std::optional<double> arrival_s;
    if (record.has("arrival_time_ns")) {
      arrival_s = record.seconds("arrival_time_ns", 1e-9);
    } else if (record.has("arrival_time")) {
      arrival_s = record.seconds("arrival_time", 1);
      calendar = true;
    }
    if (record.has("input_tok_ids"))
      trace.note_once("input_tok_ids are not read: no two prompts are taken to begin alike");
    record.has("sub_requests") ? add_session(record, arrival_s, trace) : add_alone(record, arrival_s, trace);
  });
  if (trace.turns().awaits.empty()) trace.turns() = {};
  return trace.finish(calendar);
}

// The workloads of LLMServe/DistServe: one list, seconds.
Trace read_distserve(std::string_view text, const std::string& file) {
  TraceBuilder trace(file);
  for_each_record(text, trace, [&](const JsonRecord& record) {
    add(trace, record.seconds("start_time", 1), record.tokens("prompt_len"), record.tokens("output_len"));
  });
  return trace.finish();
}

}  // namespace weir
