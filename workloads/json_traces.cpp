#include "workloads/json_records.h"
#include "workloads/readers.h"

namespace weir {
namespace {

constexpr const char* no_prefix_caching =
    "the trace says which prompts share a prefix, but prefix caching is not modelled: every prompt is "
    "computed whole";

void add(TraceBuilder& trace, std::optional<double> arrival_s, std::optional<std::int64_t> input,
         std::optional<std::int64_t> output) {
  if (input && output) trace.add(arrival_s, *input, *output);
}

// A session of an agent: each request waits for the answer before it and for a tool.
void add_session(const JsonRecord& session, std::optional<double> arrival_s, TraceBuilder& trace) {
  double tools_s = 0;
  for (const JsonRecord& request : session.objects("sub_requests")) {
    add(trace, arrival_s ? std::optional(*arrival_s + tools_s) : std::nullopt, request.tokens("input_toks"),
        request.tokens("output_toks"));
    if (!arrival_s) trace.no_arrival(session.line(), "the session has no arrival");
    if (request.has("tool_duration_ns")) tools_s += request.seconds("tool_duration_ns", 1e-9).value_or(0);
  }
  trace.note_once(
      "sessions: a request arrives when the tools before it have run, without waiting for the answers before "
      "it "
      "(dependent requests are not modelled)");
}

}  // namespace

// FAST25-release/README.md of kvcache-ai/Mooncake: milliseconds, in ticks of 3 s; ids of the prompt's
// 512-token blocks.
Trace read_mooncake(std::string_view text, const std::string& file) {
  TraceBuilder trace(file);
  for_each_record(text, trace, [&](const JsonRecord& record) {
    add(trace, record.seconds("timestamp", 1e-3), record.tokens("input_length"),
        record.tokens("output_length"));
    if (record.has("hash_ids")) trace.note_once(no_prefix_caching);
  });
  return trace.finish();
}

// workloads/ of casys-kaist/LLMServingSim: flat (with or without token ids), sessions, and the requests.jsonl
// of its runs of vLLM, whose arrival_time is seconds since 1970.
Trace read_llmservingsim(std::string_view text, const std::string& file) {
  TraceBuilder trace(file);
  bool calendar = false;
  for_each_record(text, trace, [&](const JsonRecord& record) {
    std::optional<double> arrival_s;
    if (record.has("arrival_time_ns")) {
      arrival_s = record.seconds("arrival_time_ns", 1e-9);
    } else if (record.has("arrival_time")) {
      arrival_s = record.seconds("arrival_time", 1);
      calendar = true;
    }
    if (record.has("input_tok_ids")) trace.note_once(no_prefix_caching);
    if (record.has("sub_requests")) return add_session(record, arrival_s, trace);
    if (!arrival_s) trace.no_arrival(record.line(), "neither arrival_time_ns nor arrival_time");
    add(trace, arrival_s, record.tokens("input_toks"), record.tokens("output_toks"));
  });
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
