#include "workloads/traces/json_records.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/json/bounded_json.h"

namespace weir {
namespace {

using nlohmann::json;

// The parser's message without its own line and column, which count from the start of the record.
std::string syntax_error(const std::exception& e) {
  std::string_view what = e.what();
  for (const std::string_view before : {"] ", "column "})
    if (const auto at = what.find(before); at != what.npos) what.remove_prefix(at + before.size());
  if (const auto at = what.find(": "); at != what.npos) what.remove_prefix(at + 2);
  const std::string ascii = [&] {
    std::string shown;
    for (const char c : what.substr(0, 160)) shown += c >= ' ' && c <= '~' ? c : '?';
    return shown;
  }();
  return "not valid JSON: " + ascii;
}

void read_record(std::string_view text, std::size_t line, TraceBuilder& trace,
                 const std::function<void(const JsonRecord&)>& read) {
  try {
    const auto record = parse_bounded<json>(text);
    if (!record.is_object())
      trace.problem_once(line, "no object", "expected an object, got " + printable(text));
    else
      read(JsonRecord(record, line, trace));
  } catch (const TooDeep& e) {
    trace.problem(line, e.what());
  } catch (const json::exception& e) {
    trace.problem_once(line, "no JSON", syntax_error(e));
  }
}

bool blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

// Where the list element that starts at `from` ends: at the comma or bracket behind it, or at the end of the
// text.
std::size_t element_end(std::string_view text, std::size_t from) {
  std::size_t depth = 0;
  bool quoted = false;
  for (std::size_t i = from; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (depth == 0 && (c == ',' || c == ']')) {
      return i;
    } else if (c == '}' || c == ']') {
      if (depth > 0) --depth;
    }
  }
  return text.size();
}

void read_list(std::string_view text, std::size_t at, std::size_t line, TraceBuilder& trace,
               const std::function<void(const JsonRecord&)>& read) {
  const auto skip_blanks = [&] {
    for (; at < text.size() && blank(text[at]); ++at) line += text[at] == '\n';
  };
  ++at;  // the bracket
  skip_blanks();
  bool more = at < text.size() && text[at] != ']';
  while (more) {
    const std::size_t end = element_end(text, at);
    read_record(text.substr(at, end - at), line, trace, read);
    line += static_cast<std::size_t>(std::count(text.begin() + static_cast<std::ptrdiff_t>(at),
                                                text.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
    more = end < text.size() && text[end] == ',';
    at = more ? end + 1 : end;
    skip_blanks();
  }
  if (at >= text.size()) return trace.problem(line, "the list is not closed: is the file cut off?");
  ++at;
  skip_blanks();
  if (at < text.size()) trace.problem(line, "text after the list: " + printable(text.substr(at)));
}

}  // namespace

void for_each_record(std::string_view text, TraceBuilder& trace,
                     const std::function<void(const JsonRecord&)>& read) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::size_t at = 0, line = 1;
  for (; at < text.size() && blank(text[at]); ++at) line += text[at] == '\n';
  if (at < text.size() && text[at] == '[') return read_list(text, at, line, trace, read);
  for (line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view row = text.substr(0, end);
    if (!std::all_of(row.begin(), row.end(), blank)) read_record(row, line, trace, read);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

bool JsonRecord::has(const char* name) const {
  const auto it = object_.find(name);
  return it != object_.end() && !it->is_null();
}

const nlohmann::json* JsonRecord::field(const char* name) const {
  if (has(name)) return &*object_.find(name);
  lacks(name);
  return nullptr;
}

void JsonRecord::lacks(const char* name, std::string_view hint) const {
  std::vector<std::string_view> found;
  for (const auto& [key, value] : object_.items()) found.push_back(key);
  trace_.problem_once(line_, name, missing("field", name, found).append(hint));
}

std::optional<std::int32_t> JsonRecord::priority(const char* name) const {
  const json* value = field(name);
  return value ? trace_.priority(line_, name, value->is_number() ? value->dump() : value->type_name())
               : std::nullopt;
}

std::optional<std::int64_t> JsonRecord::tokens(const char* name) const {
  const json* value = field(name);
  return value ? trace_.tokens(line_, name, value->is_number() ? value->dump() : value->type_name())
               : std::nullopt;
}

std::optional<double> JsonRecord::seconds(const char* name, double unit_s) const {
  const json* value = field(name);
  return value ? trace_.seconds(line_, name, value->is_number() ? value->dump() : value->type_name(), unit_s)
               : std::nullopt;
}

std::optional<std::string_view> JsonRecord::text(const char* name) const {
  const json* value = field(name);
  if (!value) return {};
  if (value->is_string()) return value->get_ref<const std::string&>();
  trace_.problem(line_, fmt::format("{}: expected a text, got {}", name, value->type_name()));
  return {};
}

const json* JsonRecord::value(const char* name) const {
  return field(name);
}

std::optional<JsonRecord> JsonRecord::object(const char* name) const {
  const json* value = field(name);
  if (!value) return {};
  if (value->is_object()) return JsonRecord(*value, line_, trace_);
  trace_.problem(line_, fmt::format("{}: expected an object, got {}", name, value->type_name()));
  return {};
}

const json* JsonRecord::list(const char* name) const {
  const json* value = field(name);
  if (!value || value->is_array()) return value;
  trace_.problem(line_, fmt::format("{}: expected a list, got {}", name, value->type_name()));
  return nullptr;
}

std::vector<JsonRecord> JsonRecord::objects(const char* name) const {
  std::vector<JsonRecord> records;
  const json* items = list(name);
  if (!items) return records;
  for (const json& item : *items) {
    if (item.is_object())
      records.emplace_back(item, line_, trace_);
    else
      trace_.problem(line_, fmt::format("{}: expected objects, got {}", name, item.type_name()));
  }
  return records;
}

}  // namespace weir
