#include "sim/serving/session_clients.h"

#include <algorithm>

#include "devices/actor/clock.h"

namespace weir {
namespace {

std::size_t at(std::int32_t i) {
  return static_cast<std::size_t>(i);
}

}  // namespace

SessionClients::SessionClients(const Workload& workload, When when, Send send)
    : workload_(workload),
      sessions_(*workload.sessions),
      when_(std::move(when)),
      send_(std::move(send)),
      clients_(at(sessions_.requests()) + 1),
      left_(at(sessions_.count())) {
  const std::int32_t count = sessions_.requests();
  for (std::int32_t r = 0; r < count; ++r) {
    clients_[at(r)].awaits = static_cast<std::uint32_t>(sessions_.awaited_by(r).size());
    ++left_[at(sessions_.of(r))];
    for (const std::int32_t awaited : sessions_.awaited_by(r)) ++clients_[at(awaited) + 1].first_awaiting;
    if (!sessions_.waits(r)) roots_.push_back(r);
  }
  for (std::size_t i = 1; i < clients_.size(); ++i)
    clients_[i].first_awaiting += clients_[i - 1].first_awaiting;
  awaiting_.resize(clients_.back().first_awaiting);
  std::vector<std::uint32_t> next(clients_.size());
  std::ranges::transform(clients_, next.begin(), &Client::first_awaiting);
  for (std::int32_t r = 0; r < count; ++r)
    for (const std::int32_t awaited : sessions_.awaited_by(r)) awaiting_[next[at(awaited)]++] = r;
  const bool at_a_time = workload_.sessions_at_a_time.has_value();
  std::ranges::stable_sort(roots_, [&](std::int32_t a, std::int32_t b) {
    return at_a_time ? sessions_.of(a) < sessions_.of(b) : arrival(a) < arrival(b);
  });
}

void SessionClients::start() {
  if (!workload_.sessions_at_a_time) return send_roots();
  places_ = *workload_.sessions_at_a_time;
  open_next();
}

// One after another, so that those that wait for nothing but their time are not all due at once.
void SessionClients::send_roots() {
  while (next_root_ < roots_.size() && arrival(roots_[next_root_]) <= now())
    send_at(now(), roots_[next_root_++]);
  if (next_root_ < roots_.size()) when_(arrival(roots_[next_root_]), [this] { send_roots(); });
}

// A session whose requests are all rejected ends at once: a loop, not a recursion as deep as the trace.
void SessionClients::open_next() {
  if (opening_) return;
  opening_ = true;
  for (; places_ > 0 && next_root_ < roots_.size(); --places_) {
    const std::int32_t session = sessions_.of(roots_[next_root_]);
    auto end = next_root_;
    Seconds first = arrival(roots_[end]);
    for (; end < roots_.size() && sessions_.of(roots_[end]) == session; ++end)
      first = std::min(first, arrival(roots_[end]));
    const Seconds opened = now();
    for (; next_root_ < end; ++next_root_)
      send_at(opened + (arrival(roots_[next_root_]) - first), roots_[next_root_]);
  }
  opening_ = false;
}

void SessionClients::send_at(Seconds time, std::int32_t request) {
  due_.emplace(time, request);
  if (time < rings_) ring_at(time);
}

void SessionClients::ring_at(Seconds time) {
  rings_ = time;
  when_(time, [this] { send_due(); });
}

// Whoever is sent may be answered at once, and others are due then.
void SessionClients::send_due() {
  if (sending_) return;
  sending_ = true;
  while (!due_.empty() && due_.top().first <= now()) {
    const std::int32_t request = due_.top().second;
    due_.pop();
    send_(request);
  }
  sending_ = false;
  if (rings_ <= now()) rings_ = Seconds(std::numeric_limits<double>::infinity());
  if (!due_.empty() && due_.top().first < rings_) ring_at(due_.top().first);
}

void SessionClients::ended(std::int32_t request) {
  for (auto i = clients_[at(request)].first_awaiting; i < clients_[at(request) + 1].first_awaiting; ++i)
    if (const std::int32_t next = awaiting_[i]; --clients_[at(next)].awaits == 0)
      send_at(now() + sessions_.gap(next), next);
  if (!workload_.sessions_at_a_time || --left_[at(sessions_.of(request))] > 0) return;
  ++places_;
  open_next();
}

}  // namespace weir
