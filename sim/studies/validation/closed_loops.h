#pragma once
// What the measured rows of closed loops say of how they were loaded, by themselves: nothing is simulated.
// Used by the validation study alone.
#include <map>
#include <string>
#include <vector>

#include "sim/studies/validation/measured.h"

namespace weir {

// By how many seats a server had less than clients. Those who lack one always wait, and by Little's law that
// takes their share of the time of each request: of two rows alike but for their output, TTFT differs by
// missing / clients of what the time to the end does.
struct MissingSeats {
  // The number that leaves least of these differences unexplained, in absolute time, over pairs of rows with
  // the same prompt and clients, next to each other by output.
  double missing = 0;
  int pairs = 0;

  std::int64_t whole() const;  // to the nearest, none if negative
};

std::map<std::string, MissingSeats> missing_seats(const std::vector<MeasuredServer>& servers);  // by group

// Gives servers whose seats are on no record (max_batch_requests of 0) as many as clients, less those
// missing.
void seat_clients(std::vector<MeasuredServer>& servers);

// Marks rows whose TTFT is longer than under the same load on fewer of the same GPUs: their requests wait for
// a front end or a client that more GPUs do not make faster.
void mark_held_up(std::vector<MeasuredServer>& servers);

}  // namespace weir
