#include <fmt/format.h>

#include <algorithm>
#include <boost/random/uniform_real_distribution.hpp>
#include <numeric>

#include "sim/core/rng.h"
#include "workloads/requests.h"
#include "workloads/traces/known_formats.h"

namespace weir {
namespace {

// Whoever waits for others comes where all of these do.
std::vector<std::int32_t> coming_within(const Trace& trace, Seconds start, Seconds end) {
  std::vector<char> left_out(trace.requests.size()), waits(trace.requests.size());
  for (const auto& [request, awaited] : trace.turns.awaits) waits[static_cast<std::size_t>(request)] = 1;
  for (std::size_t i = 0; i < left_out.size(); ++i) {
    const Seconds arrival = trace.requests[i].arrival;
    left_out[i] = !waits[i] && (arrival < start || arrival >= end);
  }
  for (const auto& [request, awaited] : trace.turns.awaits)
    left_out[static_cast<std::size_t>(request)] |= left_out[static_cast<std::size_t>(awaited)];
  std::vector<std::int32_t> kept;
  for (std::size_t i = 0; i < left_out.size(); ++i)
    if (!left_out[i]) kept.push_back(static_cast<std::int32_t>(i));
  return kept;
}

class TraceFile : public RequestSource {
 public:
  TraceFile(Params& params, TraceReader read, double tick_spread_s)
      : read_(std::move(read)), tick_spread_s_(tick_spread_s) {
    const Json::json_pointer kind(params.pointer() + "/kind");
    if (const Json& resolved = params.reading().resolved; resolved.contains(kind))
      kind_ = resolved.at(kind).get<std::string>();
    path_ = params.path({"file", "the trace, relative to this file"}).value_or("");
    count_ = params.integer_or_null({"count", "the first so many; null: all"}, {1, max_tokens});
    start_s_ = params.number({"start_s", "what came before is left out, and this becomes time 0"},
                             {0, max_arrival_s}, 0);
    duration_s_ = params.number_or_null(
        {"duration_s", "what came so long after start_s or later is left out"}, {0, max_arrival_s, true});
  }

  bool named() const { return !path_.empty(); }

  Trace draw(std::uint64_t seed) const override {
    Trace trace = read_trace(path_, [this](std::string_view text, const std::string& file) {
      try {
        return read_(text, file);
      } catch (const WrongFields&) {
        const KnownFormat* format = known_format(text);
        if (!format || format->kind == kind_) throw;
        throw ConfigError(file, "", what_it_is(*format));
      }
    });
    note_of_unit(trace);
    if (tick_spread_s_ > 0) spread(trace, seed);
    if (start_s_ > 0 || duration_s_) cut(trace);
    if (count_ && *count_ > std::ssize(trace.requests))
      throw ConfigError(
          "", "count",
          fmt::format("expected at most the {} requests there are, got {}", trace.requests.size(), *count_));
    if (count_ && *count_ < std::ssize(trace.requests)) {
      std::vector<std::int32_t> first(static_cast<std::size_t>(*count_));
      std::iota(first.begin(), first.end(), 0);
      rearrange(trace, first);
    }
    return trace;
  }

 private:
  // Requests so dense, or so far apart, are most often seconds read as milliseconds, or the reverse.
  static void note_of_unit(Trace& trace) {
    constexpr std::size_t few = 20;
    constexpr double dense_per_s = 1000, gap_s = 100;
    if (!trace.missing_arrivals.empty() || !trace.turns.empty() || trace.requests.size() < few) return;
    const double span_s = (trace.requests.back().arrival - trace.requests.front().arrival).value();
    const double count = static_cast<double>(trace.requests.size());
    if (span_s > 0 && count > dense_per_s * span_s)
      trace.notes.push_back(
          fmt::format("{} requests come within {:.3g} ms: if the file's times are seconds and not "
                      "milliseconds, \"rate_scale\": 0.001 of arrivals undoes that",
                      trace.requests.size(), 1e3 * span_s));
    if (span_s > count * gap_s)
      trace.notes.push_back(
          fmt::format("{} requests come within {:.4g} s: if the file's times are milliseconds and not "
                      "seconds, \"rate_scale\": 1000 of arrivals undoes that",
                      trace.requests.size(), span_s));
  }

  void spread(Trace& trace, std::uint64_t seed) const {
    Rng rng = random_stream(seed, "tick spread");
    boost::random::uniform_real_distribution<double> delay(0, tick_spread_s_);
    for (Request& request : trace.requests) request.arrival += Seconds(delay(rng));
    sort_by_arrival(trace);
    trace.notes.push_back(fmt::format("each arrival is moved by a uniform draw below {} s", tick_spread_s_));
  }

  void cut(Trace& trace) const {
    const char* key = start_s_ > 0 ? "start_s" : "duration_s";
    if (!trace.missing_arrivals.empty())
      throw ConfigError("", key, "cannot cut a trace without arrivals: " + trace.missing_arrivals);
    const std::size_t before = trace.requests.size();
    std::int64_t tokens_before = 0;
    for (const Request& request : trace.requests) tokens_before += request.input_tokens;
    const double end_s = start_s_ + duration_s_.value_or(max_arrival_s);
    const std::vector<std::int32_t> kept = coming_within(trace, Seconds(start_s_), Seconds(end_s));
    if (kept.empty())
      throw ConfigError("", key, fmt::format("no request arrives from {} s to {} s", start_s_, end_s));
    rearrange(trace, kept);
    for (Request& request : trace.requests)  // those that wait for others have none
      request.arrival = std::max(Seconds(0), request.arrival - Seconds(start_s_));
    const auto tokens = [&] {
      std::int64_t sum = 0;
      for (const Request& request : trace.requests) sum += request.input_tokens;
      return sum;
    };
    trace.notes.push_back(fmt::format("start_s and duration_s keep {} of {} requests, {} of {} prompt tokens",
                                      kept.size(), before, tokens(), tokens_before));
  }

  TraceReader read_;
  double tick_spread_s_;
  std::string kind_;
  std::filesystem::path path_;
  std::optional<std::int64_t> count_;
  double start_s_ = 0;
  std::optional<double> duration_s_;
};

}  // namespace

std::string read_trace_text(const std::filesystem::path& path) {
  std::string text = read_text_file(path);
  if (text.starts_with("\x1F\x8B"))
    throw ConfigError(path.string(), "", "is compressed (gzip): unpack it first");
  return text;
}

Trace read_trace(const std::filesystem::path& path, const TraceReader& read) try {
  return read(read_trace_text(path), path.string());
} catch (const ConfigError& e) {
  throw ConfigError("", problems_at("file", e));
}

std::shared_ptr<const RequestSource> trace_file(Params& params, TraceReader read, double tick_spread_s) {
  auto source = std::make_shared<TraceFile>(params, std::move(read), tick_spread_s);
  return source->named() ? source : nullptr;
}

}  // namespace weir
