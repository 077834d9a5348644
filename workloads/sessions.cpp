#include "workloads/sessions.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <queue>
#include <stdexcept>

namespace weir {
namespace {

std::size_t index(std::int32_t request) {
  return static_cast<std::size_t>(request);
}

using Pairs = std::span<const std::pair<std::int32_t, std::int32_t>>;

// Lists of the second of each pair, by the first: those of i are all[first[i]] to all[first[i + 1]].
struct Lists {
  std::vector<std::uint32_t> first;
  std::vector<std::int32_t> all;
};

template <class Key, class Value>
Lists listed(std::size_t count, Pairs pairs, Key key, Value value) {
  Lists lists{std::vector<std::uint32_t>(count + 1), std::vector<std::int32_t>(pairs.size())};
  for (const auto& pair : pairs) ++lists.first[index(key(pair)) + 1];
  std::partial_sum(lists.first.begin(), lists.first.end(), lists.first.begin());
  std::vector<std::uint32_t> next(lists.first.begin(), lists.first.end() - 1);
  for (const auto& pair : pairs) lists.all[next[index(key(pair))]++] = value(pair);
  return lists;
}

const auto later = [](const auto& pair) { return pair.first; };
const auto earlier = [](const auto& pair) { return pair.second; };

// The first request of what `request` is joined with; halves the way there.
std::int32_t root_of(std::vector<std::int32_t>& parents, std::int32_t request) {
  while (parents[index(request)] != request) {
    parents[index(request)] = parents[index(parents[index(request)])];
    request = parents[index(request)];
  }
  return request;
}

}  // namespace

void Turns::add(std::int32_t name, std::int64_t number, Seconds gap) {
  name_of.push_back(name);
  numbers.push_back(number);
  gaps.push_back(gap);
}

std::vector<std::int32_t> in_order(std::size_t count, Pairs before) {
  const Lists behind = listed(count, before, earlier, later);
  std::vector<std::uint32_t> left(count);
  for (const auto& pair : before) ++left[index(pair.first)];
  std::priority_queue<std::int32_t, std::vector<std::int32_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < count; ++i)
    if (left[i] == 0) ready.push(static_cast<std::int32_t>(i));
  std::vector<std::int32_t> order;
  order.reserve(count);
  while (!ready.empty()) {
    const std::int32_t next = ready.top();
    ready.pop();
    order.push_back(next);
    for (auto i = behind.first[index(next)]; i < behind.first[index(next) + 1]; ++i)
      if (--left[index(behind.all[i])] == 0) ready.push(behind.all[i]);
  }
  return order;
}

Sessions::Sessions(Turns turns) : turns_(std::move(turns)) {
  const std::size_t n = turns_.name_of.size();
  of_.resize(n);
  std::iota(of_.begin(), of_.end(), 0);  // a parent of each, at first
  for (const auto& [request, awaited] : turns_.awaits) {
    if (awaited >= request)
      throw std::logic_error(fmt::format("request {} waits for request {}", request, awaited));
    const std::int32_t a = root_of(of_, request), b = root_of(of_, awaited);
    of_[index(std::max(a, b))] = std::min(a, b);
  }
  // A parent is never later than its child, so that its number is there already.
  for (std::size_t i = 0; i < n; ++i) {
    const std::int32_t parent = of_[i];
    of_[i] = index(parent) == i ? count_++ : of_[index(parent)];
  }
  Lists lists = listed(n, turns_.awaits, later, earlier);
  first_ = std::move(lists.first);
  awaits_ = std::move(lists.all);
  for (std::size_t i = 0; i < n; ++i) std::sort(awaits_.begin() + first_[i], awaits_.begin() + first_[i + 1]);
  turns_.awaits = {};
}

}  // namespace weir
