#pragma once
// One function for each format a trace is published in. `text` is the whole file, `file` its name for
// messages; any bytes whatever give a Trace or a ConfigError that names the lines. Columns and fields go by
// name, others are ignored.
#include <optional>
#include <string>
#include <string_view>

#include "workloads/traces/block_ids.h"
#include "workloads/traces/tokens.h"
#include "workloads/traces/trace.h"

namespace weir {

// Comma-separated, a header first (csv_traces.cpp).
Trace read_csv(std::string_view text,
               const std::string& file);  // arrival_s,input_tokens,output_tokens,priority
// The same, and a line of ids of blocks for each row (block_ids.h) in a file of its own.
Trace read_csv_with_ids(std::string_view text, const std::string& file, BlockIdLines ids);
// The same of whatever columns; all that are named must be there, once.
struct ColumnMap {
  std::string input_tokens, output_tokens;
  std::optional<std::string> arrival = {}, priority = {};
  std::optional<double> unit_s = 1;  // of the arrival; nothing: it is a date and time of day
  bool from_first = false;           // the first request becomes time 0, as it does with dates
  char separator = ',';
};
Trace read_mapped(std::string_view text, const std::string& file, const ColumnMap& map);
// session_id,turn,start_s,after,gap_s,input_tokens,output_tokens,shares_with,shared_tokens,measured
// (session_trace.cpp), of which session_id and the lengths must be there. The first turn of a session comes
// at start_s, and so does any other that has one and no `after`. The others come gap_s after the last of
// `after` has ended: of one or more `session:turn` with blanks between them, or of the turn before. A prompt
// begins with the first shared_tokens of prompt and answer of shares_with, or of the turn before: with all
// that fit, if it does not say. Turns are numbered from 0 in the file's order where there is no such column.
// Rows whose measured is 0 are left out of every metric.
Trace read_sessions(std::string_view text, const std::string& file);
Trace read_azure(std::string_view text, const std::string& file);  // TIMESTAMP,ContextTokens,GeneratedTokens
Trace read_burstgpt(std::string_view text, const std::string& file);   // v1 and v3
Trace read_servegen(std::string_view text, const std::string& file);   // timestamp,input_tokens,output_tokens
Trace read_vidur(std::string_view text, const std::string& file);      // num_prefill_tokens,num_decode_tokens
Trace read_splitwise(std::string_view text, const std::string& file);  // prompt_size,token_size

// Lengths in JSON Lines or in one JSON list (json_traces.cpp).
inline constexpr std::int64_t mooncake_block_tokens = 512;
Trace read_mooncake(std::string_view text, const std::string& file);
// `counter` counts prompts that are given as text_input; null cannot.
Trace read_mooncake_blocks(std::string_view text, const std::string& file, std::int64_t block_tokens,
                           const TokenCounter* counter = nullptr);
inline constexpr std::int64_t bailian_block_tokens = 16;
Trace read_bailian(std::string_view text, const std::string& file);
Trace read_llmservingsim(std::string_view text, const std::string& file);
Trace read_distserve(std::string_view text, const std::string& file);

// Texts in JSON Lines or in one JSON list; they have no arrivals (text_traces.cpp). With `history` a prompt
// is all of the conversation before the answer, else what was said since the answer before.
Trace read_conversations(std::string_view text, const std::string& file, const TokenCounter&, bool history);
Trace read_alpaca(std::string_view text, const std::string& file, const TokenCounter&);
Trace read_openr1(std::string_view text, const std::string& file, const TokenCounter&);
Trace read_dolphin_r1(std::string_view text, const std::string& file, const TokenCounter&);
Trace read_longbench(std::string_view text, const std::string& file, const TokenCounter&);
// Requests (custom_id, body) or their answers (custom_id, response) of OpenAI's batches (openai_batch.cpp).
// `output_tokens` is of requests that do not limit their answer.
Trace read_openai_batch(std::string_view text, const std::string& file, const TokenCounter*,
                        std::optional<std::int64_t> output_tokens);
// prompt,output_tokens as vLLM's custom data sets have it, or input_tokens for the text, which null cannot
// count; arrival_s, priority or not. `output_tokens` is of lines that do not say.
Trace read_jsonl(std::string_view text, const std::string& file, const TokenCounter*,
                 std::optional<std::int64_t> output_tokens);

}  // namespace weir
