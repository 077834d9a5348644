#include "sim/app/output/output_file.h"
#include "sim/app/output/writers.h"

namespace weir {
namespace {

const char* name_of(RequestStatus status) {
  switch (status) {
    case RequestStatus::completed:
      return "completed";
    case RequestStatus::rejected:
      return "rejected";
    case RequestStatus::lost:
      return "lost";
    case RequestStatus::unfinished:
      break;
  }
  return "unfinished";
}

class Row {
 public:
  explicit Row(fmt::memory_buffer& buffer) : buffer_(buffer) {}

  void integer(std::int64_t value) {
    separate();
    append_integer(buffer_, value);
  }
  // Times are written to the nanosecond, the resolution of SimGrid's clock (precision/timing).
  void seconds(Seconds time, bool defined) {
    separate();
    if (defined) append_fixed(buffer_, time.value(), 9);
  }
  void milliseconds(Seconds time, bool defined) {
    separate();
    if (defined) append_fixed(buffer_, time.value() * 1e3, 6);
  }
  void word(std::string_view word) {
    separate();
    buffer_.append(word);
  }

 private:
  void separate() {
    if (!first_) buffer_.push_back(',');
    first_ = false;
  }
  fmt::memory_buffer& buffer_;
  bool first_ = true;
};

}  // namespace

void write_requests_csv(const std::filesystem::path& path, const RunResult& result) {
  OutputFile file(path);
  file.text(
      "request_id,arrival_s,input_tokens,output_tokens,replica,scheduled_s,first_token_s,finished_s,ttft_ms,"
      "tpot_ms,"
      "e2el_ms,preemptions,status\n");
  for (std::size_t i = 0; i < result.requests.size(); ++i) {
    const RequestRecord& r = result.requests[i];
    const bool scheduled = r.scheduled.value() >= 0, started = r.first_token.value() >= 0,
               done = r.finished.value() >= 0;
    const std::optional<Seconds> tpot = time_per_output_token(r);
    Row row(file.buffer());
    row.integer(static_cast<std::int64_t>(i));
    row.seconds(r.request.arrival, r.request.arrival.value() >= 0);
    row.integer(r.request.input_tokens);
    row.integer(r.request.output_tokens);
    if (r.replica >= 0)
      row.integer(r.replica);
    else
      row.word("");
    row.seconds(r.scheduled, scheduled);
    row.seconds(r.first_token, started);
    row.seconds(r.finished, done);
    row.milliseconds(time_to_first_token(r), started);
    row.milliseconds(tpot.value_or(Seconds(0)), done && tpot);
    row.milliseconds(end_to_end(r), done);
    row.integer(r.preemptions);
    row.word(name_of(r.status));
    file.line_done();
  }
  file.close();
}

}  // namespace weir
