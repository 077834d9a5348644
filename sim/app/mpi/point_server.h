#pragma once
// Runs points for an MPI rank. A process that has called MPI_Init may not fork; so before that, it forks this
// server, which never hears of MPI and forks a child a point. It ends with the rank, and its children with
// it. A point comes as what varies in it: only who hands out points has to know all of them.
#include <cstdint>
#include <string>
#include <utility>

#include "sim/app/sweep/runner.h"

namespace weir {

// A point as it travels: from rank 0 as a message, and from the rank by a socket.
std::string packed(const Point& point);
Point unpacked_point(const std::string& text);

// Its result as it travels back.
std::string packed(std::size_t point, const EndedPoint& result);
std::pair<std::size_t, EndedPoint> unpacked(const std::string& bytes);

class PointServer {
 public:
  explicit PointServer(const Sweep& sweep);  // whose points may be known later, or not here
  ~PointServer();                            // kills what still runs
  PointServer(const PointServer&) = delete;
  PointServer& operator=(const PointServer&) = delete;

  void start(const std::string& point);    // packed
  int results() const { return socket_; }  // readable when one is there, for poll()
  std::string take();                      // waits for one, packed

 private:
  int socket_, pid_;
};

}  // namespace weir
