#include "workloads/traces/block_ids.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace weir {
namespace {

// A whole number from 0 at the start of `text`, which loses it.
std::optional<std::int64_t> taken_id(std::string_view& text) {
  std::int64_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || id < 0) return {};
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return id;
}

}  // namespace

Origin BlockIds::add(std::int64_t input_tokens, std::span<const std::int64_t> ids, std::string& problem) {
  const auto request = static_cast<std::int32_t>(inputs_.size());
  inputs_.push_back(input_tokens);
  const std::int64_t most = (input_tokens + block_tokens_ - 1) / block_tokens_;
  if (std::ssize(ids) > most)
    problem = fmt::format("{} ids of {} tokens each, for a prompt of {} tokens", ids.size(), block_tokens_,
                          input_tokens);
  if (!problem.empty()) return {};
  Origin origin;
  std::int64_t before = -1;
  bool known_so_far = true;
  for (std::size_t i = 0; i < ids.size(); before = ids[i++]) {
    const auto [known, fresh] = blocks_.try_emplace(ids[i], Block{before, request});
    if (!fresh && (known->second.before != before || !known_so_far || known->second.request == request)) {
      problem = fmt::format(
          "block {} has the id {}, which stood behind other blocks before: equal ids mean "
          "equal tokens from the prompt's beginning on",
          i, ids[i]);
      return {};
    }
    known_so_far = known_so_far && !fresh;
    if (fresh) continue;
    const std::int64_t tokens = static_cast<std::int64_t>(i + 1) * block_tokens_;
    const std::int32_t of = known->second.request;
    const std::int64_t has = inputs_[static_cast<std::size_t>(of)];
    origin = {of, std::min({tokens, input_tokens, has})};
    if (has < std::min(tokens, input_tokens)) known->second.request = request;  // it has more of the block
  }
  return origin;
}

bool BlockIdLines::read_word(std::string_view word, std::int64_t most) {
  const auto first = taken_id(word);
  std::optional<std::int64_t> last = first;
  if (word.starts_with('-')) {
    word.remove_prefix(1);
    last = taken_id(word);
  }
  if (!first || !last || !word.empty() || *last < *first) return false;
  // No range is longer than what is left of any prompt by one, which is too long then.
  const std::int64_t end = std::min(*last, *first + most);
  for (std::int64_t id = *first; id <= end; ++id) line_ids_.push_back(id);
  return true;
}

Origin BlockIdLines::next(std::int64_t input_tokens) {
  ++line_;
  if (rest_.empty()) {
    ++missing_;
    return {};
  }
  const std::size_t end = std::min(rest_.find('\n'), rest_.size());
  std::string_view row = rest_.substr(0, end);
  rest_.remove_prefix(std::min(end + 1, rest_.size()));
  line_ids_.clear();
  constexpr std::string_view blanks = " \t\r";
  while (row.find_first_not_of(blanks) != row.npos) {
    row.remove_prefix(row.find_first_not_of(blanks));
    const std::size_t length = std::min(row.find_first_of(blanks), row.size());
    if (!read_word(row.substr(0, length), input_tokens)) {
      problems_.add(line_, fmt::format("expected ids of blocks, as 3 or 14-27, got {}",
                                       printable(row.substr(0, length))));
      return {};
    }
    row.remove_prefix(length);
  }
  std::string problem;
  const Origin origin = ids_.add(input_tokens, line_ids_, problem);
  if (!problem.empty()) problems_.add(line_, problem);
  return origin;
}

void BlockIdLines::finish() {
  if (missing_ > 0)
    problems_.add(
        0, fmt::format("expected a line of ids for each of {} requests, got {}", line_, line_ - missing_));
  const auto more =
      std::count(rest_.begin(), rest_.end(), '\n') + (rest_.empty() || rest_.back() == '\n' ? 0 : 1);
  if (more > 0)
    problems_.add(0, fmt::format("expected a line of ids for each of {} requests, got {}", line_,
                                 static_cast<std::int64_t>(line_) + more));
  problems_.finish(file_);
}

}  // namespace weir
