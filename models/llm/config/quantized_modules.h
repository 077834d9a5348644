#pragma once
// Which of a model's matrices the module names of a quantization_config mean: names, parts of names,
// wildcards and regular expressions ("re:..."), as vLLM and the transformers library write them. Used by
// quantization.cpp alone.
#include <memory>
#include <regex>
#include <string>
#include <unordered_map>
#include <vector>

#include "models/llm/architecture.h"

namespace weir {

// A matrix of a layer as checkpoints name it, or one outside of layers.
struct NamedMatrix {
  MatrixGroup group;
  double elements;
  std::vector<std::string> names;  // spellings, each whole: model.layers.3.mlp.down_proj
};
std::vector<NamedMatrix> matrices_of_layer(const Architecture& model, std::size_t layer);
NamedMatrix head_of(const Architecture& model);

// A list of module names, each with a number that the caller gives it.
class ModuleNames {
 public:
  // "Linear", the class, means every linear layer, and the LM head with it.
  void add(const std::string& pattern, int number);
  // The number of the first pattern that means one of these names; -1: none does.
  int meaning(const NamedMatrix& matrix);
  // Patterns that have meant no matrix and are not of parts that are not simulated (vision, drafts, layers
  // behind the last) nor of those that are never quantised (routers, norms).
  std::vector<std::string> without_meaning(std::int64_t layers) const;
  // Wildcards and expressions would take minutes: none has a meaning any more.
  bool too_much() const { return work_ > most_work; }

 private:
  struct Pattern {
    enum class Kind { linear, wildcard, expression } kind;
    std::string text;
    int number;
    bool by_digits;  // what it means may follow the number of a layer
    double length;   // with its counts written out
    std::shared_ptr<const std::regex> expression;
    bool used = false;
    std::unordered_map<std::string, bool> known =
        {};  // by name, layer numbers left out where they do not matter
  };
  // In characters of a pattern times those of a name: a second or two. ESTIMATE: 300 wildcards of 20
  // characters, of which some published checkpoints come near, are 7e8 over 61 layers.
  static constexpr double most_work = 2e9;
  bool means(Pattern& pattern, const std::string& name);
  int literal(const std::string& name);

  std::unordered_map<std::string, std::pair<int, bool>> literals_;  // number, used
  std::vector<std::string> literals_in_order_;
  std::vector<Pattern> patterns_;
  double work_ = 0;
};

}  // namespace weir
