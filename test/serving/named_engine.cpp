#include "test/serving/named_engine.h"

#include <algorithm>

namespace weir::test {

NamedEngine::NamedEngine(Limits limits, std::vector<NamedText> texts)
    : limits_(std::move(limits)), texts_(std::move(texts)) {
  requests_.resize(texts_.size());
  tiers_.resize(limits_.tiers.size());
  for (std::size_t r = 0; r < texts_.size(); ++r) requests_[r].known = texts_[r].input;
}

std::vector<Token> NamedEngine::prefix(std::int32_t request, std::int64_t i, std::int64_t piece) const {
  const auto& tokens = texts_[static_cast<std::size_t>(request)].tokens;
  return {tokens.begin(), tokens.begin() + (i + 1) * piece};
}

bool NamedEngine::has(std::size_t tier, const std::vector<Token>& chunk) const {
  return std::ranges::find(tiers_[tier], chunk) != tiers_[tier].end();
}

// One after another, each of which makes room for itself. What is there already is used last only when asked.
void NamedEngine::use(std::size_t tier, std::int32_t request, std::int64_t first, std::int64_t last,
                      bool used) {
  auto& chunks = tiers_[tier];
  last = std::min(last, first + limits_.tiers[tier].chunks);
  for (std::int64_t i = first; i < last; ++i) {
    const std::vector<Token> chunk = prefix(request, i, limits_.chunk_tokens);
    const bool there = has(tier, chunk);
    if (there && !used) continue;
    if (there)
      std::erase(chunks, chunk);
    else if (std::ssize(chunks) == limits_.tiers[tier].chunks)
      chunks.erase(chunks.begin());
    chunks.push_back(chunk);
  }
}

// Chunk by chunk behind what the cache has, each from the nearest tier that has it; then all are used, in the
// tiers on their way as well. Returns tokens by tier.
std::vector<std::int64_t> NamedEngine::load(std::int32_t request) {
  const Running& r = at(request);
  std::vector<std::int64_t> tokens(tiers_.size());
  std::vector<std::pair<std::size_t, std::int64_t>> parts;  // tier and the chunk behind it
  const std::int64_t first = r.computed / limits_.chunk_tokens;
  std::int64_t end = r.computed;
  for (std::int64_t i = first; (i + 1) * limits_.chunk_tokens <= r.known && end < r.known - 1; ++i) {
    std::size_t tier = 0;
    while (tier < tiers_.size() && !has(tier, prefix(request, i, limits_.chunk_tokens))) ++tier;
    if (tier == tiers_.size()) break;
    const std::int64_t until = std::min((i + 1) * limits_.chunk_tokens, r.known - 1);
    if (until <= end) break;
    tokens[tier] += until - end;
    end = until;
    if (parts.empty() || parts.back().first != tier) parts.emplace_back(tier, i);
    parts.back().second = i + 1;
  }
  for (std::size_t part = 0; part < parts.size(); ++part)
    for (std::size_t tier = 0; tier <= parts[part].first; ++tier)
      use(tier, request, part == 0 ? first : parts[part - 1].second, parts[part].second, true);
  return tokens;
}

void NamedEngine::store(std::int32_t request, bool answered) {
  const std::int64_t chunks = at(request).computed / limits_.chunk_tokens;
  for (std::size_t tier = 0; tier < tiers_.size(); ++tier) {
    if (answered && !limits_.tiers[tier].answers) continue;
    use(tier, request, 0, chunks, false);
  }
}

// Tokens that this step computes are found from the next one on.
std::vector<NamedEngine::Slice> NamedEngine::step() {
  std::vector<Slice> slices;
  std::vector<std::int32_t> arriving;  // by the end of the step
  std::int64_t budget = limits_.tokens;
  bool preempted = false;
  const auto compute = [&](std::int32_t request, std::int64_t tokens) {
    slices.push_back({request, tokens, at(request).computed});
    at(request).computed += tokens;
    budget -= tokens;
  };
  for (std::size_t i = 0; i < running_.size() && budget > 0; ++i) {
    const std::int32_t request = running_[i];
    const std::int64_t tokens = std::min(at(request).known - at(request).computed, budget);
    bool scheduled = false;
    while (!(scheduled = extend(request, at(request).computed + tokens))) {
      const std::int32_t victim = running_.back();
      running_.pop_back();
      give(victim, false);
      at(victim).computed = 0;
      waiting_.push_front(victim);
      ++preemptions_;
      preempted = true;
      if (victim == request) break;
    }
    if (!scheduled) break;
    compute(request, tokens);
  }
  while (!preempted && !waiting_.empty() && budget > 0 && std::ssize(running_) < limits_.requests) {
    const std::int32_t request = waiting_.front();
    Running& r = at(request);
    const std::int64_t found = r.computed = find(request);
    const auto before = tiers_;
    const std::vector<std::int64_t> loads = load(request);
    for (const std::int64_t load : loads) r.computed += load;
    const bool comes = limits_.loads_beside_steps && r.computed > found;
    const std::int64_t tokens = comes ? 1 : std::min(r.known - r.computed, budget);
    if (!admit(request, r.computed + tokens)) {
      r.computed = 0;
      tiers_ = before;
      break;
    }
    if (r.found < 0) r.found = found, r.loaded = loads;
    r.prompt = r.known;
    waiting_.pop_front();
    running_.push_back(request);
    if (comes)
      --budget, arriving.push_back(request);
    else
      compute(request, tokens);
  }
  decided();
  for (const Slice& slice : slices) computed(slice.request);
  std::vector<std::int32_t> stay;
  for (const std::int32_t request : running_) {
    Running& r = at(request);
    const NamedText& text = texts_[static_cast<std::size_t>(request)];
    if (r.computed == r.known) {
      if (r.known == text.input) store(request, false);
      ++r.known;
    }
    if (r.known == std::ssize(text.tokens)) {
      store(request, true);
      give(request, true);
    } else {
      stay.push_back(request);
    }
  }
  running_ = std::move(stay);
  for (const std::int32_t request : arriving) computed(request);
  return slices;
}

}  // namespace weir::test
