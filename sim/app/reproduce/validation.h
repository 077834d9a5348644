#pragma once
// The parts of the validation study, one a file. Each adds its rows; those that need --reference add none
// without it.
#include "sim/app/reproduce/reproduce.h"

namespace weir {

void add_traces(const ReproduceOptions& options,
                std::vector<ReproducedRow>& rows);  // real vLLM runs, by request
void add_peers(const ReproduceOptions& options, std::vector<ReproducedRow>& rows);  // Vidur's runs

}  // namespace weir
