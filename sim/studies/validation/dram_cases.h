#pragma once
// DRAMsim3's cases: a memory, a pattern of requests, and the clocks that unmodified DRAMsim3 took for it. The
// shipped ones (measured/dram_spans.json) are the table of spans; the reference folder has all, and the
// requests of most. Used by the validation study (dram.cpp), tests and the bench.
#include <filesystem>
#include <string>
#include <vector>

#include "models/memory/dram/channel.h"

namespace weir {

struct DramCase {
  std::string name, config;  // hbm_08_seq64KB, hbm2_neupims_t2: the reference's names
  Cycles span = 0;           // from the first accept to the last data
};
std::vector<DramCase> shipped_dram_cases();
std::vector<DramCase> reference_dram_cases(const std::filesystem::path& reference);

// Reads a config's name: ddr4_l3_1rank_colmaj_noref, say. Throws std::out_of_range on an unknown one.
struct DramSetup {
  MemorySpec memory;
  bool refresh = true;
};
DramSetup dram_setup(const std::string& config);

struct DramPattern {
  std::string name;  // a part of the case's
  double percent;    // accepted difference of the span: none for a handful of requests
  std::vector<MemoryRequest> (*requests)(const MemorySpec& memory);
};
// Random patterns have other random numbers than the reference's. Throws std::out_of_range as well.
const DramPattern& dram_pattern(const std::string& case_name);

}  // namespace weir
