// Requests of a trace are sorted, cut and counted off; what they share and wait for goes with them.
#include <algorithm>
#include <numeric>

#include "workloads/traces/trace.h"

namespace weir {
namespace {

std::size_t at(std::int32_t i) {
  return static_cast<std::size_t>(i);
}

// Texts are a tree: each leaves its origin's after so many tokens. Requests come one after another in another
// order, or not at all, and each is asked which one before it has most of its prompt.
class Texts {
 public:
  explicit Texts(const Trace& trace)
      : origins_(trace.origins), requests_(trace.requests), known_(trace.requests.size()) {}

  // The request that comes as number `number`; what of its prompt is there already.
  Origin come(std::int32_t request, std::int32_t number) {
    const Origin found = found_of(request);
    std::int64_t tokens = requests_[at(request)].input_tokens + requests_[at(request)].output_tokens;
    // Where as much is known, it is known of the texts further up as well.
    for (std::int32_t text = request; tokens > known_[at(text)].tokens;) {
      known_[at(text)] = {number, tokens};
      tokens = std::min(tokens, origins_[at(text)].tokens);
      text = std::max(0, origins_[at(text)].request);
    }
    return found;
  }

 private:
  Origin found_of(std::int32_t request) const {
    Origin found;
    std::int64_t tokens = requests_[at(request)].input_tokens;  // that it has in common with the text
    for (std::int32_t text = request; tokens > found.tokens;) {
      const Origin& known = known_[at(text)];
      if (const std::int64_t common = std::min(known.tokens, tokens); common > found.tokens)
        found = {known.request, common};
      tokens = std::min(tokens, origins_[at(text)].tokens);
      text = std::max(0, origins_[at(text)].request);
    }
    return found;
  }

  const std::vector<Origin>& origins_;
  const std::vector<Request>& requests_;
  std::vector<Origin> known_;  // of each text as far as it came: by which number, in its new order
};

template <class T>
std::vector<T> picked(const std::vector<T>& all, std::span<const std::int32_t> order) {
  std::vector<T> some;
  some.reserve(order.size());
  for (const std::int32_t i : order) some.push_back(all[at(i)]);
  return some;
}

void rearrange(Turns& turns, std::span<const std::int32_t> order) {
  std::vector<std::int32_t> number(turns.name_of.size(), -1);
  for (std::size_t i = 0; i < order.size(); ++i) number[at(order[i])] = static_cast<std::int32_t>(i);
  turns.name_of = picked(turns.name_of, order);
  turns.numbers = picked(turns.numbers, order);
  turns.gaps = picked(turns.gaps, order);
  for (auto& [request, awaited] : turns.awaits) request = number[at(request)], awaited = number[at(awaited)];
  std::erase_if(turns.awaits, [](const auto& pair) { return pair.first < 0 || pair.second < 0; });
}

}  // namespace

void rearrange(Trace& trace, std::span<const std::int32_t> order) {
  if (!trace.origins.empty()) {
    Texts texts(trace);
    std::vector<Origin> origins;
    origins.reserve(order.size());
    for (std::size_t i = 0; i < order.size(); ++i)
      origins.push_back(texts.come(order[i], static_cast<std::int32_t>(i)));
    trace.origins = std::move(origins);
  }
  if (!trace.turns.empty()) rearrange(trace.turns, order);
  trace.requests = picked(trace.requests, order);
}

void sort_by_arrival(Trace& trace) {
  std::vector<std::int32_t> order(trace.requests.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::int32_t i) { return trace.requests[at(i)].arrival; });
  rearrange(trace, order);
}

}  // namespace weir
