#pragma once
// Recorded activity in memory, and its reader. The format, by lines (docs/activity.md): the model's counts,
// then a row a token, layer and block, in any order, with the numbers of the active neurons:
//     layers,attention,mlp
//     2,16,64
//     token,layer,block,neurons
//     0,0,attention,0-3 7 9
// Memory goes with the length of the text, whatever numbers it holds.
#include <string>
#include <string_view>
#include <vector>

#include "workloads/activity/activity.h"

namespace weir {

struct NeuronRun {
  std::int32_t first = 0, last = 0;  // both are in it
};

class ActivityRecording {
 public:
  struct Row {                       // a token's, of a layer and block
    std::size_t line = 0;            // in the file
    std::size_t begin = 0, end = 0;  // of its runs
  };
  ActivityRecording(const NeuronCounts& counts, std::vector<Row> rows, std::vector<NeuronRun> runs);

  const NeuronCounts& counts() const { return counts_; }
  std::int64_t tokens() const { return tokens_; }
  // In ascending order; they do not overlap.
  std::span<const NeuronRun> runs(std::int64_t token, std::int64_t layer, NeuronBlock block) const;

 private:
  NeuronCounts counts_;
  std::int64_t tokens_;
  std::vector<Row> rows_;  // by token, layer, block
  std::vector<NeuronRun> runs_;
};

// Any bytes whatever give a recording or a ConfigError that names the lines.
ActivityRecording read_activity(std::string_view text, const std::string& file);

}  // namespace weir
