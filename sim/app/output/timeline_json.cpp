// Chrome's trace event format (docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU),
// which ui.perfetto.dev and chrome://tracing open: one thread a track, boxes ("X") in microseconds, counters
// ("C"), arrows ("s" to "f"). A process 0 or a thread 0 would be the kernel's idle ones to Perfetto, so
// both count from 1; so does each thread over both processes, as there a number names one thread.
#include <algorithm>
#include <map>

#include "sim/app/output/output_file.h"
#include "sim/app/output/writers.h"

namespace weir {
namespace {

constexpr int cluster_process = 1, request_process = 2, session_process = 3;  // the processes

std::string quoted(const std::string& text) {
  return Json(text).dump();
}

class TimelineFile {
 public:
  TimelineFile(OutputFile& file, const RunResult& result) : file_(file), result_(result) {}

  void write_names() {
    name("process", cluster_process, 0, "cluster", 0);
    name("process", request_process, 0, "requests", 1);
    for (std::size_t track = 0; track < result_.tracks.size(); ++track)
      name("thread", cluster_process, thread_of_track(static_cast<std::int32_t>(track)),
           result_.tracks[track], track);
    for (std::int32_t request = 0; request < result_.requests_drawn; ++request)
      name("thread", request_process, thread_of_request(request), fmt::format("request {}", request),
           request);
  }

  void write_spans() {
    for (const Span& span : result_.spans) {
      begin("X", span.category, span.name, cluster_process, thread_of_track(span.track), span.start);
      file_.print(R"(,"dur":{:.3f},"args":{{"requests":{},"tokens":{},"steps":{}}}}})",
                  span.duration.value() * 1e6, span.requests, span.tokens, span.steps);
    }
    for (const RequestSpan& span : result_.request_spans) {
      const RequestRecord& record = result_.requests[static_cast<std::size_t>(span.request)];
      begin("X", "request", span.phase, request_process, thread_of_request(span.request), span.start);
      file_.print(R"(,"dur":{:.3f},"args":{{"input_tokens":{},"output_tokens":{},"replica":{}}}}})",
                  span.duration.value() * 1e6, record.request.input_tokens, record.request.output_tokens,
                  record.replica);
    }
  }

  // After the boxes: of what begins at the same time, an arrow belongs to a box that is there already.
  void write_arrows() {
    for (std::size_t id = 1; id <= result_.arrows.size(); ++id) {
      const StepArrow& arrow = result_.arrows[id - 1];
      begin("s", "request", "step", request_process, thread_of_request(arrow.request), arrow.at);
      file_.print(R"(,"id":{}}})", id);
      begin("f", "request", "step", cluster_process, thread_of_track(arrow.track), arrow.at);
      file_.print(R"(,"id":{},"bp":"e"}})", id);
    }
  }

  // A track a session with its requests, from arrival to end; more of them where requests run side by side.
  void write_sessions() {
    if (!result_.sessions) return;
    name("process", session_process, 0, "sessions", 2);
    const Sessions& sessions = *result_.sessions;
    std::map<std::int32_t, std::vector<Lane>> lanes;
    for (const std::int32_t request : drawn_by_arrival()) {
      const RequestRecord& record = result_.requests[static_cast<std::size_t>(request)];
      const Seconds begin = record.request.arrival, end = std::max(begin, ended(record));
      std::vector<Lane>& own = lanes[sessions.of(request)];
      auto free = std::ranges::find_if(own, [&](const Lane& lane) { return lane.busy_until <= begin; });
      if (free == own.end()) {
        own.push_back({next_session_track_++, Seconds(0)});
        free = std::prev(own.end());
        name("thread", session_process, thread_of_session(free->track),
             fmt::format("session {}{}", sessions.name(request), own.size() > 1 ? ", beside" : ""),
             free->track);
      }
      free->busy_until = end;
      this->begin("X", "session", fmt::format("{}:{}", sessions.name(request), sessions.turn(request)),
                  session_process, thread_of_session(free->track), begin);
      file_.print(R"(,"dur":{:.3f},"args":{{"request":{},"input_tokens":{},"output_tokens":{}}}}})",
                  (end - begin).value() * 1e6, request, record.request.input_tokens,
                  record.request.output_tokens);
    }
  }

