#pragma once
// A checkpoint's own number formats, as they stand in quantization_config of its config.json, or in
// hf_quant_config.json beside it. Read once with the model; a scenario's `precision` stands on it.
#include <optional>
#include <string>

#include "models/llm/precision.h"

namespace weir {

struct Quantization {
  std::string method;                   // quant_method, and format where it has one
  std::optional<Precision> types = {};  // none: it is a method that is not read
};

std::string quantization_methods();  // those that are read, for messages

struct Architecture;
// Reads `key` of `config`: sets quantization, each layer's `wide`, and notes.
void read_quantization(Params& config, const char* key, Architecture& model);

// hf_quant_config.json as config.json would have it.
Json quantization_config_of(const Json& hf_quant_config);

}  // namespace weir
