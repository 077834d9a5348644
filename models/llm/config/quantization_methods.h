#pragma once
// The methods of a quantization_config, each read into the same rules; used by quantization.cpp alone.
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "models/llm/precision.h"

namespace weir {

// Modules of a target get its types, the first that means them; those that are ignored have 16 bits.
struct QuantizationRules {
  std::string method;
  bool read = false;   // whether the method is one that is read
  bool wrong = false;  // the method is read, but a value of it is a problem, which was reported
  std::vector<std::string> ignored;
  std::vector<std::pair<std::vector<std::string>, MatrixTypes>> targets;
  bool experts_alone = false;  // vLLM's mxfp4 has no linear layers
  bool head = false;           // the LM head is quantised as linear layers are
  std::optional<DataType> kv_cache = {};
  std::vector<std::string> notes = {};
  std::set<std::string> unknown = {};  // algorithms that were reported, each once
};

QuantizationRules read_quantization_rules(Params& config);

}  // namespace weir
