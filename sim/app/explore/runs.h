#pragma once
// The worker as the server's threads see it: each change of a page is a job, whose lines of JSON come in as
// its parts end.
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "sim/app/explore/packets.h"
#include "sim/core/params.h"

namespace weir {

class Runs {
 public:
  explicit Runs(int worker);  // its socket; a thread reads it
  ~Runs();
  Runs(const Runs&) = delete;
  Runs& operator=(const Runs&) = delete;

  bool alive();  // so is the worker
  std::int32_t start(const std::string& page, const Json& scenario);
  struct Line {
    std::string text;  // {"part": 0, "answer": ...}, {"part": 3, "error": ...}; last of all {"end": "done"}
    bool last;
  };
  // The next one, or nothing where none came in this time. Not to be asked again after the last.
  std::optional<Line> next(std::int32_t job, std::chrono::milliseconds most);
  void stop(std::int32_t job);  // nobody waits for its lines any more

 private:
  void read();
  bool send(const Packet& packet);
  void put(std::int32_t job, Line line);

  const int worker_;
  std::mutex sending_;  // not held by who reads, so that neither end waits for the other to read first
  std::mutex mutex_;    // of all below
  std::condition_variable came_;
  std::map<std::int32_t, std::deque<Line>> jobs_;
  std::int32_t jobs_so_far_ = 0;
  bool lost_ = false;  // the worker is gone
  std::thread reader_;
};

}  // namespace weir
