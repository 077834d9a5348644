#include "models/llm/config/quantization.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>

#include "models/llm/architecture.h"
#include "models/llm/config/quantization_methods.h"
#include "models/llm/config/quantized_modules.h"

namespace weir {
namespace {

constexpr std::array<MatrixGroup, 4> groups_of_layers = {MatrixGroup::attention, MatrixGroup::mlp,
                                                         MatrixGroup::experts, MatrixGroup::shared_expert};

std::size_t index_of(MatrixGroup group) {
  return static_cast<std::size_t>(group);
}

// Applies rules to the matrices of every layer: a group of a layer is as the greater part of it is.
class Applied {
 public:
  Applied(const QuantizationRules& rules, Architecture& model) : rules_(rules), model_(model) {
    for (const std::string& name : rules.ignored) ignored_.add(name, 0);
    for (std::size_t i = 0; i < rules.targets.size(); ++i)
      for (const std::string& name : rules.targets[i].first) targets_.add(name, static_cast<int>(i));
  }

  Precision types() {
    for (std::size_t i = 0; i < model_.layers.size(); ++i) read_layer(i);
    const int head = rule_of(head_of(model_));
    Precision made = of_groups();
    if (head >= 0 && rules_.head && !model_.tied_embeddings)
      made.groups[index_of(MatrixGroup::head)] = types_of(head);
    made.kv_cache = rules_.kv_cache.value_or(DataType::bf16);
    notes();
    return made;
  }

  bool too_much() const { return ignored_.too_much() || targets_.too_much(); }

  // "experts int4 in groups of 32 (0.5625 B), attention bf16"
  std::string words(const Precision& made) const {
    std::map<std::string, std::vector<const char*>> by_type;
    for (const MatrixGroup group : groups_of_layers)
      if (!elements_[index_of(group)].empty())
        by_type[words_of(made.of(group).weights)].push_back(name_of(group));
    by_type[words_of(made.of(MatrixGroup::head).weights)].push_back(name_of(MatrixGroup::head));
    by_type[words_of(made.of(MatrixGroup::embedding).weights)].push_back(name_of(MatrixGroup::embedding));
    std::vector<std::string> parts;
    for (const auto& [type, groups] : by_type)
      parts.push_back(fmt::format("{} {}", fmt::join(groups, ", "), type));
    return fmt::format("{}", fmt::join(parts, "; "));
  }

 private:
  static constexpr int wide = -1;  // 16 bits

  static std::string words_of(const StoredType& type) {
    return fmt::format("{} ({:.6g} B)", to_string(type), bytes_per_element(type));
  }

  MatrixTypes types_of(int rule) const {
    return rule == wide ? MatrixTypes{} : rules_.targets[static_cast<std::size_t>(rule)].second;
  }

  int rule_of(const NamedMatrix& matrix) {
    const int target = targets_.meaning(matrix);
    if (ignored_.meaning(matrix) >= 0) return wide;
    if (rules_.experts_alone && matrix.group != MatrixGroup::experts) return wide;
    return target;
  }

  using Elements = std::map<int, double>;  // by rule

  static int greatest(const Elements& elements) {
    return std::ranges::max_element(elements, {}, [](const auto& of) { return of.second; })->first;
  }

  void read_layer(std::size_t number) {
    std::array<Elements, matrix_groups> here;
    for (const NamedMatrix& matrix : matrices_of_layer(model_, number))
      here[index_of(matrix.group)][rule_of(matrix)] += matrix.elements;
    for (const MatrixGroup group : groups_of_layers) {
      const Elements& of = here[index_of(group)];
      if (of.empty()) continue;
      if (differ(of)) split_ |= only(group);
      double all = 0;
      for (const auto& [rule, elements] : of) all += elements;
      const int most = greatest(of);
      elements_[index_of(group)][most] += all;
      if (most == wide) model_.layers[number].wide |= only(group);
    }
  }

  bool differ(const Elements& of) const {
    return std::ranges::any_of(
        of, [&](const auto& each) { return types_of(each.first) != types_of(of.begin()->first); });
  }

