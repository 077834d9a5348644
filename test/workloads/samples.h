#pragma once
// What the tests of this room share: reading a workload from JSON text, and the shared traces where they are.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "workloads/workload.h"

namespace weir {

// A file that is gone with the test.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text)
      : path_(std::filesystem::temp_directory_path() /
              ("weir_trace_" + std::to_string(getpid()) + "_" + std::to_string(++made))) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  std::string name() const { return path_.string(); }

 private:
  inline static int made = 0;
  std::filesystem::path path_;
};

inline Workload workload_of(const Json& document, std::uint64_t seed = 1) {
  Reading reading("scenario.json");
  Params params(reading, document);
  Workload workload = read_workload(params, seed);
  reading.finish();
  return workload;
}

inline Workload workload_of(const std::string& requests, const std::string& arrivals,
                            std::uint64_t seed = 1) {
  return workload_of(
      Json{{"requests", parse_json(requests, "requests")}, {"arrivals", parse_json(arrivals, "arrivals")}},
      seed);
}

inline constexpr const char* as_traced = R"({"kind": "trace"})";

// What is wrong with it, all of it.
inline std::string problems_of(const std::string& requests, const std::string& arrivals) {
  try {
    workload_of(requests, arrivals);
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "";
}

// Published traces, where this machine has them: WEIR_TRACES, or beside WEIR_REFERENCE.
inline std::filesystem::path shared_traces() {
  if (const char* traces = std::getenv("WEIR_TRACES")) return traces;
  const char* reference = std::getenv("WEIR_REFERENCE");
  const auto beside =
      reference ? std::filesystem::path(reference) / ".." / "traces" : std::filesystem::path();
  return std::filesystem::is_directory(beside) ? beside : std::filesystem::path();
}

struct Moments {
  double mean = 0, std = 0;
};

template <class Get>
Moments moments(const std::vector<Request>& requests, Get get) {
  double sum = 0, squares = 0;
  for (const Request& request : requests) {
    const auto x = static_cast<double>(get(request));
    sum += x;
    squares += x * x;
  }
  const auto n = static_cast<double>(requests.size());
  return {sum / n, std::sqrt(std::max(0.0, squares / n - sum / n * (sum / n)))};
}

inline std::int64_t input_of(const Request& r) {
  return r.input_tokens;
}
inline std::int64_t output_of(const Request& r) {
  return r.output_tokens;
}

}  // namespace weir
