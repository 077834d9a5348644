#pragma once
// How many tokens a text has, for the traces that hold texts: the key `tokens`, which must be given, so that
// a length that was only estimated is never mistaken for a measured one.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "sim/core/params.h"

namespace weir {

class TokenCounter {
 public:
  virtual ~TokenCounter() = default;
  virtual std::int64_t count(std::string_view text) const = 0;  // 0 only for the empty text
  virtual std::string note() const = 0;                         // how they were counted, for the user
};

// Reads `tokens` of the object; null only if that reported a problem (or while describing).
std::shared_ptr<const TokenCounter> read_token_counter(Params& params);

// The same of what need not be given; null then, too.
std::shared_ptr<const TokenCounter> read_token_counter_or_null(Params& params);

// A Hugging Face tokenizer.json of the byte-level BPE family (GPT-2, Llama 3, Qwen 2). Throws ConfigError.
std::shared_ptr<const TokenCounter> byte_level_bpe(const std::string& text, const std::string& file);

}  // namespace weir
