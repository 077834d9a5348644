#pragma once
// Fields of a benchmark's result, for the reader of each format: a value of another type than the format has
// is a problem at its JSON pointer, and all of them are thrown together.
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "sim/core/errors.h"
#include "workloads/benchmarks/benchmark_result.h"

namespace weir {

class ResultFields {
 public:
  using Json = nlohmann::json;
  // `read` gets the pointers of the fields that were asked for; null: they are not kept.
  ResultFields(const Json& object, std::string pointer, std::vector<Problem>& problems,
               std::set<std::string>* read = nullptr)
      : object_(&object), pointer_(std::move(pointer)), problems_(&problems), read_(read) {}

  bool has(const char* name) const;                           // and it is not null
  std::optional<double> number(const char* name) const;       // finite; none where it is absent
  std::optional<double> deviation(const char* name) const;    // which is NaN, and none, of a single value
  std::optional<std::int64_t> count(const char* name) const;  // from 0
  std::string text(const char* name) const;                   // "" where it is absent
  std::optional<ResultFields> object(const char* name) const;
  std::vector<ResultFields> objects(const char* name) const;  // of a list
  std::vector<double> numbers(const char* name) const;        // of a list of numbers, each >= 0
  std::vector<std::vector<double>> lists_of_numbers(const char* name) const;  // of a list of such lists
  std::vector<std::int64_t> token_counts(const char* name) const;             // likewise, whole ones
  const Json& json() const { return *object_; }
  std::string at(const char* name) const { return pointer_ + "/" + name; }
  void problem(const char* name, std::string what) const;

 private:
  const Json* field(const char* name) const;
  const Json& list(const char* name) const;  // an empty one where there is none

  const Json* object_;
  std::string pointer_;
  std::vector<Problem>* problems_;
  std::set<std::string>* read_;
};

// Names of fields like latencies that are not among those that were read.
std::vector<std::string> unread_latencies(const nlohmann::json& object, const std::string& pointer,
                                          const std::set<std::string>& read);

// A statistic of a summary by its name there and ours; `factor` makes milliseconds of it.
struct Statistic {
  const char *theirs, *ours;
};
void read_statistics(const ResultFields& of, std::span<const Statistic> statistics, const std::string& time,
                     double factor, BenchmarkResult& benchmark);

// Puts a request's times together from seconds on one clock; those that are not known are left out.
void set_times(BenchmarkedRequest& request, double sent_s, std::optional<double> first_s,
               std::optional<double> end_s);

// Times that no server has: below 0, beyond an hour (of a whole request: a day), and totals that are no
// number of their kind, are problems.
void check_plausible(const BenchmarkResult& benchmark, const std::string& pointer,
                     std::vector<Problem>& problems);

// Tokens of a request; a problem where they are no number of tokens.
std::optional<std::int64_t> tokens_of(const ResultFields& fields, const char* name);
// Requests in flight, from 1; none where it is absent.
std::optional<std::int64_t> concurrency_of(const ResultFields& fields, const char* name);

// One function for each format: whether an object is such a result, and what it says.
struct ResultFormat {
  bool (*is)(const nlohmann::json& object);
  void (*read)(const ResultFields& result, std::vector<BenchmarkResult>& results);
};
const std::vector<ResultFormat>& result_formats();

bool is_served_benchmark(const nlohmann::json& object);  // vLLM's and SGLang's (served_benchmarks.cpp)
void read_served_benchmark(const ResultFields& result, std::vector<BenchmarkResult>& results);
bool is_aiperf_summary(const nlohmann::json& object);  // and genai-perf's (aiperf.cpp)
void read_aiperf_summary(const ResultFields& result, std::vector<BenchmarkResult>& results);
bool is_aiperf_record(const nlohmann::json& object);  // a request: all of a file are one result
void read_aiperf_record(const ResultFields& record, std::vector<BenchmarkResult>& results);
bool is_inference_perf_summary(const nlohmann::json& object);  // inference_perf.cpp
void read_inference_perf_summary(const ResultFields& result, std::vector<BenchmarkResult>& results);
bool is_inference_perf_request(const nlohmann::json& object);
void read_inference_perf_request(const ResultFields& record, std::vector<BenchmarkResult>& results);
bool is_llmperf_summary(const nlohmann::json& object);  // llmperf.cpp
void read_llmperf_summary(const ResultFields& result, std::vector<BenchmarkResult>& results);
bool is_llmperf_request(const nlohmann::json& object);
void read_llmperf_request(const ResultFields& record, std::vector<BenchmarkResult>& results);
bool is_trtllm_report(const nlohmann::json& object);  // trtllm_bench.cpp
void read_trtllm_report(const ResultFields& report, std::vector<BenchmarkResult>& results);
bool is_guidellm_report(const nlohmann::json& object);  // guidellm.cpp
void read_guidellm_report(const ResultFields& report, std::vector<BenchmarkResult>& results);

}  // namespace weir
