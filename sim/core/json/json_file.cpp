#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>

#include "sim/core/json/allowed_files.h"
#include "sim/core/json/document.h"
#include "sim/core/params.h"

namespace weir {
namespace {

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

Json parse_json(const std::string& text, const std::string& file, JsonOf writer) {
  const auto parse = [](const std::string& document) {
    Json parsed;
    DocumentBuilder builder(parsed);
    Json::sax_parse(document, &builder);
    return parsed;
  };
  try {
    try {
      return parse(text);
    } catch (const BadDocument&) {
      if (writer != JsonOf::python) throw;
      return parse(with_python_constants(text));
    }
  } catch (const std::runtime_error& e) {  // BadDocument, TooDeep
    throw ConfigError(file, "", e.what());
  }
}

// Before it is opened: that alone would wait for who writes into a pipe.
void require_file(const std::filesystem::path& path, std::uintmax_t max_bytes) {
  require_allowed(path);
  using Type = std::filesystem::file_type;
  std::error_code error;
  const Type type = std::filesystem::status(path, error).type();
  const char* other = type == Type::directory                          ? "a directory"
                      : type == Type::fifo                             ? "a named pipe"
                      : type == Type::socket                           ? "a socket"
                      : type == Type::character || type == Type::block ? "a device"
                                                                       : nullptr;
  if (other) throw ConfigError(path.string(), "", fmt::format("is {}, not a file", other));
  if (type != Type::regular) return;  // it cannot be opened
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  if (!error && bytes > max_bytes)
    throw ConfigError(path.string(), "",
                      fmt::format("has {} MiB, longer than {} MiB", bytes >> 20, max_bytes >> 20));
}

std::string read_text_file(const std::filesystem::path& path, std::uintmax_t max_bytes) {
  require_file(path, max_bytes);
  std::ifstream in(path, std::ios::binary);
  if (!in) throw ConfigError(path.string(), "", "cannot be opened: " + std::string(std::strerror(errno)));
  return read_text_stream(in, path.string(), max_bytes);
}

std::string read_text_stream(std::istream& in, const std::string& name, std::uintmax_t max_bytes) {
  std::string text;
  while (in) {
    constexpr std::size_t chunk = 1 << 20;
    const std::size_t before = text.size();
    text.resize(before + chunk);
    in.read(text.data() + before, chunk);
    text.resize(before + static_cast<std::size_t>(in.gcount()));
    if (text.size() > max_bytes)
      throw ConfigError(name, "", fmt::format("longer than {} MiB", max_bytes >> 20));
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

Json read_json_file(const std::filesystem::path& path, JsonOf writer) {
  return parse_json(read_text_file(path, most_document_bytes), path.string(), writer);
}

void set_pointer(Json& document, const std::string& assignment) {
  const auto equals = assignment.find('=');
  const std::string where = "--set " + shortened(assignment);
  if (assignment.empty() || assignment[0] != '/' || equals == std::string::npos)
    throw ConfigError(where, "", "expected POINTER=JSON, such as /serving/replicas/0/count=2");
  const std::string text = assignment.substr(equals + 1);
  if (!Json::accept(text) && text.find_first_of("{}[]\":,") == std::string::npos)
    throw ConfigError(where, "",
                      fmt::format("the value is JSON, where a text has quotes: --set '{}=\"{}\"'",
                                  shortened(assignment.substr(0, equals)), shortened(text)));
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
