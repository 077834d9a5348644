#pragma once
// Requests that wait for others: the turns of a session, each after the answers before it and a time of
// tools or of thinking. Made by trace readers; asked by the clients of a run, and by what writes results.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/units.h"

namespace weir {

// What a trace says of its requests, by their order there; empty: none waits for another.
struct Turns {
  std::vector<std::string> names;                             // of sessions, as the trace has them
  std::vector<std::int32_t> name_of;                          // of each request, in `names`
  std::vector<std::int64_t> numbers;                          // of the turn in its session
  std::vector<Seconds> gaps;                                  // after the last that it waits for has ended
  std::vector<std::pair<std::int32_t, std::int32_t>> awaits;  // a request, and one that it waits for

  bool empty() const { return name_of.empty(); }
  void add(std::int32_t name, std::int64_t number, Seconds gap);  // the next request's
};

// An order in which each comes behind all that it stands behind of `before` (pairs: later, earlier), of
// several possible ones that with the lowest numbers first. Whoever is in a circle, or behind one, is left
// out.
std::vector<std::int32_t> in_order(std::size_t count,
                                   std::span<const std::pair<std::int32_t, std::int32_t>> before);

// Requests that wait for each other, in whatever way, are one session: an agent with its sub-agents, say,
// though the trace gives these names of their own.
class Sessions {
 public:
  // Throws std::logic_error if a request waits for itself or a later one: readers order them.
  explicit Sessions(Turns turns);

  std::int32_t count() const { return count_; }
  std::int32_t requests() const { return static_cast<std::int32_t>(of_.size()); }
  std::int32_t of(std::int32_t request) const { return of_[at(request)]; }
  // In ascending order, all of the same session and earlier in the workload than the request.
  std::span<const std::int32_t> awaited_by(std::int32_t request) const {
    return {awaits_.data() + first_[at(request)], awaits_.data() + first_[at(request) + 1]};
  }
  bool waits(std::int32_t request) const { return !awaited_by(request).empty(); }
  // From the end of the last of these, as the client sees it, to its arrival.
  Seconds gap(std::int32_t request) const { return turns_.gaps[at(request)]; }
  const std::string& name(std::int32_t request) const {  // of its session, as the trace has it
    return turns_.names[at(turns_.name_of[at(request)])];
  }
  std::int64_t turn(std::int32_t request) const { return turns_.numbers[at(request)]; }

 private:
  static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

  Turns turns_;
  std::int32_t count_ = 0;
  std::vector<std::int32_t> of_;
  std::vector<std::uint32_t> first_;  // of each request, into
  std::vector<std::int32_t> awaits_;
};

}  // namespace weir
