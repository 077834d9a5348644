#pragma once
// The life of a request as the lines of trace.jsonl tell it, in the order of time: what it did or waited for
// at each moment. From its arrival on every moment is a part of exactly one span, so that the parts of a time
// add up to it.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/params.h"

namespace weir {

// Seconds by what they went to, in the order in which that came first.
class Parts {
 public:
  void add(const std::string& what, double seconds);
  const std::vector<std::pair<std::string, double>>& all() const { return all_; }

 private:
  std::vector<std::pair<std::string, double>> all_;
};

struct BoundBy {  // seconds of steps
  double compute = 0, memory = 0, link = 0, host = 0;
};

class Life {
 public:
  Life(std::int64_t request, double arrival) : request_(request), until_(arrival) {}

  void hear(const Json& line);
  std::int64_t request() const { return request_; }
  bool takes_part(const Json& step) const;

  Parts parts(double from, double to) const;
  std::string doing() const { return label(here_); }  // at the end
  double until() const { return until_; }             // the last moment that was told of
  // When a step had made its first token, and its last one; none yet.
  std::optional<double> first_token, last_token;
  struct Gap {
    double start = 0, end = 0;
  };
  const std::optional<Gap>& slowest() const { return slowest_; }  // between two tokens
  const BoundBy& prompt_bound() const { return prompt_bound_; }
  const BoundBy& token_bound() const { return token_bound_; }

 private:
  struct Place {  // at a replica
    std::int64_t replica = -1, rank = -1;
    std::string doing = "on the way to the server", why = "";
    bool queued = false, left = false;
  };
  struct Span {
    double start, end;
    std::string what;  // empty: a step, which went so far to these
    double own_prompt = 0, other_prompts = 0, tokens = 0;
  };
  static std::string label(const Place& place);
  void advance(double to);
  Place* place_of(const Json& line);
  void hear_own(const std::string& event, const Json& line);
  void queue(const Json& line, double time);
  void take_step(const Json& step);
  void token(const Json& step);

  std::int64_t request_;
  double until_;
  Place here_;
  std::optional<Place> next_;  // where it goes on, while its prompt is computed here
  std::vector<Span> spans_;
  std::optional<Gap> slowest_;
  BoundBy prompt_bound_, token_bound_;
};

}  // namespace weir
