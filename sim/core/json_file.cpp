#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <set>

#include "sim/core/params.h"

namespace weir {
namespace {

// A scenario is a page or two; a Hugging Face config.json likewise. Deeper or longer input is a mistake or an
// attack, and nlohmann's dump and destructor recurse.
constexpr int max_depth = 64;
constexpr std::uintmax_t max_document_bytes = 64u << 20;
constexpr std::size_t max_keys = 10'000;  // of one object: ordered_json looks them up one by one

// Does the pointer go through a place behind the next free one of a list? nlohmann would fill the gap with
// nulls, whatever it takes.
bool leaves_a_gap(const Json& document, Json::json_pointer pointer) {
  for (; !pointer.empty(); pointer.pop_back()) {
    const Json::json_pointer above = pointer.parent_pointer();
    if (!document.contains(above) || !document[above].is_array() || pointer.back() == "-") continue;
    return !document.contains(pointer) && pointer.back() != std::to_string(document[above].size());
  }
  return false;
}

}  // namespace

Json parse_json(const std::string& text, const std::string& file) {
  std::vector<std::set<std::string>> keys;
  auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > max_depth)
      throw ConfigError(file, "", fmt::format("nested deeper than {} levels", max_depth));
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && keys.back().size() == max_keys)
      throw ConfigError(file, "", fmt::format("more than {} keys in one object", max_keys));
    if (event == Json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second)
      throw ConfigError(
          file, "", fmt::format("the key \"{}\" is given twice in one object", parsed.get<std::string>()));
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const Json::exception& e) {
    std::string what = e.what();
    if (const auto from = what.find("] "); from != std::string::npos) what = what.substr(from + 2);
    throw ConfigError(file, "", "not valid JSON: " + what);
  }
}

std::string read_text_file(const std::filesystem::path& path, std::uintmax_t max_bytes) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    throw ConfigError(path.string(), "", "is a directory, not a file");
  std::ifstream in(path, std::ios::binary);
  if (!in) throw ConfigError(path.string(), "", "cannot be opened: " + std::string(std::strerror(errno)));
  std::string text;
  while (in) {  // a pipe has no size, and a device no end
    constexpr std::size_t chunk = 1 << 20;
    const std::size_t before = text.size();
    text.resize(before + chunk);
    in.read(text.data() + before, chunk);
    text.resize(before + static_cast<std::size_t>(in.gcount()));
    if (text.size() > max_bytes)
      throw ConfigError(path.string(), "", fmt::format("longer than {} MiB", max_bytes >> 20));
  }
  return text;
}

const Json& embedded_json(std::string_view text, const std::string& file) {
  static std::mutex mutex;
  static std::map<const char*, Json> parsed;
  const std::lock_guard lock(mutex);
  const auto known = parsed.find(text.data());
  if (known != parsed.end()) return known->second;
  return parsed.emplace(text.data(), parse_json(std::string(text), file)).first->second;
}

Json read_json_file(const std::filesystem::path& path) {
  return parse_json(read_text_file(path, max_document_bytes), path.string());
}

void set_pointer(Json& document, const std::string& assignment) {
  const auto equals = assignment.find('=');
  const std::string where = "--set " + assignment;
  if (assignment.empty() || assignment[0] != '/' || equals == std::string::npos)
    throw ConfigError(where, "", "expected POINTER=JSON, such as /serving/replicas/0/count=2");
  const std::string text = assignment.substr(equals + 1);
  if (!Json::accept(text) && text.find_first_of("{}[]\":,") == std::string::npos)
    throw ConfigError(where, "",
                      fmt::format("the value is JSON, where a text has quotes: --set '{}=\"{}\"'",
                                  assignment.substr(0, equals), text));
  const Json value = parse_json(text, where);
  try {
    const Json::json_pointer pointer(assignment.substr(0, equals));
    if (leaves_a_gap(document, pointer))
      throw ConfigError(where, "", "no such place in the file: its list is shorter");
    document[pointer] = value;
  } catch (const Json::exception&) {
    throw ConfigError(where, "", "no such place in the file");
  }
}

std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace weir
