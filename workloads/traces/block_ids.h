#pragma once
// Prompts by the ids of their blocks, as traces have them that may not show their texts: equal ids are equal
// tokens behind equal blocks, so that prompts begin alike as far as their ids are the same. For trace
// readers.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "workloads/contents.h"
#include "workloads/traces/trace.h"

namespace weir {

class BlockIds {
 public:
  explicit BlockIds(std::int64_t block_tokens) : block_tokens_(block_tokens) {}

  // The ids of the next request's prompt; fewer than its tokens fill: what is behind them is its own. Gives
  // what an earlier one has of it; of contradictory ids nothing, and `problem` says why.
  Origin add(std::int64_t input_tokens, std::span<const std::int64_t> ids, std::string& problem);

 private:
  struct Block {
    std::int64_t before;   // the id of the block before it; none: -1
    std::int32_t request;  // the first one that has it
  };
  std::int64_t block_tokens_;
  std::unordered_map<std::int64_t, Block> blocks_;
  std::vector<std::int64_t> inputs_;  // tokens of each request's prompt
};

// A file beside a trace: a line of ids a request, in the order of its rows; `14-27` are all from 14 to 27.
class BlockIdLines {
 public:
  BlockIdLines(std::string_view text, std::string file, std::int64_t block_tokens)
      : rest_(text), file_(std::move(file)), ids_(block_tokens) {}

  Origin next(std::int64_t input_tokens);  // of the next request
  void finish();                           // after the last one; throws ConfigError

 private:
  bool read_word(std::string_view word, std::int64_t most);

  std::string_view rest_;
  std::string file_;
  BlockIds ids_;
  std::vector<std::int64_t> line_ids_;
  std::size_t line_ = 0, missing_ = 0;
  LineProblems problems_;
};

}  // namespace weir
