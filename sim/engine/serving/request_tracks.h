#pragma once
// For timeline.json, what each of the first requests is doing, as boxes on a track of its own, and arrows
// from there to the steps: to every step of a prefill, and to the first one of a decode.
#include <cstdint>
#include <vector>

#include "sim/engine/results.h"

namespace weir {

class RequestTracks {
 public:
  static constexpr std::size_t most_requests = 1000;  // the others are not drawn: nobody scrolls that far

  explicit RequestTracks(RunResult& result);

  void phase(std::int32_t request, Seconds now, const char* phase);
  void arrow(std::int32_t request, std::int32_t track, Seconds at);
  void end(Seconds now);  // of the run: of boxes that are open yet

 private:
  struct Open {
    const char* phase = nullptr;
    Seconds since{0};
    bool begun = false;  // a step has computed a part of it
  };
  RunResult& result_;
  std::vector<Open> open_;
};

}  // namespace weir
