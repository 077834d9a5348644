#include "models/llm/config/quantized_modules.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <initializer_list>
#include <regex>
#include <string_view>

namespace weir {
namespace {

constexpr std::int64_t max_layer = 1 << 20;
constexpr std::size_t longest_expression = 4096;

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

// `*` is any text, `?` any character, as fnmatch has them.
bool matches_wildcard(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && (pattern[p] == '?' || (pattern[p] != '*' && pattern[p] == text[t]))) {
      ++p, ++t;
    } else if (p < pattern.size() && pattern[p] == '*') {
      star = p++, resume = t;
    } else if (star != std::string_view::npos) {
      p = star + 1, t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

// libstdc++'s polynomial executor, as a pattern of a file must not take for ever; it refuses back-references.
// Null: it cannot be read, and means nothing.
std::shared_ptr<const std::regex> compiled(const std::string& expression) {
  if (expression.size() > longest_expression) return nullptr;
  try {
    auto syntax = std::regex::ECMAScript;
#ifdef __GLIBCXX__
    syntax |= std::regex_constants::__polynomial;
#endif
    return std::make_shared<const std::regex>(expression, syntax);
  } catch (const std::regex_error&) {
    return nullptr;
  }
}

// How long an expression is once its counts are written out, as std::regex does: a{30} is thirty a.
double written_out(const std::string& expression) {
  if (expression.size() > longest_expression) return 0;
  double length = static_cast<double>(expression.size());
  for (std::size_t at = 0; (at = expression.find('{', at)) != std::string::npos; ++at) {
    double most = 1, count = 0;
    for (std::size_t i = at + 1; i < expression.size() && expression[i] != '}'; ++i) {
      count = is_digit(expression[i]) ? 10 * count + (expression[i] - '0') : 0;
      most = std::max(most, count);
    }
    length *= most;
  }
  return length;
}

// The layer that a name is of; -1: of none.
std::int64_t layer_of(const std::string& name) {
  static const std::string layers = "layers.";
  const std::size_t at = name.find(layers);
  if (at == std::string::npos) return -1;
  std::int64_t number = -1;
  for (std::size_t i = at + layers.size(); i < name.size() && is_digit(name[i]) && number < max_layer; ++i)
    number = 10 * std::max<std::int64_t>(number, 0) + (name[i] - '0');
  return number;
}

// Experts are alike: one's name stands for all.
std::string of_first_expert(const std::string& name) {
  static const std::string experts = "experts.";
  const std::size_t at = name.find(experts);
  if (at == std::string::npos) return name;
  const std::size_t number = at + experts.size();
  std::size_t end = number;
  while (end < name.size() && is_digit(name[end])) ++end;
  return end == number ? name : name.substr(0, number) + "0" + name.substr(end);
}

std::string without_layer(const std::string& name) {
  std::string all;
  for (const char c : name)
    if (!is_digit(c)) all += c;
  return all;
}

class Layer {
 public:
  Layer(const Architecture& model, std::size_t number) : model_(model), kind_(model.layers[number]) {
    for (const char* prefix : {"model.layers.", "model.language_model.layers.",
                               "language_model.model.layers.", "backbone.layers."})
      prefixes_.push_back(prefix + std::to_string(number) + ".");
  }

  std::vector<NamedMatrix> take() {
    std::visit([&](const auto& a) { attention(a); }, kind_.attention);
    if (kind_.moe.experts > 0)
      experts(kind_.moe);
    else if (kind_.has_mlp())
      mlp(MatrixGroup::mlp, kind_.intermediate, {"mlp.", "feed_forward.", "mixer."});
    return std::move(matrices_);
  }

 private:
  using Words = std::initializer_list<const char*>;

  void add(MatrixGroup group, std::int64_t in, std::int64_t out, Words parents, Words children) {
    NamedMatrix matrix{group, static_cast<double>(in) * static_cast<double>(out), {}};
    for (const std::string& prefix : prefixes_)
      for (const char* parent : parents)
        for (const char* child : children) matrix.names.push_back(prefix + parent + child);
    matrices_.push_back(std::move(matrix));
  }

  void in_attention(std::int64_t in, std::int64_t out, Words children) {
    add(MatrixGroup::attention, in, out, {"self_attn.", "mixer."}, children);
  }

  void attention(const HeadAttention& a) {
    const std::int64_t hidden = model_.hidden, kv = a.kv_heads * a.head_dim;
    const bool own_gate = a.output_gate == OutputGate::each_head;
    in_attention(hidden, a.queries() + (own_gate ? 0 : a.gate()), {"q_proj", "qkv_proj"});
    if (own_gate) in_attention(hidden, a.gate(), {"g_proj"});
    in_attention(hidden, kv, {"k_proj", "qkv_proj"});
    if (!a.one_key_and_value) in_attention(hidden, kv, {"v_proj", "qkv_proj"});
    in_attention(a.queries(), hidden, {"o_proj", "out_proj", "dense"});
  }

  void attention(const LatentAttention& a) {
    const std::int64_t hidden = model_.hidden;
    if (a.q_rank > 0) {
      in_attention(hidden, a.q_rank, {"q_a_proj", "fused_qkv_a_proj"});
      in_attention(a.q_rank, a.heads * a.key_dim(), {"q_b_proj"});
    } else {
      in_attention(hidden, a.heads * a.key_dim(), {"q_proj"});
    }
    in_attention(hidden, a.latent(), {"kv_a_proj_with_mqa", "fused_qkv_a_proj"});
    in_attention(a.kv_rank, a.heads * (a.nope_dim + a.value_dim), {"kv_b_proj"});
    in_attention(a.heads * a.value_dim, hidden, {"o_proj"});
  }

  void attention(const LinearAttention& a) {
    if (a.gate_rank > 0) {  // Kimi calls it by attention's name
      in_attention(model_.hidden, a.convolved(), {"q_proj", "k_proj", "v_proj"});
      return in_attention(a.values(), model_.hidden, {"o_proj"});
    }
    add(MatrixGroup::attention, model_.hidden, a.convolved() + a.values(), {"linear_attn."},
        {"in_proj_qkvz", "in_proj_qkv", "in_proj_z"});
    add(MatrixGroup::attention, a.values(), model_.hidden, {"linear_attn."}, {"out_proj"});
  }

  void attention(const StateSpace& a) {
    const Words parents = {"mamba.", "mixer."};
    add(MatrixGroup::attention, model_.hidden, a.projected(), parents, {"in_proj"});
    add(MatrixGroup::attention, a.inner, model_.hidden, parents, {"out_proj"});
  }

  void attention(const HybridAttention& a) {
    attention(a.heads);
    attention(a.states);
  }

  void attention(const NoAttention&) {}

  void mlp(MatrixGroup group, std::int64_t width, Words parents) {
    if (model_.gated_mlp) add(group, model_.hidden, width, parents, {"gate_proj", "gate_up_proj", "w1"});
    add(group, model_.hidden, width, parents, {"up_proj", "gate_up_proj", "w3", "fc1"});
    add(group, width, model_.hidden, parents, {"down_proj", "w2", "fc2"});
  }

  void experts(const MixtureOfExperts& moe) {
    const bool beside = model_.mlp_beside_experts;
    beside ? routed(moe, {"experts."})
           : routed(moe,
                    {"mlp.experts.", "block_sparse_moe.experts.", "feed_forward.experts.", "mixer.experts."});
    if (moe.shared_intermediate == 0) return;
    const MatrixGroup group = MatrixGroup::shared_expert;
    beside ? mlp(group, moe.shared_intermediate, {"mlp."})
           : mlp(group, moe.shared_intermediate,
                 {"mlp.shared_experts.", "mlp.shared_expert.", "feed_forward.shared_expert.",
                  "block_sparse_moe.shared_experts.", "mixer.shared_experts."});
  }

  void routed(const MixtureOfExperts& moe, Words parents) {
    const std::int64_t all = moe.experts * moe.intermediate;
    if (model_.gated_mlp)
      add(MatrixGroup::experts, model_.hidden, all, parents, {"0.gate_proj", "0.w1", "gate_up_proj"});
    add(MatrixGroup::experts, model_.hidden, all, parents, {"0.up_proj", "0.w3", "gate_up_proj"});
    add(MatrixGroup::experts, all, model_.hidden, parents, {"0.down_proj", "0.w2", "down_proj"});
  }

  const Architecture& model_;
  const LayerKind& kind_;
  std::vector<std::string> prefixes_;
  std::vector<NamedMatrix> matrices_;
};

// Parts of a checkpoint that have no quantised matrix here: what sees and hears, what drafts, routers, norms.
bool needs_no_meaning(const std::string& text) {
  static constexpr std::array<std::string_view, 17> words = {
      "vis",  "projector", "audio",   "mtp", "eh_proj", "eagle",   "norm",    "router",     "correction",
      "gate", "embed",     "lm_head", "wte", "conv1d",  "in_proj", "indexer", "shared_head"};
  return std::ranges::any_of(words,
                             [&](std::string_view word) { return text.find(word) != std::string::npos; });
}

}  // namespace

std::vector<NamedMatrix> matrices_of_layer(const Architecture& model, std::size_t layer) {
  return Layer(model, layer).take();
}

NamedMatrix head_of(const Architecture& model) {
  return {MatrixGroup::head,
          static_cast<double>(model.vocabulary) * static_cast<double>(model.hidden),
          {"lm_head", "language_model.lm_head"}};
}

void ModuleNames::add(const std::string& pattern, int number) {
  static const std::string expression = "re:";
  const auto with = [&](Pattern::Kind kind, std::string text) {
    const bool digits = std::ranges::any_of(text, is_digit) || text.find("\\d") != std::string::npos;
    constexpr double of_compiling = 100;  // as matching a name of so many characters
    const bool regular = kind == Pattern::Kind::expression;
    const double length = regular ? written_out(text) : static_cast<double>(text.size());
    if (regular) work_ += of_compiling * length;
    const auto regex = regular && !too_much() ? compiled(text) : nullptr;
    patterns_.push_back({kind, std::move(text), number, digits, length, regex});
  };
  if (pattern == "Linear")
    with(Pattern::Kind::linear, pattern);
  else if (pattern.starts_with(expression))
    with(Pattern::Kind::expression, pattern.substr(expression.size()));
  else if (pattern.find_first_of("*?") != std::string::npos)
    with(Pattern::Kind::wildcard, pattern);
  else if (literals_.emplace(of_first_expert(pattern), std::pair(number, false)).second)
    literals_in_order_.push_back(pattern);
}

int ModuleNames::meaning(const NamedMatrix& matrix) {
  int found = -1;
  const auto take = [&](int number) {
    if (number >= 0 && (found < 0 || number < found)) found = number;
  };
  for (const std::string& name : matrix.names) take(literal(name));
  for (Pattern& pattern : patterns_)
    for (const std::string& name : matrix.names)
      if (means(pattern, name)) {
        pattern.used = true;
        take(pattern.number);
        break;
      }
  return found;
}

// Any part of a name that begins and ends at its dots: "self_attn", "model.layers.0", "mlp.down_proj".
int ModuleNames::literal(const std::string& name) {
  if (literals_.empty()) return -1;
  int found = -1;
  for (std::size_t begin = 0; begin != std::string::npos;) {
    for (std::size_t end = name.find('.', begin);; end = name.find('.', end + 1)) {
      const std::size_t length = end == std::string::npos ? end : end - begin;
      const auto known = literals_.find(name.substr(begin, length));
      if (known != literals_.end()) {
        known->second.second = true;
        if (found < 0 || known->second.first < found) found = known->second.first;
      }
      if (end == std::string::npos) break;
    }
    begin = name.find('.', begin);
    if (begin != std::string::npos) ++begin;
  }
  return found;
}

bool ModuleNames::means(Pattern& pattern, const std::string& name) {
  if (pattern.kind == Pattern::Kind::linear) return true;
  if (too_much()) return false;
  const std::string key = pattern.by_digits ? name : without_layer(name);
  const auto known = pattern.known.find(key);
  work_ += static_cast<double>(name.size()) * (known == pattern.known.end() ? pattern.length : 1);
  if (known != pattern.known.end()) return known->second;
  bool matches = false;
  if (pattern.kind == Pattern::Kind::wildcard)
    matches = matches_wildcard(pattern.text, name) || matches_wildcard(pattern.text + ".*", name);
  else if (pattern.expression)  // Python's re.match: from the beginning, not up to the end
    matches = std::regex_search(name, *pattern.expression, std::regex_constants::match_continuous);
  return pattern.known[key] = matches;
}

std::vector<std::string> ModuleNames::without_meaning(std::int64_t layers) const {
  std::vector<std::string> names;
  const auto tell = [&](const std::string& name) {
    if (!needs_no_meaning(name) && layer_of(name) < layers) names.push_back(name);
  };
  for (const std::string& name : literals_in_order_)
    if (!literals_.at(of_first_expert(name)).second) tell(name);
  for (const Pattern& pattern : patterns_)
    if (!pattern.used && pattern.kind != Pattern::Kind::linear) tell(pattern.text);
  return names;
}

}  // namespace weir
