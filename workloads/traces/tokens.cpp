#include "workloads/traces/tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/core/catalog.h"

namespace weir {
namespace {

class Estimate : public TokenCounter {
 public:
  explicit Estimate(double characters_per_token) : characters_per_token_(characters_per_token) {}

  std::int64_t count(std::string_view text) const override {
    const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };  // UTF-8
    const auto characters = std::ssize(text) - std::count_if(text.begin(), text.end(), continues);
    return static_cast<std::int64_t>(std::ceil(static_cast<double>(characters) / characters_per_token_));
  }
  std::string note() const override {
    return fmt::format("token counts are an estimate: {} characters a token, rounded up for each text",
                       characters_per_token_);
  }

 private:
  double characters_per_token_;
};

std::shared_ptr<const TokenCounter> make_estimate(Params& params) {
  return std::make_shared<Estimate>(params.number({"characters_per_token",
                                                   "Unicode characters of one token; English has about 4 "
                                                   "with a vocabulary of 100,000 (OpenAI's rule of thumb), "
                                                   "code and other languages fewer"},
                                                  {0.1, 100}));
}

std::shared_ptr<const TokenCounter> make_tokenizer(Params& params) {
  const auto path =
      params.path({"file", "a Hugging Face tokenizer.json with a byte-level BPE (GPT-2, Llama 3, Qwen 2)"});
  if (!path) return nullptr;
  try {
    return byte_level_bpe(read_text_file(*path, most_document_bytes), path->string());
  } catch (const ConfigError& e) {
    for (const Problem& problem : e.problems())
      params.fail("file", shortened(e.file()) + ": " + problem.what);
    return nullptr;
  }
}

constexpr Key tokens_key = {"tokens", "how tokens are counted in the texts"};

std::shared_ptr<const TokenCounter> make_counter(Params tokens) {
  static const Catalog<TokenCounter> table = {
      {"estimate", "characters over a stated number of characters a token", make_estimate},
      {"tokenizer", "the model's own tokenizer.json", make_tokenizer},
  };
  return make_from(table, std::move(tokens), {"kind", "estimate, or tokenizer with the model's file"});
}

}  // namespace

std::shared_ptr<const TokenCounter> read_token_counter(Params& params) {
  return make_counter(params.object(tokens_key, Params::Presence::required));
}

std::shared_ptr<const TokenCounter> read_token_counter_or_null(Params& params) {
  auto tokens = params.object_or_null(tokens_key);
  return tokens ? make_counter(std::move(*tokens)) : nullptr;
}

}  // namespace weir
