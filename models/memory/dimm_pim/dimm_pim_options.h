#pragma once
// Options of a DIMM that calculates: L3's (Section 4 of its paper) by default, and what it is compared with.
#include <optional>

namespace weir {

// Where attention is calculated: beside every bank, on the DIMM's buffer chip, or in the CPU.
enum class DimmLevel { bank, rank, channel };

// How the banks of a rank open a row each: in one cycle, tRRD apart, or as tFAW allows too. Only the last is
// what a DRAM's power supply bears; the others are there to show what it costs.
enum class ActivationMode { at_once, rrd, faw };

// How elements of 16 bits get into one chip of 8 bits each: exchanged in the buffer chip as they pass
// (Section 4.1: double buffer and spoofed timing hide it), or by the CPU afterwards (Section 2.5).
enum class Relayout { in_flight, cpu_transposition };

// K by token over banks. V by element over banks (tailored, Section 4.2), or as K (uniform).
enum class KvMapping { tailored, uniform };

struct DimmPimOptions {
  DimmLevel level = DimmLevel::bank;
  ActivationMode activation = ActivationMode::faw;
  Relayout relayout = Relayout::in_flight;
  KvMapping mapping = KvMapping::tailored;
  bool fused = true;  // softmax beside score and context; else one after the other (Section 4.3)
  // Elements that the softmax unit takes in the time of a column read; none: as many as keep up with heads of
  // 128 elements (head_pipeline.h).
  std::optional<double> softmax_elements_per_column = {};
  bool refresh = true;
  int postponed_refreshes = 8;  // at most (Section 4.4, DDR4)

  bool operator==(const DimmPimOptions&) const = default;
};

}  // namespace weir