  void write_counters() {
    for (const Sample& s : result_.samples) {
      begin("C", "sample", "requests", cluster_process, 0, s.time);
      file_.print(R"(,"args":{{"running":{:.3f},"waiting":{:.3f}}}}})", s.running, s.waiting);
      begin("C", "sample", "KV blocks", cluster_process, 0, s.time);
      file_.print(R"(,"args":{{"used":{:.3f}}}}})", s.kv_blocks);
    }
  }

 private:
  struct Lane {
    std::int32_t track;
    Seconds busy_until;
  };

  // A rejected request ends when it comes.
  Seconds ended(const RequestRecord& record) const {
    if (record.status == RequestStatus::rejected) return record.request.arrival;
    return record.finished >= Seconds(0) ? record.finished : result_.end;
  }
  std::vector<std::int32_t> drawn_by_arrival() const {
    const auto arrival = [&](std::int32_t i) {
      return result_.requests[static_cast<std::size_t>(i)].request.arrival;
    };
    std::vector<std::int32_t> drawn;
    for (std::int32_t i = 0; i < result_.requests_drawn; ++i)
      if (arrival(i) >= Seconds(0)) drawn.push_back(i);
    std::ranges::stable_sort(drawn, {}, arrival);
    return drawn;
  }

  std::int32_t thread_of_session(std::int32_t track) const {
    return thread_of_request(static_cast<std::int32_t>(result_.requests_drawn)) + track;
  }
  static std::int32_t thread_of_track(std::int32_t track) { return track + 1; }
  std::int32_t thread_of_request(std::int32_t request) const {
    return static_cast<std::int32_t>(result_.tracks.size()) + request + 1;
  }

  void separate() {
    file_.text(first_ ? "" : ",\n");
    first_ = false;
  }

  template <class Order>
  void name(std::string_view what, int process, std::int32_t thread, const std::string& is, Order order) {
    const std::string of = thread > 0 ? fmt::format(R"("pid":{},"tid":{})", process, thread)
                                      : fmt::format(R"("pid":{})", process);
    separate();
    file_.print(R"({{"ph":"M","cat":"__metadata",{},"name":"{}_name","args":{{"name":{}}}}},)"
                "\n"
                R"({{"ph":"M","cat":"__metadata",{},"name":"{}_sort_index","args":{{"sort_index":{}}}}})",
                of, what, quoted(is), of, what, order);
  }

  // Opens an event with the keys that every event with a time has; the caller adds its own and the closing
  // brace. Thread 0: none.
  void begin(std::string_view phase, std::string_view category, const std::string& name, int process,
             std::int32_t thread, Seconds at) {
    separate();
    file_.print(R"({{"ph":"{}","cat":"{}","name":{},"pid":{})", phase, category, quoted(name), process);
    if (thread > 0) file_.print(R"(,"tid":{})", thread);
    file_.print(R"(,"ts":{:.3f})", at.value() * 1e6);
  }

  OutputFile& file_;
  const RunResult& result_;
  bool first_ = true;
  std::int32_t next_session_track_ = 0;
};

}  // namespace

std::vector<std::string> left_out_of_timeline(const RunResult& result) {
  std::vector<std::string> notes;
  if (result.requests_drawn < std::ssize(result.requests))
    notes.push_back(fmt::format("timeline.json draws the first {} of {} requests", result.requests_drawn,
                                result.requests.size()));
  if (result.spans_left_out > 0)
    notes.push_back(
        fmt::format("timeline.json draws the first {} boxes of steps and operators; {} follow, from {} s on",
                    result.spans.size(), result.spans_left_out, result.spans.back().start.value()));
  return notes;
}

void write_timeline_json(const std::filesystem::path& path, const RunResult& result) {
  OutputFile file(path);
  TimelineFile timeline(file, result);
  file.print("{{\"displayTimeUnit\":\"ms\",\"otherData\":{{\"left_out\":{}}},\"traceEvents\":[\n",
             Json(left_out_of_timeline(result)).dump());
  timeline.write_names();
  timeline.write_spans();
  timeline.write_arrows();
  timeline.write_sessions();
  timeline.write_counters();
  file.text("\n]}\n");
  file.close();
}

}  // namespace weir
