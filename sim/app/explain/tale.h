#pragma once
// The lines of trace.jsonl on a request, told in sentences.
#include <string>
#include <vector>

#include "sim/app/explain/life.h"

namespace weir {

std::string in_seconds(double time);       // "12.3402 s"
std::string in_milliseconds(double time);  // "1,460.00 ms"

class Tale {
 public:
  Tale(std::int64_t request, double arrival) : life_(request, arrival) {}

  void hear(const Json& line);
  const Life& life() const { return life_; }
  const std::vector<std::string>& sentences() const { return sentences_; }
  bool known() const { return known_; }  // a line was about it

 private:
  void hear_own(const std::string& event, const Json& line);
  void say_preempted(const Json& line);
  void say_steps(const Json& step);
  void say(double time, const std::string& what);

  Life life_;
  std::vector<std::string> sentences_;
  bool known_ = false;
  double queued_ = 0, moving_ = 0;  // since then
  struct {
    std::int64_t steps = 0, own = 0, prompts = 0, tokens = 0;
  } prompt_;  // in the steps of its prompt so far
};

}  // namespace weir
