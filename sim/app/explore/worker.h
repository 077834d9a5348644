#pragma once
// The process that runs the page's scenarios, each in a child of its own: forked before the server has a
// thread, because a fork copies the locks that other threads hold. It ends with its parent, and its children
// with it.
#include <sys/types.h>

#include "sim/app/explore/explored.h"

namespace weir {

class Worker {
 public:
  // Forks. Somebody waits at a page: what takes longer than `patience_s` is for weir run.
  explicit Worker(const Explored& explored, double patience_s = 30);
  ~Worker();  // ends it, runs and all
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Takes a Packet of {"page": ..., "scenario": ...} as a job, which ends the page's job before it; one with
  // end_of_job ends that job. Gives a Packet for each part that ends, {"answer"} or {"error"}, and one with
  // end_of_job: its text is "done", or "newer" where another job took its place.
  int socket() const { return socket_; }
  pid_t process() const { return process_; }

 private:
  int socket_;
  pid_t process_;
};

}  // namespace weir
