#include "sim/serving/replica/front_end.h"

#include <algorithm>

namespace weir {

FrontEnd::FrontEnd(const FrontEndSpec& spec, Seconds reply)
    : spec_(spec), reply_(reply), per_token_(spec.tokens_per_s ? 1 / *spec.tokens_per_s : 0) {}

Seconds FrontEnd::passes(Seconds now, std::int64_t input_tokens) {
  if (!spec_.takes_time()) return now;
  takes_next_ = std::max(takes_next_, now);
  if (spec_.requests_per_s) takes_next_ += Seconds(1 / *spec_.requests_per_s);
  return takes_next_ + spec_.per_request + static_cast<double>(input_tokens) * spec_.per_prompt_token;
}

Seconds FrontEnd::turn(Seconds ready, std::int64_t tokens) {
  const Seconds begin = std::max(gives_next_, ready);
  gives_next_ = begin + static_cast<double>(tokens) * per_token_;
  return seen(begin);
}

std::span<const Seconds> FrontEnd::turns(Seconds start, const std::vector<StepRun>& runs, std::int64_t steps,
                                         std::int64_t tokens) {
  turns_.clear();
  Seconds ready = start;
  for (const StepRun& run : runs)
    for (std::int64_t i = 0; i < run.steps && std::ssize(turns_) < steps; ++i) {
      ready += run.first.time + static_cast<double>(i) * run.slope.time;
      turns_.push_back(turn(ready, tokens));
    }
  return turns_;
}

}  // namespace weir
