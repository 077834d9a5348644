// Chrome's trace event format (docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU),
// which ui.perfetto.dev and chrome://tracing open: one thread a track, boxes ("X") in microseconds, counters
// ("C").
#include "sim/app/output/output_file.h"
#include "sim/app/output/writers.h"

namespace weir {
namespace {

std::string quoted(const std::string& text) {
  return Json(text).dump();
}

void write_tracks(OutputFile& file, const RunResult& result) {
  file.text(R"({"ph":"M","pid":0,"name":"process_name","args":{"name":"Weir"}})");
  for (std::size_t track = 0; track < result.tracks.size(); ++track) {
    file.print(
        ",\n"
        R"({{"ph":"M","pid":0,"tid":{},"name":"thread_name","args":{{"name":{}}}}})",
        track, quoted(result.tracks[track]));
    file.print(
        ",\n"
        R"({{"ph":"M","pid":0,"tid":{0},"name":"thread_sort_index","args":{{"sort_index":{0}}}}})",
        track);
  }
}

void write_spans(OutputFile& file, const RunResult& result) {
  for (const Span& span : result.spans)
    file.print(
        ",\n"
        R"({{"ph":"X","pid":0,"tid":{},"ts":{:.3f},"dur":{:.3f},"name":{},)"
        R"("args":{{"requests":{},"tokens":{},"steps":{}}}}})",
        span.track, span.start.value() * 1e6, span.duration.value() * 1e6, quoted(span.name), span.requests,
        span.tokens, span.steps);
}

void write_counters(OutputFile& file, const RunResult& result) {
  for (const Sample& s : result.samples) {
    const double at = s.time.value() * 1e6;
    file.print(
        ",\n"
        R"({{"ph":"C","pid":0,"ts":{:.3f},"name":"requests","args":{{"running":{:.3f},"waiting":{:.3f}}}}})",
        at, s.running, s.waiting);
    file.print(
        ",\n"
        R"({{"ph":"C","pid":0,"ts":{:.3f},"name":"KV blocks","args":{{"used":{:.3f}}}}})",
        at, s.kv_blocks);
  }
}

}  // namespace

void write_timeline_json(const std::filesystem::path& path, const RunResult& result) {
  OutputFile file(path);
  file.text("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
  write_tracks(file, result);
  write_spans(file, result);
  write_counters(file, result);
  file.text("\n]}\n");
  file.close();
}

}  // namespace weir
