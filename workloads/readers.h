#pragma once
// One function for each format a trace is published in. `text` is the whole file, `file` its name for
// messages; any bytes whatever give a Trace or a ConfigError that names the lines. Columns and fields go by
// name, others are ignored.
#include <string>
#include <string_view>

#include "workloads/tokens.h"
#include "workloads/trace.h"

namespace weir {

// Comma-separated, a header first (csv_traces.cpp).
Trace read_csv(std::string_view text,
               const std::string& file);  // arrival_s,input_tokens,output_tokens,priority
Trace read_azure(std::string_view text, const std::string& file);  // TIMESTAMP,ContextTokens,GeneratedTokens
Trace read_burstgpt(std::string_view text, const std::string& file);   // v1 and v3
Trace read_vidur(std::string_view text, const std::string& file);      // num_prefill_tokens,num_decode_tokens
Trace read_splitwise(std::string_view text, const std::string& file);  // prompt_size,token_size

// Lengths in JSON Lines or in one JSON list (json_traces.cpp).
Trace read_mooncake(std::string_view text, const std::string& file);
Trace read_llmservingsim(std::string_view text, const std::string& file);
Trace read_distserve(std::string_view text, const std::string& file);

// Texts in JSON Lines or in one JSON list; they have no arrivals (text_traces.cpp). With `history` a prompt
// is all of the conversation before the answer, else what was said since the answer before.
Trace read_conversations(std::string_view text, const std::string& file, const TokenCounter&, bool history);
Trace read_alpaca(std::string_view text, const std::string& file, const TokenCounter&);
Trace read_openr1(std::string_view text, const std::string& file, const TokenCounter&);
Trace read_dolphin_r1(std::string_view text, const std::string& file, const TokenCounter&);
Trace read_longbench(std::string_view text, const std::string& file, const TokenCounter&);

}  // namespace weir