  // The type of most of a group that is quantised in some layer.
  std::optional<MatrixTypes> quantised_type(MatrixGroup group) {
    Elements of = elements_[index_of(group)];
    of.erase(wide);
    if (of.empty()) return {};
    if (differ(of)) uneven_ |= only(group);
    return types_of(greatest(of));
  }

  Precision of_groups() {
    std::array<std::optional<MatrixTypes>, matrix_groups> of;
    std::vector<MatrixTypes> all;
    for (const MatrixGroup group : groups_of_layers) {
      if (elements_[index_of(group)].empty()) continue;
      const auto type = of[index_of(group)] = quantised_type(group);
      all.push_back(type.value_or(MatrixTypes{}));
    }
    Precision made;
    made.by_layer = all_groups;
    if (std::ranges::all_of(all, [&](const MatrixTypes& each) { return each == all.front(); })) {
      made.weights = all.front().weights;
      made.activations = all.front().activations;
      return made;
    }
    for (const MatrixGroup group : groups_of_layers) {
      if (!of[index_of(group)]) continue;
      if (group == MatrixGroup::experts) {
        made.expert_weights = of[index_of(group)]->weights;
        made.expert_activations = of[index_of(group)]->activations;
      } else {
        made.groups[index_of(group)] = of[index_of(group)];
      }
    }
    return made;
  }

  void notes() {
    for (const MatrixGroup group : groups_of_layers) {
      if ((split_ & only(group)) != 0)
        model_.notes.push_back(
            fmt::format("its quantization_config has matrices of several types in {}: each "
                        "layer's are of the type of most of it",
                        name_of(group)));
      if ((uneven_ & only(group)) != 0)
        model_.notes.push_back(
            fmt::format("its quantization_config has other types for {} in some layers: "
                        "all have that of most",
                        name_of(group)));
    }
    std::vector<std::string> unknown = ignored_.without_meaning(model_.layer_count());
    for (const std::string& name : targets_.without_meaning(model_.layer_count())) unknown.push_back(name);
    if (unknown.empty()) return;
    constexpr std::size_t most = 5;
    const std::size_t more = unknown.size() - std::min(unknown.size(), most);
    unknown.resize(std::min(unknown.size(), most));
    for (std::string& name : unknown) name = shortened(name, 60);
    model_.notes.push_back(
        fmt::format("its quantization_config names modules that are none of its matrices "
                    "here: {}{}",
                    fmt::join(unknown, ", "), more > 0 ? fmt::format(" and {} more", more) : ""));
  }

  const QuantizationRules& rules_;
  Architecture& model_;
  ModuleNames ignored_, targets_;
  std::array<Elements, matrix_groups> elements_;
  GroupSet split_ = 0, uneven_ = 0;
};

}  // namespace

void read_quantization(Params& config, const char* key, Architecture& model) {
  if (!config.has(key)) return;
  Params p = config.object({key, ""});
  const QuantizationRules rules = read_quantization_rules(p);
  p.close_ignoring_rest();
  for (const std::string& note : rules.notes) model.notes.push_back(note);
  Quantization& made = model.quantization.emplace(Quantization{shortened(rules.method, 60)});
  if (!rules.read) {
    model.notes.push_back(
        fmt::format("its {} is of a quant_method that is not read, \"{}\" (known: {}): "
                    "weights are of the scenario's precision",
                    key, made.method, quantization_methods()));
    return;
  }
  if (rules.wrong || model.layers.empty()) return;
  Applied applied(rules, model);
  made.types = applied.types();
  if (applied.too_much())
    return config.fail(key,
                       "its wildcards and regular expressions would take minutes to compare with the names "
                       "of the model's matrices");
  model.notes.push_back(fmt::format("its {} ({}) is read: {}{}", key, made.method, applied.words(*made.types),
                                    rules.kv_cache ? "; KV cache " + to_string(*rules.kv_cache) : ""));
}

Json quantization_config_of(const Json& hf_quant_config) {
  const auto inner = hf_quant_config.find("quantization");
  Json config = inner != hf_quant_config.end() && inner->is_object() ? *inner : hf_quant_config;
  config["quant_method"] = "modelopt";
  return config;
}

}  // namespace weir
