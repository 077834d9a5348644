#pragma once
// The records of a JSON trace, for json_traces.cpp and text_traces.cpp: the lines of a JSON Lines file or the
// elements of one list, parsed one at a time, so that a file of gigabytes needs the memory of its text and
// one record.
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "workloads/traces/trace.h"

namespace weir {

// One object, or an object inside it. A field that is absent or of another type is a problem of its line.
class JsonRecord {
 public:
  JsonRecord(const nlohmann::json& object, std::size_t line, TraceBuilder& trace)
      : object_(object), line_(line), trace_(trace) {}

  bool has(const char* name) const;  // present and not null
  std::optional<std::int64_t> tokens(const char* name) const;
  std::optional<double> seconds(const char* name, double unit_s) const;
  std::optional<std::string_view> text(const char* name) const;
  std::optional<std::int32_t> priority(const char* name) const;
  const nlohmann::json* list(const char* name) const;
  const nlohmann::json* value(const char* name) const;  // whatever its type
  std::optional<JsonRecord> object(const char* name) const;
  std::vector<JsonRecord> objects(const char* name) const;
  void lacks(const char* name, std::string_view hint = "") const;  // a problem
  std::size_t line() const { return line_; }

 private:
  const nlohmann::json* field(const char* name) const;

  const nlohmann::json& object_;
  std::size_t line_;
  TraceBuilder& trace_;
};

void for_each_record(std::string_view text, TraceBuilder& trace,
                     const std::function<void(const JsonRecord&)>& read);

}  // namespace weir
