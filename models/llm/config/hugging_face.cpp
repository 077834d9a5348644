#include "models/llm/config/hugging_face.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "models/llm/config/config_reader.h"

namespace weir {
namespace {

// Objects of a larger model's file that hold its language model.
constexpr const char* parts[] = {"text_config", "llm_config", "language_config", "language_model_config"};

// Keys of encoders of images and sound, which are not simulated.
constexpr const char* towers[] = {"vision_config",   "audio_config",  "visual",          "vision_tower",
                                  "vit_config",      "vlm_config",    "mm_vision_tower", "img_processor",
                                  "audio_processor", "embd_layer",    "aligner_config",  "projector_config",
                                  "speech_config",   "encoder_config"};

struct File {
  Params& outermost;
  Params& text;      // the outermost, or its part
  std::string part;  // its key
};

// A class that makes no text says so by how a word of `architectures` ends; for a model that no row knows.
std::string purpose_of(const File& file) {
  static const std::map<std::string, const char*> purposes = {
      {"ForMaskedLM", "fills in masked words"},     {"ForMaskedImageModeling", "fills in images"},
      {"ForSequenceClassification", "sorts texts"}, {"ForTokenClassification", "sorts words"},
      {"ForQuestionAnswering", "finds answers"},    {"ForMultipleChoice", "sorts texts"},
      {"ImageClassification", "sorts images"},      {"ForAudioClassification", "sorts sounds"},
      {"ForObjectDetection", "finds objects"},      {"ForSemanticSegmentation", "sorts pixels"}};
  const Json* classes =
      file.outermost.has("architectures") ? file.outermost.value({"architectures", ""}, {}) : nullptr;
  if (!classes || !classes->is_array()) return "";
  for (const Json& name : *classes)
    for (const auto& [end, purpose] : purposes)
      if (name.is_string() && name.get_ref<const std::string&>().ends_with(end))
        return fmt::format("its class, {}, {}, and generates no tokens: Weir simulates decoders alone",
                           shortened(name.get_ref<const std::string&>(), 60), purpose);
  return "";
}

std::string why_unknown(const File& file, const std::string& wanted) {
  const std::string purpose = purpose_of(file);
  if (!purpose.empty())
    return fmt::format("no such model_type (got \"{}\"): {}", shortened(wanted, 60), purpose);
  return fmt::format(
      "no such model_type (got \"{}\", known: {}); a file of a model with the layers of one of these can be "
      "given its model_type",
      shortened(wanted, 60), fmt::join(family_names(), ", "));
}

const Family* family_of(const File& file) {
  const bool of_the_whole = !file.part.empty() && !file.text.has("model_type");
  Params& where = of_the_whole ? file.outermost : file.text;
  const Json* given = where.value({"model_type", ""}, {});
  if (!given) return nullptr;
  if (!given->is_string()) {
    where.fail("model_type", fmt::format("expected one of {}", fmt::join(family_names(), ", ")));
    return nullptr;
  }
  const auto& wanted = given->get_ref<const std::string&>();
  const Family* family = family_named(wanted);
  if (family && family->refused.empty()) return family;
  where.fail("model_type",
             family ? fmt::format("{} {}", wanted, family->refused) : why_unknown(file, wanted));
  return nullptr;
}

void note_towers(const File& file, Draft& m) {
  std::vector<std::string> left_out;
  for (const char* key : towers)
    if (file.outermost.has(key) && file.outermost.value({key, ""}, {})) left_out.emplace_back(key);
  if (left_out.empty() && file.part.empty()) return;
  m.notes.push_back(fmt::format("only its language model{} is simulated{}",
                                file.part.empty() ? "" : fmt::format(", its {},", file.part),
                                left_out.empty()
                                    ? ""
                                    : fmt::format("; what sees or hears, as a vision tower, is left out: {}",
                                                  fmt::join(left_out, ", "))));
}

void note_unread(std::vector<std::string> keys, const char* of, Draft& m) {
  std::ranges::sort(keys);
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  constexpr std::size_t most = 40;
  const std::size_t more = keys.size() > most ? keys.size() - most : 0;
  keys.resize(keys.size() - more);
  for (std::string& key : keys) key = shortened(key, 60);
  if (!keys.empty())
    m.notes.push_back(fmt::format("{} has keys that are not read, and that may change the model: {}{}", of,
                                  fmt::join(keys, ", "), more > 0 ? fmt::format(" and {} more", more) : ""));
}

// The tokens that a step's embedding is tied over: of the part, or of the whole (older files).
bool tied(ConfigReader& c, Params& outermost, bool part) {
  const char* key = "tie_word_embeddings";
  if (part && !c.in_file(key) && outermost.has(key)) return outermost.flag({key, ""});
  return c.flag(key, true);  // PretrainedConfig's
}

// Latents have no KV heads, and head sizes of their own.
void check_heads(ConfigReader& c, const Draft& m) {
  if (!c.has("head_dim") && m.hidden % m.heads.query_heads != 0)
    c.fail("num_attention_heads",
           fmt::format("{} heads do not divide a hidden_size of {}, and there is no head_dim",
                       m.heads.query_heads, m.hidden));
  if (m.layers_attend) return;
  for (const LayerKind& layer : m.layers)
    if (const HeadCounts heads = heads_of(layer.attention); heads.kv > 0 && heads.query % heads.kv != 0)
      return c.fail("num_key_value_heads",
                    fmt::format("{} KV heads do not divide {} attention heads", heads.kv, heads.query));
}

void read_family(const File& file, const Family& family, Draft& m, bool strict) {
  const bool part = !file.part.empty();
  ConfigReader c(file.text, family, part);
  read_sizes(c, m);
  reader_named(family.reader)(c, m);
  m.tied_embeddings = tied(c, file.outermost, part);
  m.embedding_norm = c.flag("embedding_norm", false);
  give_layers_their_attention(c, m);
  if (!m.latent) check_heads(c, m);
  if (!family.note.empty()) m.notes.push_back(family.note);
  if (!c.taken().empty())
    m.notes.push_back(fmt::format("{} leaves out what is a default of {}: {}", file.part, family.class_name,
                                  fmt::join(c.taken(), ", ")));
  if (strict) return;
  std::vector<std::string> unread = c.unread();
  if (part)
    for (const std::string& key : file.outermost.unread())
      if (!is_harmless(family, key)) unread.push_back(key);
  note_unread(std::move(unread), "config.json", m);
}

void read_file(const File& file, Draft& m, bool strict) {
  if (file.outermost.has("is_encoder_decoder") && file.outermost.flag({"is_encoder_decoder", ""}))
    return file.outermost.fail("is_encoder_decoder",
                               "is true: Weir simulates decoders alone, and no encoder beside one");
  note_towers(file, m);
  if (const Family* family = family_of(file)) read_family(file, *family, m, strict);
}

}  // namespace

ReadFamily reader_named(const std::string& name) {
  static const std::map<std::string, ReadFamily> readers = {{"bailing_moe_linear", bailing_moe_linear},
                                                            {"bamba", bamba},
                                                            {"deci", deci},
                                                            {"deepseek", deepseek},
                                                            {"dense", dense},
                                                            {"experts", experts},
                                                            {"falcon", falcon},
                                                            {"falcon_h1", falcon_h1},
                                                            {"gemma4", gemma4},
                                                            {"gpt_oss", gpt_oss},
                                                            {"jamba", jamba},
                                                            {"kimi_linear", kimi_linear},
                                                            {"laguna", laguna},
                                                            {"lfm2", lfm2},
                                                            {"llama4", llama4},
                                                            {"mamba", mamba},
                                                            {"mamba2", mamba2},
                                                            {"minimax_01", minimax_01},
                                                            {"minimax_m2", minimax_m2},
                                                            {"nemotron_h", nemotron_h},
                                                            {"olmo_hybrid", olmo_hybrid},
                                                            {"opt", opt},
                                                            {"phi3small", phi3small},
                                                            {"qwen3_5", qwen3_5},
                                                            {"step3p5", step3p5}};
  const auto found = readers.find(name);
  return found == readers.end() ? nullptr : found->second;
}

Architecture read_architecture(const Json& config, Reading& reading, std::string name, bool strict) {
  constexpr const char* quantization_key = "quantization_config";
  Draft m;
  m.name = std::move(name);
  Params outermost(reading, config);
  const auto close = [&](Params& p) { strict ? p.close() : p.close_ignoring_rest(); };
  const auto read = [&](Params& file) {
    const auto part = std::ranges::find_if(parts, [&](const char* key) { return file.has(key); });
    if (part == std::end(parts)) return read_file({file, file, ""}, m, strict);
    Params text = file.object({*part, ""});
    read_file({file, text, *part}, m, strict);
    if (!outermost.has(quantization_key)) read_quantization(text, quantization_key, m);
    close(text);
  };
  if (outermost.has("thinker_config")) {  // Qwen's models that hear and speak: the rest makes speech
    Params thinker = outermost.object({"thinker_config", ""});
    m.notes.emplace_back("only its thinker_config is simulated: it makes text, and no speech");
    read(thinker);
    close(thinker);
  } else {
    read(outermost);
  }
  read_quantization(outermost, quantization_key, m);
  close(outermost);
  return m;
}

}  // namespace weir
