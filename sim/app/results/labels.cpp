#include "sim/app/results/labels.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace weir {
namespace {

std::vector<std::string> parts_of(const std::string& pointer) {
  std::vector<std::string> parts;
  for (const char c : pointer)
    if (c == '/')
      parts.emplace_back();
    else if (!parts.empty())
      parts.back() += c;
  return parts;
}

bool is_index(const std::string& part) {
  return !part.empty() &&
         std::all_of(part.begin(), part.end(), [](unsigned char c) { return std::isdigit(c); });
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

std::string short_name(const std::string& pointer) {
  std::vector<std::string> parts = parts_of(pointer);
  while (parts.size() > 1 && (is_index(parts.back()) || parts.back() == "kind" || parts.back() == "count"))
    parts.pop_back();
  return parts.empty() ? pointer : parts.back();
}

std::string value_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number()) return fmt::format("{:.6g}", value.get<double>());
  if (value.is_object())
    for (const char* key : {"name", "kind", "file"})
      if (value.contains(key) && value[key].is_string()) return value[key].get<std::string>();
  const std::string text = value.dump();
  return text.size() <= 24 ? text : text.substr(0, 21) + "...";
}

bool is_layout(const std::string& pointer) {
  return !rank_name(pointer).empty();
}

namespace {

enum class Keys { named, brief };

std::string label(const Varied& varied, Keys keys) {
  std::string ranks, rest, first_rank;
  for (const auto& [pointer, value] : varied) {
    const std::string rank = rank_name(pointer);
    if (!rank.empty()) {
      if (first_rank.empty() || rank == "TP") first_rank = rank + value_text(value);
      if (value != 1) ranks += (ranks.empty() ? "" : " ") + rank + value_text(value);
      continue;
    }
    const std::string words = keys == Keys::brief || value.is_string() || value.is_object()
                                  ? value_text(value)
                                  : short_name(pointer) + " " + value_text(value);
    rest += (rest.empty() ? "" : ", ") + words;
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

const Json* value_of(const Varied& varied, const std::string& pointer) {
  for (const auto& [at, value] : varied)
    if (at == pointer) return &value;
  return nullptr;
}

}  // namespace weir
