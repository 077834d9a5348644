#pragma once
// Runs scenarios in child processes: a second SimGrid Engine in one process starts at the first one's clock.
#include <functional>
#include <string>
#include <vector>

#include "sim/serving/simulation.h"

namespace weir::test {

struct Outcome {  // what laws speak about, small enough to pass through a pipe
  std::vector<RequestRecord> requests;
  double iterations = 0, preemptions = 0, gap_count = 0, gap_mean = 0, gap_p99 = 0, end = 0, energy = 0,
         busy = 0;
  double flops = 0, memory = 0, peak_blocks = 0, total_blocks = 0, sampled_tokens = 0;
  double most_carried = 0;  // bytes, over one link
  double sent = 0;          // bytes, over all links from a device to its peers (".out")
  double collectives = 0;   // bytes that all devices together sent in them
  double fetched = 0, used = 0, evicted = 0, left = 0;  // bytes of prefetches
  double decodes = 0, accepted = 0;                     // that verified drafts; of these
  double loaded = 0;                                    // tokens of prompts, from tiers
  double to_host = 0, from_host = 0;  // bytes, over all devices' links to their node's memory
  std::string error;                  // what was thrown, if anything
};

// Reads it and simulates it in a child; `change` stands for what no scenario can say yet.
Outcome run(
    const Json& scenario, const std::function<void(Plan&)>& change = [](Plan&) {});

// The reasons for which it is refused; none if it is not.
std::vector<Problem> problems_of_scenario(const Json& scenario);

// A small valid scenario to change: llama3.1-8b on one H100, lognormal lengths, Poisson arrivals.
Json small_scenario();

}  // namespace weir::test
