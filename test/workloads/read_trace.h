#pragma once
// What a trace reader makes of a text, short enough to compare: its requests, notes and complaints.
#include <fmt/format.h>

#include <string>

#include "workloads/traces/readers.h"

namespace weir::test {

// "arrival:input/output" of each request.
inline std::string shown(const Trace& trace) {
  std::string text;
  for (const Request& r : trace.requests)
    text += fmt::format("{}{:g}:{}/{}", text.empty() ? "" : " ", r.arrival.value(), r.input_tokens,
                        r.output_tokens);
  return text;
}

inline bool notes_say(const Trace& trace, const std::string& words) {
  for (const std::string& note : trace.notes)
    if (note.find(words) != std::string::npos) return true;
  return false;
}

template <class Read>
std::string error_of(Read read, std::string_view text) {
  try {
    read(text, "t");
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "";
}

}  // namespace weir::test
