#include "sim/serving/kv/tiers/kv_tier.h"

#include <algorithm>

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

void KvTier::come(std::span<const TextBlocks> text, std::int64_t first, std::int64_t last, bool used) {
  last = std::min(last, first + total_);
  for (const TextBlocks& part : text) {
    const std::int64_t end = std::min(last, part.last);
    for (std::int64_t at = std::max(first, part.first); at < end;) {
      Places& places = of_text_[part.text];
      const auto place = behind(places, at);
      const bool there = place != places.end() && (*place)->first <= at;
      TextBlocks piece{part.text, at, end};
      if (place != places.end()) piece.last = std::min(end, there ? (*place)->last : (*place)->first);
      at = piece.last;
      if (there && !used) continue;
      if (there)
        take_out(piece);
      else
        make_room(piece.last - piece.first);
      append(piece);
    }
  }
}

void KvTier::append(TextBlocks part) {
  used_ += part.last - part.first;
  // The span that was used a moment ago and goes on here takes this in.
  if (!spans_.empty() && spans_.back().text == part.text && spans_.back().last == part.first) {
    spans_.back().last = part.last;
    return;
  }
  Places& places = of_text_[part.text];
  const auto place = behind(places, part.first);
  places.insert(place, spans_.insert(spans_.end(), part));
}

// The rests of the span that it cuts stay where they are, the first one to go first.
void KvTier::take_out(TextBlocks part) {
  Places& places = of_text_.at(part.text);
  auto place = behind(places, part.first);
  const Spans::iterator span = *place;
  const bool head = span->first < part.first, tail = part.last < span->last;
  used_ -= part.last - part.first;
  if (head && tail)
    places.insert(place, spans_.insert(span, {part.text, span->first, part.first}));
  else if (head)
    span->last = part.first;
  if (tail) span->first = part.last;
  if (head || tail) return;
  spans_.erase(span);
  places.erase(place);
}

void KvTier::make_room(std::int64_t chunks) {
  while (used_ + chunks > total_) {
    TextBlocks& oldest = spans_.front();
    const std::int64_t gone = std::min(used_ + chunks - total_, oldest.last - oldest.first);
    oldest.first += gone;
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
