#include <fmt/format.h>

#include "workloads/requests.h"
#include "workloads/traces/readers.h"

namespace weir {
namespace {

class SessionsFile final : public RequestSource {
 public:
  SessionsFile(std::filesystem::path path, std::optional<std::int64_t> count)
      : path_(std::move(path)), count_(count) {}

  Trace draw(std::uint64_t) const override {
    Trace trace = read_trace(path_, read_sessions);
    if (!count_) return trace;
    const Sessions sessions(trace.turns);
    if (*count_ > sessions.count())
      throw ConfigError("", "count",
                        fmt::format("expected at most the {} sessions there are (those that wait for each "
                                    "other are one), got {}",
                                    sessions.count(), *count_));
    std::vector<std::int32_t> kept;
    for (std::int32_t request = 0; request < sessions.requests(); ++request)
      if (sessions.of(request) < *count_) kept.push_back(request);
    rearrange(trace, kept);
    return trace;
  }

 private:
  std::filesystem::path path_;
  std::optional<std::int64_t> count_;
};

}  // namespace

std::shared_ptr<const RequestSource> make_sessions_file(Params& params) {
  const auto path = params.path(
      {"file",
       "columns session_id, input_tokens, output_tokens and, where they are known, turn, start_s, after, "
       "gap_s, shares_with, shared_tokens, measured; relative to this file"});
  const auto count = params.integer_or_null(
      {"count", "the first so many sessions; null: all. Those that wait for each other are one"},
      {1, max_tokens});
  if (!path) return nullptr;
  return std::make_shared<SessionsFile>(*path, count);
}

}  // namespace weir
