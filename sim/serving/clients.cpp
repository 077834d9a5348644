// The clients of a run: they send requests as these arrive, as places become free in a closed loop, or as
// their sessions go on, and leave when all are answered or time is up.
#include "devices/actor/alarm.h"
#include "devices/actor/clock.h"
#include "sim/serving/simulation_run.h"

namespace weir {

// Timers of clients, unless these have left.
void Simulation::when(Seconds time, std::function<void()> what) {
  if (time <= now()) return what();
  call_at(time, [this, what = std::move(what)] {
    if (stopping_ || have_left_) return;
    try {
      what();
    } catch (const std::exception&) {
      fail();
    }
  });
}

void Simulation::send(std::int32_t request) {
  const auto& bound = scenario_.workload.max_in_flight;
  if (bound && in_flight_ >= *bound) {
    recorder_.result().held_at_client = true;
    return held_.push_back(request);
  }
  ++in_flight_;
  recorder_.sent(request, now());
  when(now() + recorder_.reply(), [this, request] { submit(request); });
}

void Simulation::submit(std::int32_t request) {
  RequestRecord& record = recorder_.record(request);
  Server* server = router_.for_prompt(request, record.request);
  if (!server) {
    record.status = RequestStatus::rejected;
    if (trace_) trace_->rejected(request, now());
    rejected_tokens_ += static_cast<double>(record.request.output_tokens);
    answer(request, now() + recorder_.reply());
    return;
  }
  if (scenario_.workload.in_generation)
    server->submit_in_generation(request);
  else
    server->submit(request);
  router_.changed(server->replica().index());
}

bool Simulation::may_send() const {
  if (next_ == static_cast<std::int32_t>(positions_.size())) return false;
  const std::int64_t warmup = scenario_.workload.warmup_requests;
  return !scenario_.workload.closed_loop->restart_after_warmup || next_ != warmup || done_ == warmup;
}

// A rejected request may free its place at once: a loop, not a recursion as deep as the trace.
void Simulation::submit_next() {
  ++owed_;
  if (submitting_) return;
  submitting_ = true;
  for (; owed_ > 0 && may_send(); --owed_) send(next_++);
  submitting_ = false;
}

// As in submit_next(), a loop.
void Simulation::send_held() {
  if (submitting_) return;
  submitting_ = true;
  while (!held_.empty() && in_flight_ < *scenario_.workload.max_in_flight) {
    const std::int32_t request = held_.front();
    held_.pop_front();
    send(request);
  }
  submitting_ = false;
}

// The client has all of it then.
void Simulation::answer(std::int32_t request, Seconds seen) {
  when(seen, [this, request] { finished(request); });
}

void Simulation::finished(std::int32_t request) {
  ++done_;
  --in_flight_;
  if (options_.answered && !options_.answered(recorder_.record(request))) return stop();
  if (scenario_.workload.closed_loop) submit_next();
  if (!held_.empty()) send_held();
  if (sessions_) sessions_->ended(request);
  if (done_ == static_cast<std::int64_t>(positions_.size())) all_done_->release();
}

// Tokens that the clients have not seen when they leave have not been.
void Simulation::forget_answers_under_way() {
  for (RequestRecord& record : recorder_.result().requests) {
    if (record.first_token > now()) record.first_token = Seconds(-1);
    if (record.finished <= now()) continue;
    record.finished = Seconds(-1);
    record.status = RequestStatus::unfinished;
  }
}

// By a call for each arrival, which costs a third of an actor's sleep.
void Simulation::open_loop() try {
  const auto& requests = scenario_.workload.requests;
  const auto count = static_cast<std::int32_t>(requests.size());
  const auto next = [&] { return requests[static_cast<std::size_t>(next_)].arrival; };
  while (next_ < count && next() <= now() && !stopping()) send(next_++);
  if (next_ == count || stopping_ || (end_.at && next() > *end_.at)) return;
  call_at(next(), [this] { open_loop(); });
} catch (const std::exception&) {
  fail();
}

void Simulation::clients() {
  last_progress_ = std::chrono::steady_clock::now();
  if (const auto& closed = scenario_.workload.closed_loop) {
    for (std::int64_t i = 0; i < closed->concurrency; ++i) submit_next();
  } else if (sessions_) {
    sessions_->start();
  } else {
    open_loop();
  }
  const Seconds left = end_.at.value_or(Seconds(0)) - now();
  const bool timed_out = !end_.at             ? (all_done_->acquire(), false)
                         : left <= Seconds(0) ? true
                                              : all_done_->acquire_timeout(left.value());
  RunResult& result = recorder_.result();
  result.out_of_time = timed_out;
  result.interrupted = stopping_;
  over_ = now();
  have_left_ = true;
  traffic_.stop_recording();
  if (timed_out)
    for (const auto& server : servers_) server->commit_until(now());
  if (timed_out || stopping_) forget_answers_under_way();
  if (timed_out && end_.stopped) {
    result.stopped = end_.stopped;
    mark_lost();
  }
}

}  // namespace weir
