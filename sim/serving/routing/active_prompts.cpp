#include "sim/serving/routing/active_prompts.h"

#include <algorithm>

namespace weir {

std::int64_t ActivePrompts::add(std::int32_t replica, std::span<const TextBlocks> prompt) {
  std::int64_t added = 0;
  for (const TextBlocks& part : prompt) {
    std::int32_t entry = table_.find(part.text, replica);
    if (entry == TextTable<Users>::none) entry = table_.add(part.text, replica);
    auto& [most, less] = table_[entry].value;
    if (most.prompts == 0 || part.last > most.end) {
      added += part.last - std::max(part.first, most.prompts == 0 ? part.first : most.end);
      if (most.prompts > 0) less.push_back(most);
      most = {part.last, 1};
    } else if (part.last == most.end) {
      ++most.prompts;
    } else if (const auto same = std::ranges::find(less, part.last, &Ends::end); same != less.end()) {
      ++same->prompts;
    } else {
      less.push_back({part.last, 1});
    }
  }
  return added;
}

std::int64_t ActivePrompts::remove(std::int32_t replica, std::span<const TextBlocks> prompt) {
  std::int64_t removed = 0;
  for (const TextBlocks& part : prompt) {
    const std::int32_t entry = table_.find(part.text, replica);
    auto& [most, less] = table_[entry].value;
    if (part.last < most.end) {
      const auto at = std::ranges::find(less, part.last, &Ends::end);
      if (--at->prompts == 0) less.erase(at);
      continue;
    }
    if (--most.prompts > 0) continue;
    if (less.empty()) {
      removed += part.last - part.first;
      table_.erase(entry);
      continue;
    }
    const auto next = std::ranges::max_element(less, {}, &Ends::end);
    removed += most.end - next->end;
    most = *next;
    less.erase(next);
  }
  return removed;
}

}  // namespace weir
