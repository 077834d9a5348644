#include <fmt/format.h>

#include <algorithm>
#include <boost/random/uniform_real_distribution.hpp>

#include "sim/core/rng.h"
#include "workloads/requests.h"

namespace weir {
namespace {

class TraceFile : public RequestSource {
 public:
  TraceFile(Params& params, TraceReader read, double tick_spread_s)
      : read_(std::move(read)), tick_spread_s_(tick_spread_s) {
    const auto name = params.required_text({"file", "the trace, relative to this file"});
    if (name) path_ = params.reading().relative(*name);
    count_ = params.integer_or_null({"count", "the first so many; null: all"}, {1, max_tokens});
    start_s_ = params.number({"start_s", "what came before is left out, and this becomes time 0"},
                             {0, max_arrival_s}, 0);
    duration_s_ = params.number_or_null(
        {"duration_s", "what came so long after start_s or later is left out"}, {0, max_arrival_s, true});
  }

  bool named() const { return !path_.empty(); }

  Trace draw(std::uint64_t seed) const override {
    Trace trace = read();
    if (tick_spread_s_ > 0) spread(trace, seed);
    if (start_s_ > 0 || duration_s_) cut(trace);
    if (count_ && *count_ > std::ssize(trace.requests))
      throw ConfigError(
          "", "count",
          fmt::format("expected at most the {} requests there are, got {}", trace.requests.size(), *count_));
    if (count_) trace.requests.resize(static_cast<std::size_t>(*count_));
    return trace;
  }

 private:
  Trace read() const try {
    return read_(read_text_file(path_), path_.string());
  } catch (const ConfigError& e) {
    throw ConfigError("", problems_at("file", e));
  }

  void spread(Trace& trace, std::uint64_t seed) const {
    Rng rng = random_stream(seed, "tick spread");
    boost::random::uniform_real_distribution<double> delay(0, tick_spread_s_);
    for (Request& request : trace.requests) request.arrival += Seconds(delay(rng));
    sort_by_arrival(trace.requests);
    trace.notes.push_back(fmt::format("each arrival is moved by a uniform draw below {} s", tick_spread_s_));
  }

  void cut(Trace& trace) const {
    const char* key = start_s_ > 0 ? "start_s" : "duration_s";
    if (!trace.missing_arrivals.empty())
      throw ConfigError("", key, "cannot cut a trace without arrivals: " + trace.missing_arrivals);
    auto& requests = trace.requests;
    const std::size_t before = requests.size();
    const double end_s = start_s_ + duration_s_.value_or(max_arrival_s);
    std::erase_if(requests, [&](const Request& r) {
      return r.arrival < Seconds(start_s_) || r.arrival >= Seconds(end_s);
    });
    if (requests.empty())
      throw ConfigError("", key, fmt::format("no request arrives from {} s to {} s", start_s_, end_s));
    for (Request& request : requests) request.arrival -= Seconds(start_s_);
    trace.notes.push_back(
        fmt::format("start_s and duration_s keep {} of {} requests", requests.size(), before));
  }

  TraceReader read_;
  double tick_spread_s_;
  std::filesystem::path path_;
  std::optional<std::int64_t> count_;
  double start_s_ = 0;
  std::optional<double> duration_s_;
};

}  // namespace

std::shared_ptr<const RequestSource> trace_file(Params& params, TraceReader read, double tick_spread_s) {
  auto source = std::make_shared<TraceFile>(params, std::move(read), tick_spread_s);
  return source->named() ? source : nullptr;
}

}  // namespace weir
