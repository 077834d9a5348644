#pragma once
// Runs points for an MPI rank. A process that has called MPI_Init may not fork; so before that, it forks this
// server, which never hears of MPI and forks a child a point. It ends with the rank, and its children with
// it.
#include <cstdint>
#include <string>
#include <utility>

#include "sim/app/sweep/runner.h"

namespace weir {

// A result as it travels: to the rank by a socket, and from there to rank 0 as a message.
std::string packed(std::size_t point, const EndedPoint& result);
std::pair<std::size_t, EndedPoint> unpacked(const std::string& bytes);

class PointServer {
 public:
  PointServer(const PointWork& work, const ChildLimits& limits);
  ~PointServer();  // kills what still runs
  PointServer(const PointServer&) = delete;
  PointServer& operator=(const PointServer&) = delete;

  void start(std::size_t point);
  int results() const { return socket_; }  // readable when one is there, for poll()
  std::string take();                      // waits for one, packed

 private:
  int socket_, pid_;
};

}  // namespace weir
