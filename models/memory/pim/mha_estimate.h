#pragma once
// Algorithm 1 of NeuPIMs (ASPLOS 2024): the latency of one request's attention on its PIM channel, as its
// policies estimate it. Pure arithmetic beside the bank model, which it is compared with.
#include <cstdint>

namespace weir {

enum class Division {
  real,     // as printed: a request shorter than a tile costs a part of it
  ceilings  // tiles and pages are whole; what the authors' code does
};

struct MhaParameters {
  std::int64_t embedding;   // E: of the device's share of the heads
  std::int64_t heads;       // of the device
  std::int64_t page = 512;  // P_DRAM: elements of a row (Table 2: 1 KB, FP16)
  std::int64_t banks = 32;  // B_chnl (Table 2)
  double tile = 184;        // L_tile, cycles: the constant of the authors' code
  double gwrite = 100;      // L_GWRITE, cycles: likewise
};

struct MhaEstimate {
  double logit, attend;  // cycles
  double total() const { return logit + attend; }
};

MhaEstimate estimate_mha(const MhaParameters& parameters, std::int64_t length, Division division);

}  // namespace weir
