#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/app/output/writers.h"

namespace weir {

std::string words_of_stop(const RunResult& result) {
  constexpr std::size_t most_named = 20;
  std::vector<std::size_t> lost;
  for (std::size_t i = 0; i < result.requests.size(); ++i)
    if (result.requests[i].status == RequestStatus::lost) lost.push_back(i);
  const std::span<const std::size_t> named(lost.data(), std::min(lost.size(), most_named));
  const std::string which =
      lost.empty() ? "no request was lost with it"
                   : fmt::format("{} request{} lost with it: {}{}", lost.size(),
                                 lost.size() == 1 ? " was" : "s were", fmt::join(named, ", "),
                                 lost.size() > most_named ? ", ... (`lost` in requests.csv)" : "");
  return fmt::format("{} was switched off {:g} s after the start, which ended the run; {}",
                     result.stopped->name, result.stopped->at.value(), which);
}

}  // namespace weir
