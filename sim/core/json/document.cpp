#include "sim/core/json/document.h"

#include <fmt/format.h>

#include "sim/core/errors.h"

namespace weir {

// A container stays where it is while it is open: what is added meanwhile goes into it or below it.
DocumentBuilder::Document* DocumentBuilder::add(Document v) {
  if (open_.empty()) return &(result_ = std::move(v));
  Document& container = *open_.back().container;
  if (container.is_array()) {
    container.push_back(std::move(v));
    return &container.back();
  }
  auto& members = container.get_ref<Document::object_t&>();
  members.Container::emplace_back(std::move(key_), std::move(v));
  return &members.Container::back().second;
}

bool DocumentBuilder::open(Document container) {
  if (open_.size() == max_json_depth) throw TooDeep();
  Document* added = add(std::move(container));
  open_.push_back({added, {}});
  return true;
}

bool DocumentBuilder::key(string_t& name) {
  auto& keys = open_.back().keys;
  if (keys.size() == most_keys) throw BadDocument(fmt::format("more than {} keys in one object", most_keys));
  if (!keys.insert(name).second)
    throw BadDocument(fmt::format("the key \"{}\" is given twice in one object", shortened(name)));
  key_ = std::move(name);
  return true;
}

bool DocumentBuilder::parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& e) {
  std::string what = e.what();
  if (const auto from = what.find("] "); from != std::string::npos) what = what.substr(from + 2);
  throw BadDocument("not valid JSON: " + shortened(what));
}

namespace {

// The constant that the text begins with, or "": a key is none.
std::string_view constant_of(std::string_view text) {
  for (const std::string_view constant : {"-Infinity", "Infinity", "NaN"}) {
    if (!text.starts_with(constant)) continue;
    const auto next = text.find_first_not_of(" \t\r\n", constant.size());
    return next != text.npos && text[next] == ':' ? "" : constant;
  }
  return "";
}

}  // namespace

std::string with_python_constants(std::string_view text) {
  std::string read;
  bool in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view constant = in_text ? "" : constant_of(text.substr(i));
    if (!constant.empty()) {
      read.append("\"").append(constant).append("\"");
      i += constant.size() - 1;
      continue;
    }
    read += text[i];
    if (in_text && text[i] == '\\' && i + 1 < text.size())
      read += text[++i];
    else if (text[i] == '"')
      in_text = !in_text;
  }
  return read;
}

}  // namespace weir
