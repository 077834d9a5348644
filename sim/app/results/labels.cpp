#include "sim/app/results/labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/algorithm/string/replace.hpp>
#include <map>
#include <string_view>

namespace weir {
namespace {

using Words = std::vector<std::string>;

// Keys that many objects have: they need their parent beside them.
constexpr std::array vague = {"count", "kind", "name",  "file",   "mean",  "std",
                              "max",   "min",  "input", "output", "tokens"};

Words words_of(const std::string& pointer) {
  Words words;
  for (std::size_t at = 0; at < pointer.size();) {
    const std::size_t end = std::min(pointer.find('/', at + 1), pointer.size());
    std::string word = pointer.substr(at + 1, end - at - 1);
    boost::replace_all(word, "~1", "/");
    boost::replace_all(word, "~0", "~");
    words.push_back(std::move(word));
    at = end;
  }
  return words;
}

bool is_index(std::string_view word) {
  return !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos;
}

Words without_indices(const Words& words) {
  Words kept;
  std::copy_if(words.begin(), words.end(), std::back_inserter(kept),
               [](const std::string& w) { return !is_index(w); });
  return kept.empty() ? words : kept;
}

std::string last(const Words& words, std::size_t count) {
  std::string name;
  for (std::size_t i = words.size() - std::min(count, words.size()); i < words.size(); ++i)
    name += (name.empty() ? "" : "/") + words[i];
  return name;
}

std::size_t words_needed(const Words& words) {
  const bool says_little =
      !words.empty() && std::find(vague.begin(), vague.end(), words.back()) != vague.end();
  return says_little ? 2 : 1;
}

// Lengthens every name that another one has as well; false where that cannot tell all of them apart.
bool told_apart(const std::vector<Words>& all, std::vector<std::string>& names) {
  std::vector<std::size_t> lengths;
  std::size_t longest = 0;
  for (const Words& words : all) {
    lengths.push_back(words_needed(words));
    longest = std::max(longest, words.size());
  }
  for (std::size_t round = 0; round <= longest; ++round) {
    std::map<std::string, int> uses;
    for (std::size_t i = 0; i < all.size(); ++i) ++uses[names[i] = last(all[i], lengths[i])];
    bool unique = true;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (uses[names[i]] > 1) {
        ++lengths[i];
        unique = false;
      }
    if (unique) return true;
  }
  return false;
}

// "TP" of /serving/replicas/0/parallelism/tensor; "" of any other key.
std::string rank_name(const std::string& pointer) {
  if (pointer.ends_with("/parallelism/tensor")) return "TP";
  if (pointer.ends_with("/parallelism/pipeline")) return "PP";
  if (pointer.ends_with("/parallelism/expert")) return "EP";
  if (pointer.starts_with("/serving/replicas/") && pointer.ends_with("/count")) return "DP";
  return "";
}

}  // namespace

std::vector<std::string> short_names(const std::vector<std::string>& pointers) {
  std::vector<Words> whole, plain;
  for (const std::string& pointer : pointers) {
    whole.push_back(words_of(pointer));
    plain.push_back(without_indices(whole.back()));
  }
  std::vector<std::string> names(pointers.size());
  if (!told_apart(plain, names)) told_apart(whole, names);
  return names;
}

namespace {

std::string without_kind(const std::string& name) {
  return name.ends_with("/kind") || name.ends_with("/count") ? name.substr(0, name.rfind('/')) : name;
}

std::vector<std::string> names_of(const Varied& varied) {
  std::vector<std::string> pointers;
  for (const auto& [pointer, value] : varied) pointers.push_back(pointer);
  return short_names(pointers);
}

}  // namespace

std::string short_name(const std::string& pointer) {
  return without_kind(short_names({pointer})[0]);
}

std::string value_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return fmt::format("{:.6g}", value.get<double>());
  if (value.is_object())
    for (const char* key : {"name", "kind", "file"})
      if (value.contains(key) && value[key].is_string())
        return value[key].get<std::string>() + (value.contains("tokens") ? " " + value["tokens"].dump() : "");
  const std::string text = value.dump();
  return text.size() <= 24 ? text : text.substr(0, 21) + "...";
}

bool is_layout(const std::string& pointer) {
  return !rank_name(pointer).empty();
}

namespace {

enum class Keys { named, brief };

// A word says by itself of which key it is, unless another key has the same one; a number does not.
std::string value_in_label(const Varied& varied, std::size_t which, Keys keys) {
  const Json& value = varied[which].second;
  const std::string text = value_text(value);
  const auto is_alike = [&](const auto& other) { return value_text(other.second) == text; };
  const bool tells = (value.is_string() || value.is_object()) && std::ranges::count_if(varied, is_alike) == 1;
  return keys == Keys::brief || tells ? text : without_kind(names_of(varied)[which]) + " " + text;
}

std::string label(const Varied& varied, Keys keys) {
  std::string ranks, rest, first_rank;
  for (std::size_t i = 0; i < varied.size(); ++i) {
    const auto& [pointer, value] = varied[i];
    const std::string rank = rank_name(pointer);
    if (!rank.empty()) {
      if (first_rank.empty() || rank == "TP") first_rank = rank + value_text(value);
      if (value != 1) ranks += (ranks.empty() ? "" : " ") + rank + value_text(value);
      continue;
    }
    rest += (rest.empty() ? "" : ", ") + value_in_label(varied, i, keys);
  }
  if (ranks.empty()) ranks = first_rank;
  return ranks + (ranks.empty() || rest.empty() ? "" : ", ") + rest;
}

Varied only(const Varied& varied, const std::vector<std::string>& pointers) {
  Varied some;
  for (const auto& one : varied)
    if (std::find(pointers.begin(), pointers.end(), one.first) != pointers.end()) some.push_back(one);
  return some;
}

}  // namespace

std::string label_of(const Varied& varied) {
  return label(varied, Keys::named);
}

std::string label_of(const Varied& varied, const std::vector<std::string>& pointers) {
  return label(only(varied, pointers), Keys::named);
}

std::string brief_label_of(const Varied& varied, const std::vector<std::string>& pointers) {
  return label(only(varied, pointers), Keys::brief);
}

std::string in_words(const Varied& varied) {
  const std::vector<std::string> names = names_of(varied);
  std::string text;
  for (std::size_t i = 0; i < varied.size(); ++i)
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", shortened(names[i]),
                        shortened(value_text(varied[i].second)));
  return text;
}

const Json* value_of(const Varied& varied, const std::string& pointer) {
  for (const auto& [at, value] : varied)
    if (at == pointer) return &value;
  return nullptr;
}

}  // namespace weir
