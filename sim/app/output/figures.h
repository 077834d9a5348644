#pragma once
// Figures of one run: latency.svg, throughput.svg, utilisation.svg, kv_cache.svg, and of prompts that may be
// found in part prompts.svg and ttft_by_hit_share.svg.
#include "sim/app/output/result_directory.h"
#include "sim/app/output/writers.h"

namespace weir {

void draw_figures(ResultDirectory& directory, const FinishedRun& run);

}  // namespace weir
