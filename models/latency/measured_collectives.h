#pragma once
// A communication library on one named interconnect, as fitted to measurements by docs/calibration: read from
// models/latency/interconnects/*.json or a file like those, used by collectives.cpp.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/latency/collectives.h"

namespace weir {

// One collective at one number of devices: the fastest of the library's protocols, each alpha + bytes /
// bandwidth.
struct ProtocolTimes {
  int devices = 0;
  std::vector<double> alpha, seconds_per_byte;
  // An engine's own kernels: whose they are, used for smaller payloads only.
  std::string library = {};
  double below_bytes = 0;

  double operator()(double bytes) const;
};

// By number of devices, ascending. Between two measured numbers, times are interpolated linearly in the
// number; outside, alpha and the time a byte scale as a ring's: with n - 1 and (n - 1) / n of the nearest.
double interpolated(const std::vector<ProtocolTimes>& measured, double bytes, int devices);

struct MeasuredLibrary {
  std::vector<ProtocolTimes> all_reduce, all_gather, reduce_scatter, all_to_all;  // NCCL's
  std::vector<ProtocolTimes> one_shot, two_shot;  // all-reduces of engines' libraries
  std::optional<ProtocolTimes> send_receive;

  // The times of one engine; vLLM's where its own were not measured on this interconnect.
  MeasuredLibrary under(const std::string& engine) const;
  // Null where this library has no such collective measured on this interconnect.
  const std::vector<ProtocolTimes>* of(Collective op) const;
};

}  // namespace weir
