#pragma once
// A trace reader (readers.h) hands this over; the one place where its rows are checked, counted and
// sorted. A reader hands every field over as it stands in the file; all that is wrong is collected by line
// and thrown together by finish(), all that was left out is counted by reason and told in a note.
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/errors.h"
#include "sim/core/request.h"
#include "workloads/benchmark_load.h"
#include "workloads/contents.h"
#include "workloads/sessions.h"

namespace weir {

// Beyond these a number is a mistake (a wrong column, a wrong unit), and sums of them would not be exact.
inline constexpr std::int64_t max_tokens = 100'000'000;
inline constexpr double max_arrival_s = 1e12;

struct Trace {
  // By arrival if each has one; otherwise, or where some wait for others, in the file's order, but behind
  // those that they wait for or share with.
  std::vector<Request> requests;
  std::vector<Origin> origins;   // one a request, by their order here; empty: no prompt begins as another
  Turns turns;                   // which of them wait for others; the arrivals of these are 0
  std::string missing_arrivals;  // why not every request has an arrival; "" if each has
  BenchmarkLoad load;            // under which a benchmark sent them
  std::vector<std::string> notes;
};

// Its records lack what the format has: it may be a file of another one (known_formats.h).
class WrongFields : public ConfigError {
 public:
  using ConfigError::ConfigError;
};

// What is wrong with the lines of a file; the first of it is listed, the rest counted.
class LineProblems {
 public:
  void add(std::size_t line, std::string what);  // line 0: the whole file
  // The same, of which a file of another kind has one a line: told once, and how many lines have it.
  void add_once(std::size_t line, const std::string& kind, std::string what);
  bool any() const { return count_ > 0; }
  void finish(
      const std::string& file);  // throws ConfigError if there is any, WrongFields if told by add_once()

 private:
  std::vector<Problem> listed_;
  std::size_t count_ = 0;
  struct Repeated {
    std::size_t listed, lines;
  };
  std::map<std::string, Repeated> repeated_;
};

// What is wrong with a file, as problems of the key that names it.
std::vector<Problem> problems_at(const std::string& key, const ConfigError& of_file);

// Keeps these requests, in this order; whoever shared with one that is left out or comes later now shares
// with one that is there as much of the same text as it has. Requests that wait for others must stay behind
// them; one of whom is left out no longer waits for that.
void rearrange(Trace& trace, std::span<const std::int32_t> order);
void sort_by_arrival(Trace& trace);  // equal arrivals keep their order

class TraceBuilder {
 public:
  explicit TraceBuilder(std::string file) : file_(std::move(file)) {}

  // One field as text; nothing after a problem.
  std::optional<std::int64_t> tokens(std::size_t line, std::string_view name, std::string_view text);
  std::optional<double> seconds(std::size_t line, std::string_view name, std::string_view text,
                                double unit_s);

  std::optional<std::int32_t> priority(std::size_t line, std::string_view name, std::string_view text);

  std::optional<std::int64_t> count(std::size_t line, std::string_view name, std::string_view text,
                                    std::int64_t max);  // from 0

  void add(std::optional<double> arrival_s, std::int64_t input_tokens, std::int64_t output_tokens,
           std::int32_t priority = 0);
  void add(const Request& request) { trace_.requests.push_back(request); }
  std::int32_t requests() const { return static_cast<std::int32_t>(trace_.requests.size()); }  // so far
  void begins_with(Origin origin);  // the prompt of the last one
  // Whoever has turns has one for each request. They are not sorted then: whoever waits stands behind.
  Turns& turns() { return trace_.turns; }
  // One request left out, e.g. "whose answer is empty", with so many tokens of prompt.
  void drop(std::string_view why, std::int64_t input_tokens);
  void note_once(std::string note);
  void no_arrival(std::size_t line, std::string_view why);  // a request without one; the first reason is told
  void problem(std::size_t line, std::string what) { problems_.add(line, std::move(what)); }
  void problem_once(std::size_t line, const std::string& kind, std::string what) {
    problems_.add_once(line, kind, std::move(what));
  }

  bool failed() const { return problems_.any(); }
  // `from_first`: the clock is a calendar's, and the first request becomes time 0. Throws ConfigError.
  Trace finish(bool from_first = false);

 private:
  std::string file_;
  Trace trace_;
  struct Dropped {
    std::string why;
    std::int64_t requests = 0, input_tokens = 0;
  };
  std::vector<Dropped> dropped_;
  LineProblems problems_;
  std::int64_t without_arrival_ = 0;
};

// Text of a file in a message: short, quoted, and well-formed UTF-8 without control characters whatever bytes
// it holds.
std::string printable(std::string_view text);
// "found: "a", "b"", at most 20 of them.
std::string listed(const std::vector<std::string_view>& found);
// "no field "x" (found: "a", "b")".
std::string missing(std::string_view what, std::string_view name, const std::vector<std::string_view>& found);

}  // namespace weir
