// detailed.json holds the lists that vLLM's serving benchmark adds to its result under --save-detailed, under
// the same names, one item a measured request, in the order of requests.csv. A request that failed has no
// output and says why, as there; one that was never sent has a start of 0.
#include <algorithm>
#include <utility>

#include "sim/app/output/output_file.h"
#include "sim/app/output/writers.h"

namespace weir {
namespace {

class Detailed {
 public:
  Detailed(OutputFile& file, const RunResult& result) : file_(file), result_(result) {}

  template <class Write>
  void list(std::string_view name, std::string_view after, Write write) {
    file_.print("\"{}\":[", name);
    bool first = true;
    for (std::size_t i = 0; i < result_.requests.size(); ++i) {
      if (!is_measured(result_.requests[i])) continue;
      if (!std::exchange(first, false)) file_.text(",");
      write(result_.requests[i], i);
    }
    file_.text(after);
  }
  void integer(std::int64_t value) { append_integer(file_.buffer(), value); }
  void seconds(double value) { append_fixed(file_.buffer(), value, 9); }
  void gaps(const std::vector<double>& gaps) {
    file_.text("[");
    for (std::size_t i = 0; i < gaps.size(); ++i) {
      if (i > 0) file_.text(",");
      seconds(gaps[i]);
    }
    file_.text("]");
  }

 private:
  OutputFile& file_;
  const RunResult& result_;
};

const char* error_of(const RequestRecord& record) {
  switch (record.status) {
    case RequestStatus::completed:
      return "";
    case RequestStatus::rejected:
      return "rejected: it can never fit";
    case RequestStatus::lost:
      return "lost: a device that served it was switched off";
    case RequestStatus::unfinished:
      break;
  }
  return "unfinished when the run ended";
}

}  // namespace

void write_detailed_json(const std::filesystem::path& path, const RunResult& result) {
  OutputFile file(path);
  Detailed out(file, result);
  const auto completed = [](const RequestRecord& r) { return r.status == RequestStatus::completed; };
  file.text("{");
  out.list("input_lens", "],\n", [&](const RequestRecord& r, auto) { out.integer(r.request.input_tokens); });
  out.list("output_lens", "],\n",
           [&](const RequestRecord& r, auto) { out.integer(completed(r) ? r.request.output_tokens : 0); });
  // As OpenAI's usage.prompt_tokens_details names them.
  out.list("cached_tokens", "],\n", [&](const RequestRecord& r, auto) { out.integer(r.found_tokens); });
  out.list("ttfts", "],\n", [&](const RequestRecord& r, auto) {
    out.seconds(r.first_token < Seconds(0) ? 0 : time_to_first_token(r).value());
  });
  out.list("itls", "],\n", [&](const RequestRecord&, std::size_t i) { out.gaps(result.token_gaps[i]); });
  out.list("start_times", "],\n",
           [&](const RequestRecord& r, auto) { out.seconds(std::max(0.0, r.request.arrival.value())); });
  out.list("errors", "]}\n", [&](const RequestRecord& r, auto) { file.print("\"{}\"", error_of(r)); });
  file.close();
}

}  // namespace weir
