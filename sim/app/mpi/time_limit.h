#pragma once
// Ends this process with `code` where what it waits for takes longer than the limit: a rank that dies inside
// MPI_Init, in the first broadcast or in MPI_Finalize leaves the others there for ever where mpirun recovers
// (orte_enable_recovery), as nobody tells them. One at a time; by alarm(), because MPI returns from no wait.
#include <string>

namespace weir {

class TimeLimit {
 public:
  TimeLimit(const std::string& what, int code);
  ~TimeLimit();
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;
};

// A wait for all ranks ends after so long: the variable WEIR_MPI_TIME_LIMIT_S, or 120. Throws ConfigError if
// it is no whole number above 0.
unsigned mpi_time_limit_s();

}  // namespace weir
