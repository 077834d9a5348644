#pragma once
// Work in forked children: each has a SimGrid Engine of its own, and takes nothing down with it. For
// reproduce, sweeps and tests. The parent must not have made an Engine.
#include <functional>
#include <string>

namespace weir {

struct ChildResult {
  std::string output;  // what `body` returned
  std::string error;   // what it threw, or how it died; "" if it returned
};

// Calls body(i) for i in [0, count) in children, at most `jobs` at once; calls done(i, result) in the parent,
// in the order in which they end. Stops starting new ones when done() returns false.
void in_children(std::size_t count, int jobs, const std::function<std::string(std::size_t)>& body,
                 const std::function<bool(std::size_t, ChildResult)>& done);

}  // namespace weir
