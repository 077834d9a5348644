#pragma once
// A config.json as a test writes it: what is read of it, or what is said of it.
#include <string>

#include "models/llm/config/hugging_face.h"

namespace weir::test {

inline Architecture read_config(const Json& config) {
  Reading reading("config.json");
  Architecture m = read_architecture(config, reading, "test");
  reading.finish();
  return m;
}

// "" where it is read.
inline std::string problems_of_config(const Json& config) {
  try {
    read_config(config);
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "";
}

inline std::string notes_of_config(const Json& config) {
  std::string all;
  for (const std::string& note : read_config(config).notes) all += note + "\n";
  return all;
}

// Sizes of llama3-8b and of deepseek-v3.
inline Json llama_config() {
  return parse_json(
      R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
      "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256, "max_position_embeddings": 8192})",
      "config.json");
}

inline Json deepseek_config() {
  return parse_json(R"({"model_type": "deepseek_v3", "hidden_size": 7168, "intermediate_size": 18432,
      "moe_intermediate_size": 2048, "num_hidden_layers": 61, "first_k_dense_replace": 3, "num_attention_heads": 128,
      "num_key_value_heads": 128, "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
      "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 256, "n_shared_experts": 1,
      "num_experts_per_tok": 8, "n_group": 8, "topk_group": 4, "max_position_embeddings": 163840,
      "vocab_size": 129280})",
                    "config.json");
}

// Sizes of Nemotron 3 Nano, without its layers.
inline Json nemotron_config() {
  return parse_json(R"({"model_type": "nemotron_h", "hidden_size": 2688, "num_attention_heads": 32,
      "num_key_value_heads": 2, "head_dim": 128, "vocab_size": 131072, "mamba_num_heads": 64, "mamba_head_dim": 64,
      "ssm_state_size": 128, "n_groups": 8, "conv_kernel": 4, "max_position_embeddings": 262144})",
                    "config.json");
}

}  // namespace weir::test
