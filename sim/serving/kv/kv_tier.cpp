#include "sim/serving/kv/kv_tier.h"

#include <algorithm>
#include <ranges>

namespace weir {

// The first span of a text that ends behind that chunk.
KvTier::Places::iterator KvTier::behind(Places& places, std::int64_t chunk) {
  return std::ranges::upper_bound(places, chunk, {}, [](Spans::iterator span) { return span->last; });
}

std::int64_t KvTier::find(std::span<const TextBlocks> text, std::int64_t first) const {
  std::int64_t at = first;
  for (const TextBlocks& part : text) {
    if (part.last <= at) continue;
    const auto known = of_text_.find(part.text);
    if (known == of_text_.end()) break;
    const Places& places = known->second;
    auto span = std::ranges::upper_bound(places, at, {}, [](Spans::const_iterator s) { return s->last; });
    for (; at < part.last && span != places.end() && (*span)->first <= at; ++span)
      at = std::min(part.last, (*span)->last);
    if (at < part.last) break;
  }
  return at - first;
}

void KvTier::use(std::span<const TextBlocks> text, std::int64_t first, std::int64_t last) {
  for (const TextBlocks& part : text | std::views::reverse) {
    const TextBlocks used{part.text, std::max(first, part.first), std::min(last, part.last)};
    if (used.first < used.last) use(used);
  }
  evict();
}

void KvTier::use(TextBlocks part) {
  take_out(part);
  used_ += part.last - part.first;
  Places& places = of_text_[part.text];
  const auto place = behind(places, part.first);
  // What was used a moment ago and goes on where this ends is one span with it.
  if (place != places.end() && (*place)->first == part.last && *place == std::prev(spans_.end())) {
    (*place)->first = part.first;
    return;
  }
  places.insert(place, spans_.insert(spans_.end(), part));
}

// Of the spans that it cuts, the rests stay where they are, the last one to go first.
void KvTier::take_out(TextBlocks part) {
  const auto known = of_text_.find(part.text);
  if (known == of_text_.end()) return;
  Places& places = known->second;
  auto place = behind(places, part.first);
  while (place != places.end() && (*place)->first < part.last) {
    const Spans::iterator span = *place;
    const TextBlocks whole = *span;
    used_ -= std::min(whole.last, part.last) - std::max(whole.first, part.first);
    const bool head = whole.first<part.first, tail = whole.last> part.last;
    if (tail) span->first = part.last;
    if (head) {
      const TextBlocks rest{part.text, whole.first, part.first};
      if (tail)
        place = places.insert(place, spans_.insert(std::next(span), rest)) + 1;
      else
        *span = rest;
    }
    if (head || tail) {
      ++place;
    } else {
      spans_.erase(span);
      place = places.erase(place);
    }
  }
}

void KvTier::evict() {
  while (used_ > total_) {
    TextBlocks& oldest = spans_.front();
    const std::int64_t gone = std::min(used_ - total_, oldest.last - oldest.first);
    oldest.last -= gone;
    used_ -= gone;
    if (oldest.first < oldest.last) break;
    const auto known = of_text_.find(oldest.text);
    Places& places = known->second;
    places.erase(std::ranges::find(places, spans_.begin()));
    if (places.empty()) of_text_.erase(known);
    spans_.pop_front();
  }
}

}  // namespace weir
