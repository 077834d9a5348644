#pragma once
// The reader that families of config.json share: shared by families.cpp, hugging_face.cpp,
// plain_families.cpp, expert_layers.cpp, uneven_families.cpp, frontier_families.cpp, hybrid_families.cpp and
// layer_types.cpp, used by nothing else. It finds a key by any of its names, and takes what a family's row
// (families/*.json) says where the file says nothing.
#include <list>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "models/llm/architecture.h"
#include "models/llm/config/families.h"

namespace weir {

// Bounds far above any model, low enough that a parameter count stays within 64 bits.
constexpr std::int64_t max_layers = 1 << 12, max_experts = 1 << 10, max_heads = 1 << 12;
constexpr std::int64_t max_head_dim = 1 << 14, max_width = 1 << 18;
constexpr std::int64_t max_intermediate = 1 << 20, max_vocabulary = 1 << 24,
                       max_positions = std::int64_t{1} << 32;

// The result that a family fills. Layers attend with `latent` where it is given, else with `heads`, unless
// their type (layer_types.cpp) says otherwise.
struct Draft : Architecture {
  HeadAttention heads;
  HeadAttention heads_in_windows = {};         // of layers of sliding_attention; without heads: as the others
  std::vector<std::int64_t> query_heads = {};  // by layer, where the file lists them
  std::optional<LatentAttention> latent = {};
  // Kinds, not structs: GCC 12.2 at -O3 drops the end of a struct that it copies into the variant of a layer.
  std::optional<AttentionKind> linear = {};  // layers of linear_attention
  std::optional<AttentionKind> states = {};  // layers of mamba
  std::optional<AttentionKind> hybrid = {};  // layers of both at once
  std::vector<std::string> layer_types =
      {};                                // where the file has no layer_types; none: all are full_attention
  std::vector<bool> has_indexer = {};    // by layer, where attention is latent; empty: all have one
  bool rotary_in_windows_alone = false;  // Llama 4: layers that attend to everything have no positions
  bool layers_attend = false;            // the family has given them their attention already
};

class ConfigReader {
 public:
  // A `part` of a larger model's file leaves out what is its class's default.
  ConfigReader(Params& file, const Family& family, bool part);

  const std::string& family() const { return family_.name; }
  Params& file() { return file_; }
  // By any name in the file and not null, or given by the family.
  bool has(const char* key) { return find(key).has_value(); }
  bool in_file(const char* key);
  std::int64_t size(const char* key, std::int64_t max);  // from 1; required
  std::int64_t size(const char* key, std::int64_t max, std::int64_t fallback);
  std::int64_t count(const char* key, std::int64_t max, std::int64_t fallback);  // from 0
  bool flag(const char* key, bool fallback);
  double share(const char* key, double fallback);  // above 0, up to 1
  bool automatic(const char* key);                 // is the text "auto"
  std::string word(const char* key, const std::vector<std::string>& known, const std::string& fallback);
  bool text_given(const char* key);
  std::string text(const char* key, const std::string& fallback);
  std::vector<std::string> words(const char* key);  // a list, or a text's letters; empty without the key
  std::vector<std::int64_t> numbers(const char* key, Range<std::int64_t> range);  // empty without the key
  bool list_given(const char* key);
  std::vector<bool> flags(const char* key);  // a list of true and false or 1 and 0; empty where it is none
  std::optional<Params> object(const char* key);        // an object of the file's
  void fail(const char* key, const std::string& what);  // at the name that the file has for it

  // Keys of the file that are neither read nor known to be harmless, for a note. A key that tells of layers
  // is reported as a problem instead.
  std::vector<std::string> unread();
  // Defaults of the class that were taken, as "key value".
  const std::vector<std::string>& taken() const { return taken_; }

 private:
  struct Found {
    Params* in;
    std::string name;
    const Json* value;
  };
  std::optional<Found> find(const char* key);
  std::int64_t integer(const Found& found, Range<std::int64_t> range, std::int64_t fallback);

  const Family& family_;
  bool part_;
  std::list<Params> nested_;
  std::vector<Params*> places_;  // objects of the file that hold the model's keys, the outermost first
  Json own_;                     // what the family says
  std::optional<Params> of_family_;
  std::set<std::string> told_;  // keys with names that contradict each other
  std::vector<std::string> taken_;
  Params& file_;
};

// Parts that families share.
void read_sizes(ConfigReader& c, Draft& m);
void read_positions(ConfigReader& c, Draft& m);
void read_biases(ConfigReader& c, Draft& m);
void read_rotary(ConfigReader& c, Draft& m);
double rotary_share(ConfigReader& c);
MixtureOfExperts read_experts(ConfigReader& c, const Draft& m);
std::vector<bool> layers_with_experts(ConfigReader& c, const Draft& m);
// In those layers that the file's keys say; the others have a dense MLP.
void give_layers_their_mlp(ConfigReader& c, Draft& m, const MixtureOfExperts& moe);
void note_draft_layers(ConfigReader& c, Draft& m, const char* key);
// Every `period`-th layer is of the other type.
std::vector<std::string> every(std::int64_t period, const std::string& other, const std::string& usual,
                               std::int64_t layers);

// Families by their reader's name; null if there is none. A file's model_type is one of many rows that say
// which reader they are like.
using ReadFamily = void (*)(ConfigReader&, Draft&);
ReadFamily reader_named(const std::string& name);

void dense(ConfigReader& c, Draft& m);
void experts(ConfigReader& c, Draft& m);
void falcon(ConfigReader& c, Draft& m);
void opt(ConfigReader& c, Draft& m);
void phi3small(ConfigReader& c, Draft& m);
void deci(ConfigReader& c, Draft& m);

void deepseek(ConfigReader& c, Draft& m);
void gemma4(ConfigReader& c, Draft& m);
void gpt_oss(ConfigReader& c, Draft& m);
void laguna(ConfigReader& c, Draft& m);
void llama4(ConfigReader& c, Draft& m);
void minimax_m2(ConfigReader& c, Draft& m);
void qwen3_5(ConfigReader& c, Draft& m);
void step3p5(ConfigReader& c, Draft& m);

void bailing_moe_linear(ConfigReader& c, Draft& m);
void bamba(ConfigReader& c, Draft& m);
void falcon_h1(ConfigReader& c, Draft& m);
void jamba(ConfigReader& c, Draft& m);
void kimi_linear(ConfigReader& c, Draft& m);
void lfm2(ConfigReader& c, Draft& m);
void mamba(ConfigReader& c, Draft& m);
void mamba2(ConfigReader& c, Draft& m);
void minimax_01(ConfigReader& c, Draft& m);
void nemotron_h(ConfigReader& c, Draft& m);
void olmo_hybrid(ConfigReader& c, Draft& m);

// Gives each layer its attention.
void give_layers_their_attention(ConfigReader& c, Draft& m);

}  // namespace weir
