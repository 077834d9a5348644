#include <algorithm>
#include <string_view>

#include "sim/serving/record/recorder.h"

namespace weir {

RequestTracks::RequestTracks(RunResult& result)
    : result_(result), open_(std::min(most_requests, result.requests.size())) {
  result.requests_drawn = std::ssize(open_);
}

void RequestTracks::phase(std::int32_t request, Seconds now, const char* phase) {
  const auto at = static_cast<std::size_t>(request);
  if (at >= open_.size()) return;
  Open& open = open_[at];
  if (open.phase && phase && std::string_view(open.phase) == phase) return;
  if (open.phase && now > open.since)
    result_.request_spans.push_back({request, open.phase, open.since, now - open.since});
  open = {.phase = phase, .since = now};
}

void RequestTracks::arrow(std::int32_t request, std::int32_t track, Seconds at) {
  const auto i = static_cast<std::size_t>(request);
  if (i >= open_.size() || !open_[i].phase || result_.spans_left_out > 0) return;  // no box to point at
  if (open_[i].begun && std::string_view(open_[i].phase) == "decode") return;
  open_[i].begun = true;
  result_.arrows.push_back({request, track, at});
}

void RequestTracks::end(Seconds now) {
  for (std::size_t i = 0; i < open_.size(); ++i) phase(static_cast<std::int32_t>(i), now, nullptr);
}

}  // namespace weir
