#pragma once
// People call a key and a point by these: "rate_per_s"; "TP4 PP2, orca, rate_per_s 8".
#include <string>
#include <vector>

#include "sim/app/results/varied.h"

namespace weir {

// Names of varied keys: the end of each JSON pointer, as long as it must be to differ from the others and to
// say something by itself ("tensor", but "replicas/count"). Indices of lists are left out where they do not
// tell two keys apart.
std::vector<std::string> short_names(const std::vector<std::string>& pointers);
// Names one key, whose value says what it is: rate_per_s; batching (of batching/kind).
std::string short_name(const std::string& pointer);
std::string value_text(const Json& value);  // of a varied key: short, without quotes
// Ranks of parallelism that are 1 are left out, unless all are.
std::string label_of(const Varied& varied);
std::string label_of(const Varied& varied, const std::vector<std::string>& pointers);  // of these alone
// The same without the keys' names: "TP4 PP2, 2048".
std::string brief_label_of(const Varied& varied, const std::vector<std::string>& pointers);
bool is_layout(const std::string& pointer);  // one of the keys that TP, PP, EP and DP stand for
std::string in_words(const Varied& varied);  // every key by its short name: tensor 4, replicas/count 1

}  // namespace weir
