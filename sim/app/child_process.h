#pragma once
// Work in forked children: each has a SimGrid Engine of its own, and takes nothing down with it. For
// reproduce, sweeps and tests. The parent must not have made an Engine. A child dies with its parent, however
// that dies.
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weir {

struct ChildResult {
  std::string output;  // what the work returned
  std::string error;   // what it threw, or how it died; "" if it returned
  double wall_s = 0, cpu_s = 0;
  std::int64_t peak_rss_bytes = 0;
};

struct ChildLimits {  // of each child
  std::optional<double> time_s;
  std::optional<std::int64_t> memory_bytes;  // address space
  bool keep_stderr = false;  // what a child that dies last wrote there ends its error, instead of appearing
};

class Children {
 public:
  explicit Children(ChildLimits limits = {}) : limits_(limits) {}
  ~Children();  // kills those that still run
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  void start(std::size_t id, const std::function<std::string()>& work);
  std::size_t running() const { return running_.size(); }
  void kill(std::size_t id);  // it has no result

  // Waits until a child ends, `also` can be read or `most` has passed. Gives the children that have ended.
  std::vector<std::pair<std::size_t, ChildResult>> wait(std::chrono::milliseconds most, int also = -1);

 private:
  struct Child {
    std::size_t id;
    int pid, from, said;  // descriptors: its result, and its stderr (-1: not kept)
    std::chrono::steady_clock::time_point started;
    std::string bytes;  // first byte: 'k' the output follows, 'e' an error does
    bool overdue = false;
  };
  static void end(const Child& child);
  void kill_overdue();
  ChildResult finish(Child& child) const;
  std::string how_it_died(const Child& child, int status) const;

  ChildLimits limits_;
  std::vector<Child> running_;
};

// Calls body(i) for i in [0, count) in children, at most `jobs` at once; calls done(i, result) in the parent,
// in the order in which they end. Stops starting new ones when done() returns false.
void in_children(std::size_t count, int jobs, const std::function<std::string(std::size_t)>& body,
                 const std::function<bool(std::size_t, ChildResult)>& done);

}  // namespace weir
